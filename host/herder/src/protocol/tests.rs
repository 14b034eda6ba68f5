use bulkhead_model::ConnectorName;
use serde_json::{Value, json};

use super::*;
use crate::vectors::{hex, load, unhex};

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn work(value: &Value) -> Work {
    let mut work = Work::default();
    for entry in value.as_array().into_iter().flatten() {
        let name = ConnectorName::new(entry[0].as_str().unwrap());
        for number in entry[1].as_array().unwrap() {
            match u32::try_from(number.as_i64().unwrap()) {
                Ok(number) => drop(work.tasks.insert(name.task(number))),
                Err(_) => drop(work.connectors.insert(name.clone())),
            }
        }
    }
    work
}

fn assignment(decoded: &Value) -> Assignment {
    Assignment {
        version: decoded["version"].as_i64().unwrap().try_into().unwrap(),
        error: AssignmentError::from_code(decoded["error"].as_i64().unwrap().try_into().unwrap()),
        leader: text(&decoded["leader"]),
        leader_url: text(&decoded["leaderUrl"]),
        config_offset: decoded["configOffset"].as_i64().unwrap(),
        assigned: work(&decoded["assigned"]),
        revoked: work(&decoded["revoked"]),
        delay_ms: decoded["delay"].as_u64().unwrap_or(0).try_into().unwrap(),
    }
}

fn metadata(decoded: &Value) -> MemberMetadata {
    let allocation = decoded.get("allocation").filter(|value| !value.is_null());
    MemberMetadata {
        version: decoded["version"].as_i64().unwrap().try_into().unwrap(),
        url: text(&decoded["url"]),
        config_offset: decoded["configOffset"].as_i64().unwrap(),
        allocation: allocation.map(assignment),
    }
}

#[test]
fn g01_bytes_are_those_of_connect() {
    let vectors = load("group-protocol.json");
    for vector in vectors["encode"].as_array().unwrap() {
        let bytes = unhex(&vector["hex"]);
        let encoded = match vector["kind"].as_str().unwrap() {
            "metadata" => {
                let expected = metadata(&vector["decoded"]);
                assert_eq!(MemberMetadata::decode(&bytes).as_ref(), Ok(&expected), "{}", vector["name"]);
                expected.encode()
            }
            _ => {
                let expected = assignment(&vector["decoded"]);
                assert_eq!(Assignment::decode(&bytes).as_ref(), Ok(&expected), "{}", vector["name"]);
                expected.encode()
            }
        };
        assert_eq!(hex(&encoded.unwrap()), vector["hex"].as_str().unwrap(), "{}", vector["name"]);
    }
}

#[test]
fn g01_odd_bytes_are_read_as_connect_reads_them() {
    let vectors = load("group-protocol.json");
    let full = metadata(
        &vectors["encode"].as_array().unwrap().iter().find(|v| v["name"] == "meta_v2_full").unwrap()["decoded"],
    );
    for vector in vectors["decode_lenient"].as_array().unwrap() {
        let bytes = unhex(&vector["hex"]);
        let (name, expect) = (text(&vector["name"]), &vector["expect"]);
        match (vector["kind"].as_str().unwrap(), expect) {
            ("metadata", Value::String(word)) if word == "error" => {
                assert_eq!(MemberMetadata::decode(&bytes), Err(DecodeError::Version { version: -247 }), "{name}");
            }
            ("metadata", Value::String(_)) => {
                let read = MemberMetadata::decode(&bytes).unwrap();
                assert_eq!(MemberMetadata { version: 2, ..read }, full, "{name}");
            }
            ("metadata", _) => {
                let read = MemberMetadata::decode(&bytes).unwrap();
                assert_eq!(read.allocation, None, "{name}");
                assert_eq!(read.config_offset, expect["configOffset"].as_i64().unwrap_or(7), "{name}");
            }
            (_, _) => {
                let read = Assignment::decode(&bytes).unwrap();
                assert_eq!(read.revoked, work(&expect["revoked"]), "{name}");
                assert_eq!(i64::from(read.delay_ms), expect["delay"].as_i64().unwrap(), "{name}");
                if let Some(assigned) = expect.get("assigned") {
                    assert_eq!(read.assigned, work(assigned), "{name}");
                    assert_eq!(json!([read.leader, read.leader_url, read.config_offset]), json!(["m", "u", 3]));
                }
            }
        }
    }
}

#[test]
fn what_real_workers_sent_is_read_and_written_again() {
    let vectors = load("group-protocol.json");
    let mut count = 0;
    for rebalance in vectors["captured_rebalances"].as_array().unwrap() {
        for member in rebalance["members"].as_array().unwrap() {
            let read = MemberMetadata::decode(&unhex(&member["metadata_hex"])).unwrap();
            assert_eq!(read, metadata(&member["decoded"]));
            assert_eq!(MemberMetadata::decode(&read.encode().unwrap()), Ok(read));
            count += 1;
        }
        for member in rebalance["assignments"].as_array().unwrap() {
            let read = Assignment::decode(&unhex(&member["assignment_hex"])).unwrap();
            assert_eq!(read, assignment(&member["decoded"]));
            assert_eq!(Assignment::decode(&read.encode().unwrap()), Ok(read));
            count += 1;
        }
    }
    assert!(count > 80, "{count} messages");
}

#[test]
fn a_worker_offers_what_connect_offers() {
    let vectors = load("group-protocol.json");
    let requests = vectors["join_requests"].as_array().unwrap();
    for (setting, index) in
        [(ConnectProtocol::Sessioned, 0), (ConnectProtocol::Eager, 2), (ConnectProtocol::Compatible, 3)]
    {
        let expected = requests[index]["protocols"].as_array().unwrap();
        let sent = MemberMetadata::decode(&unhex(&expected[0]["metadata_hex"])).unwrap();
        let offered = setting.offered().map(|protocol| {
            let metadata = MemberMetadata { version: protocol.version(), ..sent.clone() };
            json!({"name": protocol.name(), "metadata_hex": hex(&metadata.encode().unwrap())})
        });
        assert_eq!(&offered.collect::<Vec<_>>(), expected);
    }
    assert_eq!(ConnectProtocol::from_name("compatible"), Some(ConnectProtocol::Compatible));
    assert_eq!(ConnectProtocol::from_name("range"), None);
}

#[test]
fn broken_bytes_are_errors_and_never_more() {
    let full = unhex(&load("group-protocol.json")["encode"][3]["hex"]);
    for end in 0..full.len() {
        let read = MemberMetadata::decode(&full[..end]);
        // The allocation may be missing altogether.
        assert_eq!(read.is_ok(), end == 27, "{end}: {read:?}");
    }
    for at in 0..full.len() {
        for byte in [0x00, 0x01, 0x7f, 0x80, 0xff] {
            let mut bytes = full.clone();
            bytes[at] = byte;
            if let Ok(read) = MemberMetadata::decode(&bytes) {
                assert_eq!(MemberMetadata::decode(&read.encode().unwrap()).unwrap().url, read.url);
            }
        }
    }
    let huge = "0001000000016d0001750000000000000003 7fffffff".replace(' ', "");
    let error = Assignment::decode(&unhex(&json!(huge))).unwrap_err();
    assert_eq!(error.to_string(), "2147483647 at byte 18 is no length");
    let task = "0001000000016d0001750000000000000003 00000001 0001 61 00000001 fffffffe".replace(' ', "");
    let error = Assignment::decode(&unhex(&json!(task))).unwrap_err();
    assert_eq!(error.to_string(), "connector `a` can't have a task -2");
}

#[test]
fn a_name_that_has_no_room_is_named() {
    let work = Work { connectors: [ConnectorName::new("x".repeat(MAX_STRING + 1))].into(), ..Work::default() };
    let error = Assignment { assigned: work, ..Assignment::default() }.encode().unwrap_err();
    let said = "a connector's name has 32768 bytes, more than the 32767 that the group protocol can carry";
    assert_eq!(error.to_string(), said);
}
