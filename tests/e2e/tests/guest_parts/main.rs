//! What plugins bring beside connectors, on the way from a source to a topic and from the topic to a sink.

#![allow(clippy::unwrap_used)]

mod converters;
mod transforms;

use std::time::Duration;

use bulkhead_e2e::{Kafka, Setup, Worker};

const SOON: Duration = Duration::from_secs(60);
const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";

struct Case {
    worker: Worker,
    folder: tempfile::TempDir,
}

impl Case {
    fn start(properties: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let mut setup = Setup::new(Kafka::Embedded, &path).unwrap();
        for (key, value) in properties {
            setup = setup.with(key, value);
        }
        setup.topics.push("t".to_owned());
        Self { worker: setup.start().unwrap(), folder }
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().canonicalize().unwrap().join(name).to_str().unwrap().to_owned()
    }

    /// A file source or sink around topic `t`, of texts unless `more` says otherwise. Its name is that of its class, in lower
    /// case.
    fn create(&self, class: &str, file: &str, more: &[(&str, &str)]) {
        self.create_as(&class.to_lowercase(), class, file, more);
    }

    fn create_as(&self, name: &str, class: &str, file: &str, more: &[(&str, &str)]) {
        let topics = if class == "FileStreamSource" { "topic" } else { "topics" };
        let file = self.file(file);
        let mut config =
            vec![("connector.class", class), (topics, "t"), ("file", file.as_str()), ("value.converter", STRING)];
        config.extend_from_slice(more);
        self.worker.rest.create(name, &config).unwrap();
    }

    /// Kind, alias and plugin of what the connector's first task has beside itself.
    fn parts(&self, connector: &str) -> Vec<String> {
        let sandbox = self.worker.rest.must("GET", &format!("/connectors/{connector}/sandbox"), None).unwrap();
        let parts = sandbox["tasks"][0]["parts"].as_array().cloned().unwrap_or_default();
        parts.iter().map(|part| format!("{} {} {}", part["kind"], part["alias"], part["plugin"])).collect()
    }
}
