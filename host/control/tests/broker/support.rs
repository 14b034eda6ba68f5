//! A broker, and a member that is asked what happened to it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bulkhead_control::{ClientSettings, Group, GroupEvent, GroupHandle, GroupSettings, Protocol};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// A broker on a busy machine takes its time.
const PATIENCE: Duration = Duration::from_secs(30);

/// The broker to test with; without one a line says that the test was left out.
pub fn broker() -> Option<String> {
    let address = std::env::var("BULKHEAD_KAFKA").ok().filter(|address| !address.is_empty());
    if address.is_none() {
        eprintln!("left out: BULKHEAD_KAFKA names no broker");
    }
    address
}

/// A name that no other run has.
pub fn unique(name: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    format!("{name}-{}-{}", std::process::id(), now.as_nanos())
}

pub fn client(broker: &str) -> ClientSettings {
    ClientSettings {
        bootstrap: vec![broker.to_owned()],
        client_id: "test".to_owned(),
        request_timeout: Duration::from_secs(20),
        security: Default::default(),
        tokens: None,
    }
}

pub fn settings(broker: &str, group: &str) -> GroupSettings {
    GroupSettings {
        client: client(broker),
        group_id: group.to_owned(),
        session_timeout: Duration::from_secs(6),
        heartbeat_interval: Duration::from_millis(200),
        rebalance_timeout: Duration::from_secs(20),
        retry_backoff: Duration::from_millis(50),
        retry_backoff_max: Duration::from_secs(1),
    }
}

/// A member whose metadata is its name.
pub struct Member {
    pub name: &'static str,
    pub handle: GroupHandle,
    pub events: mpsc::UnboundedReceiver<GroupEvent>,
    protocols: &'static [&'static str],
}

impl Member {
    pub fn new(name: &'static str, settings: GroupSettings) -> Self {
        Self::with_protocols(name, settings, &["sessioned", "compatible", "default"])
    }

    pub fn with_protocols(name: &'static str, settings: GroupSettings, protocols: &'static [&'static str]) -> Self {
        let (handle, events) = Group::spawn(settings).unwrap();
        let member = Self { name, handle, events, protocols };
        member.join();
        member
    }

    pub fn join(&self) {
        let protocol = |name: &&str| Protocol { name: (*name).to_owned(), metadata: Bytes::from(self.name) };
        self.handle.join(self.protocols.iter().map(protocol).collect());
    }

    pub async fn next(&mut self) -> GroupEvent {
        let event = timeout(PATIENCE, self.events.recv()).await;
        event.unwrap_or_else(|_| panic!("{}: nothing happens", self.name)).expect("the member runs")
    }

    /// Does what a herder does until a generation of `size` members is complete, and shows it:
    /// `protocol: what this member got`.
    pub async fn synced(&mut self, size: usize) -> (i32, String) {
        loop {
            match self.next().await {
                GroupEvent::Elected { generation, members: all, .. } => {
                    let names: Vec<_> = all.iter().map(|(_, name)| String::from_utf8_lossy(name)).collect();
                    let mut names: Vec<_> = names.into_iter().collect();
                    names.sort();
                    let list = format!("{} of {}", generation, names.join("+"));
                    let all = all.iter().map(|(id, _)| (id.clone(), Bytes::from(list.clone()))).collect();
                    self.handle.assign(generation, all);
                }
                GroupEvent::Synced { generation, protocol, assignment, .. } => {
                    let got = String::from_utf8_lossy(&assignment).into_owned();
                    let complete = got.matches('+').count() + 1 == size;
                    if complete {
                        return (generation, format!("{protocol}: {got}"));
                    }
                }
                GroupEvent::RebalanceNeeded | GroupEvent::Lost { .. } | GroupEvent::CoordinatorLost { .. } => {
                    self.join()
                }
                event @ (GroupEvent::Left { .. } | GroupEvent::Fatal { .. }) => panic!("{}: {event:?}", self.name),
            }
        }
    }
}
