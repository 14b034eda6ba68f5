//! The thread that asks where the topic ends. The reader's consumer couldn't: it may be waiting for room,
//! and a read_committed one is told another end.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use super::OpenError;
use super::reader::{Command, Commands};
use crate::admin::TopicAdmin;

/// How often new partitions are looked for when nobody asks for the end; Kafka's `metadata.max.age.ms`.
const LOOK: Duration = Duration::from_secs(300);

/// The way to the thread, which ends when this is dropped.
pub(super) struct Ends {
    requests: mpsc::Sender<u64>,
}

impl Ends {
    pub(super) fn start(admin: TopicAdmin, topic: Arc<str>, reader: Commands) -> Result<Self, OpenError> {
        let (requests, inbox) = mpsc::channel();
        let name = Arc::clone(&topic);
        start(move || run(&admin, &topic, &inbox, &reader)).map_err(|error| OpenError::client(&name, error))?;
        Ok(Self { requests })
    }

    pub(super) fn ask(&self, token: u64) {
        // The thread lives as long as this.
        let _ = self.requests.send(token);
    }
}

fn start(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name("kafka-log-ends".to_owned()).spawn(work).map(|_| ())
}

fn run(admin: &TopicAdmin, topic: &str, inbox: &Receiver<u64>, reader: &Commands) {
    loop {
        let first = match inbox.recv_timeout(LOOK) {
            Ok(token) => Some(token),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        // One answer serves all who have asked before the question is put.
        let tokens = first.into_iter().chain(inbox.try_iter()).collect();
        let bounds = admin.bounds_blocking(topic).map_err(|error| error.to_string());
        if reader.send(Command { tokens, bounds }).is_err() {
            return;
        }
    }
}
