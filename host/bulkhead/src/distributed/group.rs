//! Membership of the group of workers, as the driver steers it.

use std::time::Duration;

use bulkhead_control::{GroupEvent as Happened, GroupHandle, Protocol};
use bulkhead_herder::api::{Event, GroupEvent};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::driver::ports::{Fatal, Group, News};

/// The driver's turns can be many; more signs of life than this say nothing more.
const ENOUGH: Duration = Duration::from_millis(100);

/// Steers the member; its orders are carried out one after the other.
#[derive(Debug)]
pub struct Member {
    orders: mpsc::UnboundedSender<Order>,
    last_sign: Option<Instant>,
}

#[derive(Debug)]
enum Order {
    Join(Vec<Protocol>),
    Assign(i32, Vec<(String, Bytes)>),
    Leave(String),
    SignOfLife,
}

impl Member {
    /// What is returned ends, after the last order, when this is dropped.
    pub fn new(handle: GroupHandle) -> (Self, JoinHandle<()>) {
        let (orders, inbox) = mpsc::unbounded_channel();
        (Self { orders, last_sign: None }, tokio::spawn(carry_out(handle, inbox)))
    }

    fn order(&self, order: Order) {
        // Whoever carries them out lives as long as this.
        let _ = self.orders.send(order);
    }
}

async fn carry_out(handle: GroupHandle, mut orders: mpsc::UnboundedReceiver<Order>) {
    while let Some(order) = orders.recv().await {
        match order {
            Order::Join(protocols) => handle.join(protocols),
            Order::Assign(generation, assignments) => handle.assign(generation, assignments),
            Order::Leave(reason) => handle.leave(&reason).await,
            Order::SignOfLife => handle.poll(),
        }
    }
}

impl Group for Member {
    fn join(&mut self, protocols: Vec<(&'static str, Vec<u8>)>) {
        let protocol =
            |(name, metadata): (&'static str, Vec<u8>)| Protocol { name: name.to_owned(), metadata: metadata.into() };
        self.order(Order::Join(protocols.into_iter().map(protocol).collect()));
    }

    fn assign(&mut self, generation: i32, assignments: Vec<(String, Vec<u8>)>) {
        let assignments = assignments.into_iter().map(|(member, bytes)| (member, bytes.into()));
        self.order(Order::Assign(generation, assignments.collect()));
    }

    fn leave(&mut self, reason: String) {
        self.order(Order::Leave(reason));
    }

    fn alive(&mut self) {
        if self.last_sign.is_none_or(|last| last.elapsed() >= ENOUGH) {
            self.last_sign = Some(Instant::now());
            self.order(Order::SignOfLife);
        }
    }
}

/// Hands on what happens in the group, as long as there are member and driver.
pub async fn follow(mut events: mpsc::UnboundedReceiver<Happened>, news: mpsc::Sender<News>) {
    while let Some(event) = events.recv().await {
        if news.send(translate(event)).await.is_err() {
            return;
        }
    }
}

fn translate(event: Happened) -> News {
    let event = match event {
        Happened::RebalanceNeeded => GroupEvent::RebalanceNeeded,
        Happened::Elected { generation, protocol, member, members } => {
            let members = members.into_iter().map(|(member, metadata)| (member, metadata.into())).collect();
            GroupEvent::Elected { generation, protocol, member, members }
        }
        Happened::Synced { generation, protocol, member, leader: _, assignment } => {
            GroupEvent::Synced { generation, protocol, member, assignment: assignment.into() }
        }
        Happened::Lost { reason } => GroupEvent::Lost { reason },
        Happened::CoordinatorLost { reason } => GroupEvent::CoordinatorLost { reason },
        Happened::Left { reason } => GroupEvent::Left { reason },
        Happened::Fatal { reason } => return News::Fatal(Fatal(format!("the group of workers: {reason}"))),
    };
    News::Event(Event::Group(event))
}
