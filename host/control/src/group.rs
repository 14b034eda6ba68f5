//! Membership of a Connect group: Kafka's classic group protocol with the protocol type `connect`.
//!
//! Start at [`Group::spawn`]. What to do next is decided by `core`, which never waits; `net` carries it out, `wire`
//! turns its requests into Kafka's messages.
//!
//! A member joins when it is told to ([`GroupHandle::join`]), never by itself. A join ends in exactly one of
//! [`GroupEvent::Synced`], [`GroupEvent::CoordinatorLost`], [`GroupEvent::Left`] and [`GroupEvent::Fatal`], unless
//! another join takes its place; whatever can be tried again before is tried again, with back-off.

mod core;
mod net;
mod wire;

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::Error;
use crate::connection::{ClientSettings, Dialer};

/// The protocol type of Connect's groups.
const PROTOCOL_TYPE: &str = "connect";

/// What a member needs to know.
#[derive(Clone, Debug)]
pub struct GroupSettings {
    pub client: ClientSettings,
    pub group_id: String,
    /// After this time without a heartbeat the broker gives a member up, and a member its coordinator.
    pub session_timeout: Duration,
    /// Also how long a coordinator is looked for before [`GroupEvent::CoordinatorLost`] is told.
    pub heartbeat_interval: Duration,
    /// How long members may take to join again; also the longest time between two calls of [`GroupHandle::poll`].
    pub rebalance_timeout: Duration,
    /// First pause before something is tried again; it doubles up to `retry_backoff_max`.
    pub retry_backoff: Duration,
    pub retry_backoff_max: Duration,
}

/// A way to work together, and what this member says about itself in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    pub name: String,
    pub metadata: Bytes,
}

/// What happens in the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupEvent {
    /// Others came or went. This member stays in the generation, its heartbeats go on, until it joins again, which
    /// it has to within the rebalance time-out. Told once for each generation.
    RebalanceNeeded,
    /// This member leads `generation` and owes it an [`GroupHandle::assign`].
    Elected {
        generation: i32,
        protocol: String,
        /// Our id.
        member: String,
        /// Ids and metadata of all, ourselves included.
        members: Vec<(String, Bytes)>,
    },
    /// The generation is complete: this is our part of it.
    Synced {
        generation: i32,
        protocol: String,
        /// Our id.
        member: String,
        /// Id of the member that assigned; ours, if we lead.
        leader: String,
        assignment: Bytes,
    },
    /// The broker doesn't count us as a member any more. Our id is forgotten; join again.
    Lost { reason: String },
    /// No coordinator was found for a heartbeat interval after the last one was given up; told once until one is
    /// found. The member is in no generation and a join that was going on is dropped, so join again: the new join
    /// waits until there is a coordinator.
    CoordinatorLost { reason: String },
    /// The member left: it was asked to, or nobody called [`GroupHandle::poll`] in time.
    Left { reason: String },
    /// The broker or a setting refuses, and trying again won't help. Nothing is done before the next join.
    Fatal { reason: String },
}

/// Entry to the group.
#[derive(Debug)]
pub struct Group;

/// Steers the member. When all handles are dropped the member ends without a word, as if its process had died.
#[derive(Clone, Debug)]
pub struct GroupHandle {
    commands: mpsc::UnboundedSender<Command>,
}

#[derive(Debug)]
enum Command {
    Tell(core::Input),
    Leave { reason: String, done: oneshot::Sender<()> },
}

impl Group {
    /// Starts a task that looks for the coordinator and waits for the first join. Needs a tokio runtime. Fails when
    /// a setting is wrong or a file of the security settings can't be read.
    pub fn spawn(settings: GroupSettings) -> Result<(GroupHandle, mpsc::UnboundedReceiver<GroupEvent>), Error> {
        let dialer = Dialer::new(settings.client.clone())?;
        let (commands, inbox) = mpsc::unbounded_channel();
        // Few events for each generation, so there is nothing to hold back.
        let (events, outbox) = mpsc::unbounded_channel();
        tokio::spawn(net::run(settings, dialer, inbox, events));
        Ok((GroupHandle { commands }, outbox))
    }
}

impl GroupHandle {
    /// Joins, or joins again, with these protocols in order of preference. While the member leaves, the join waits
    /// until [`GroupEvent::Left`] is told.
    pub fn join(&self, protocols: Vec<Protocol>) {
        self.tell(core::Input::Join(protocols));
    }

    /// The leader's answer to [`GroupEvent::Elected`]: what each member gets. Ignored when the generation has passed.
    pub fn assign(&self, generation: i32, assignments: Vec<(String, Bytes)>) {
        self.tell(core::Input::Assign { generation, assignments });
    }

    /// A sign of life of whoever decides: the heartbeats alone only show that this process runs.
    pub fn poll(&self) {
        self.tell(core::Input::Poll);
    }

    /// Leaves, and waits until the broker knows or has been given the time of a request to hear it. Events from
    /// before end with [`GroupEvent::Left`]. If the future is dropped, the member leaves all the same.
    pub async fn leave(&self, reason: &str) {
        let (done, left) = oneshot::channel();
        // A task that has ended is in no group either.
        if self.commands.send(Command::Leave { reason: reason.to_owned(), done }).is_ok() {
            let _ = left.await;
        }
    }

    fn tell(&self, input: core::Input) {
        // The task ends by itself only when nobody listens to its events any more.
        let _ = self.commands.send(Command::Tell(input));
    }
}
