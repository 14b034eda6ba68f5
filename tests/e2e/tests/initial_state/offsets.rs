//! Offsets of connectors that have never run: changed while they are stopped, or given when they are created.

use std::fs;

use bulkhead_e2e::eventually;
use serde_json::{Value, json};

use crate::SOON;
use crate::fleet::{BOTH, Fleet};

impl Fleet {
    /// The offset of a source that has read so far.
    fn at(&self, name: &str, position: u64) -> Value {
        let file = self.file(&format!("{name}.txt"));
        json!({ "offsets": [{ "partition": { "filename": file }, "offset": { "position": position } }] })
    }

    /// The offset of a sink that has read so far.
    fn from(&self, name: &str, offset: u64) -> Value {
        let partition = json!({ "kafka_topic": self.topic(name), "kafka_partition": 0 });
        json!({ "offsets": [{ "partition": partition, "offset": { "kafka_offset": offset } }] })
    }

    /// Waits until a source has committed that it has read so far.
    pub fn read_to(&self, name: &str, position: u64) {
        let expected = self.at(name, position);
        let committed = || (self.offsets(name) == expected).then_some(());
        eventually(&format!("{name} has read {position} bytes"), SOON, committed).unwrap();
    }

    /// Waits until a sink has committed that it has read all three records, and checks what it wrote.
    fn check_sink(&self, connector: &str, name: &str, text: &str) {
        let expected = self.from(name, 3);
        eventually("all is committed", SOON, || (self.offsets(connector) == expected).then_some(())).unwrap();
        assert_eq!(fs::read_to_string(self.file(&format!("{name}.txt"))).unwrap(), text);
    }

    /// A topic of three records.
    fn fill(&self, purpose: &str) {
        let topic = self.topic(purpose);
        self.topics.create(&topic, 1, &[]).unwrap();
        let records = ["one", "two", "three"].map(|text| (None, Some(text.as_bytes())));
        self.topics.write(&topic, 0, &records).unwrap();
    }

    fn patch(&self, name: &str, offsets: &Value) -> u16 {
        self.ask("PATCH", &format!("/connectors/{name}/offsets"), Some(offsets)).0
    }
}

fn each(test: &str, check: impl Fn(&Fleet)) {
    for mode in BOTH {
        let folder = tempfile::tempdir().unwrap();
        let Some(fleet) = Fleet::new(test, mode, folder.path()) else { return };
        check(&fleet);
    }
}

#[test]
fn offsets_of_a_source_are_changed_before_it_runs_for_the_first_time() {
    each("initial-source", |fleet| {
        for name in ["c", "p"] {
            fs::write(fleet.file(&format!("{name}.txt")), "one\ntwo\nthree\n").unwrap();
        }
        fleet.created("c", &fleet.source("c"), &json!({ "initial_state": "STOPPED" }));
        fleet.created("p", &fleet.source("p"), &json!({ "initial_state": "PAUSED" }));
        fleet.wait("c", "STOPPED", 0);
        fleet.wait("p", "PAUSED", 0);
        assert_eq!(fleet.patch("p", &fleet.at("p", 4)), 400, "only a stopped one's");
        assert_eq!(fleet.offsets("c"), json!({ "offsets": [] }));
        assert_eq!(fleet.patch("c", &fleet.at("c", 4)), 200);
        assert_eq!(fleet.ask("DELETE", "/connectors/c/offsets", None).0, 200);
        assert_eq!(fleet.offsets("c"), json!({ "offsets": [] }));
        assert_eq!(fleet.patch("c", &fleet.at("c", 8)), 200);
        assert_eq!(fleet.offsets("c"), fleet.at("c", 8));
        for name in ["c", "p"] {
            fleet.put(name, "resume");
            fleet.read_to(name, 14);
        }
        assert_eq!(fleet.lines("c"), ["three"]);
        assert_eq!(fleet.lines("p"), ["one", "two", "three"]);
    });
}

#[test]
fn offsets_of_a_sink_are_changed_before_it_runs_for_the_first_time() {
    each("initial-sink", |fleet| {
        let [c, p] = ["c", "p"].map(|name| fleet.topic(name));
        for name in ["c", "p"] {
            fleet.fill(name);
        }
        // Consumer groups are named after connectors.
        fleet.created(&c, &fleet.sink("c"), &json!({ "initial_state": "STOPPED" }));
        fleet.created(&p, &fleet.sink("p"), &json!({ "initial_state": "PAUSED" }));
        fleet.wait(&c, "STOPPED", 0);
        fleet.wait(&p, "PAUSED", 0);
        assert_eq!(fleet.patch(&p, &fleet.from("p", 1)), 400, "only a stopped one's");
        assert_eq!(fleet.offsets(&c), json!({ "offsets": [] }));
        assert_eq!(fleet.patch(&c, &fleet.from("c", 2)), 200);
        assert_eq!(fleet.offsets(&c), fleet.from("c", 2));
        for (name, purpose, text) in [(&c, "c", "three\n"), (&p, "p", "one\ntwo\nthree\n")] {
            fleet.put(name, "resume");
            fleet.wait(name, "RUNNING", 1);
            fleet.check_sink(name, purpose, text);
        }
    });
}

#[test]
fn a_source_begins_at_the_offsets_that_it_is_created_with() {
    each("initial-offsets", |fleet| {
        for name in ["c", "s", "e"] {
            fs::write(fleet.file(&format!("{name}.txt")), "one\ntwo\nthree\n").unwrap();
        }
        for wrong in
            [json!("x"), json!([7]), json!([{ "partition": { "filename": "f" }, "offset": { "position": -1 } }])]
        {
            let (status, answer) = fleet.create("c", &fleet.source("c"), &json!({ "offsets": wrong }));
            assert!((400..500).contains(&status), "{wrong}: {status} {answer}");
            assert_eq!(fleet.rest().status("GET", "/connectors/c").unwrap(), 404);
        }
        assert_eq!(fleet.config_records("c"), []);
        fleet.created("c", &fleet.source("c"), &fleet.at("c", 4));
        let mut stopped = fleet.at("s", 8);
        stopped["initial_state"] = json!("STOPPED");
        fleet.created("s", &fleet.source("s"), &stopped);
        fleet.created("e", &fleet.source("e"), &json!({ "offsets": [] }));
        fleet.wait("s", "STOPPED", 0);
        assert_eq!(fleet.offsets("s"), fleet.at("s", 8));
        fleet.put("s", "resume");
        for (name, lines) in [("c", &["two", "three"][..]), ("s", &["three"]), ("e", &["one", "two", "three"])] {
            fleet.read_to(name, 14);
            assert_eq!(fleet.lines(name), lines, "{name}");
        }
    });
}

#[test]
fn a_sink_begins_at_the_offsets_that_it_is_created_with() {
    each("initial-sink-offsets", |fleet| {
        let name = fleet.topic("c");
        fleet.fill("c");
        fleet.created(&name, &fleet.sink("c"), &fleet.from("c", 1));
        fleet.wait(&name, "RUNNING", 1);
        fleet.check_sink(&name, "c", "two\nthree\n");
    });
}
