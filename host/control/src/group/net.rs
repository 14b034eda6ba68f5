//! Carries out what the core decides: owns the clock and the connections.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use super::core::{Answer, Core, Failure, Input, Millis, Output, Request, Ticket, Timing};
use super::wire::Wire;
use super::{Command, GroupEvent, GroupSettings};
use crate::Error;
use crate::connection::{Address, Connection, Dialer};

/// Runs until all handles are gone, or nobody listens to the events any more.
pub(super) async fn run(
    settings: GroupSettings,
    dialer: Arc<Dialer>,
    mut inbox: mpsc::UnboundedReceiver<Command>,
    events: mpsc::UnboundedSender<GroupEvent>,
) {
    let (done, mut answers) = mpsc::unbounded_channel();
    let core = Core::new(0, timing(&settings));
    let mut member = Member {
        core,
        started: Instant::now(),
        wire: Arc::new(Wire::new(&settings)),
        dialer,
        done,
        coordinator: Lane::default(),
        look_up: None,
        leaving: Vec::new(),
        events,
    };
    member.handle(Input::Tick);
    while !member.events.is_closed() {
        let deadline = member.deadline();
        tokio::select! {
            command = inbox.recv() => match command {
                Some(command) => member.command(command),
                None => break,
            },
            Some(done) = answers.recv() => member.done(done),
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => member.handle(Input::Tick),
            () = member.events.closed() => {}
        }
    }
    member.end();
}

struct Member {
    core: Core,
    started: Instant,
    wire: Arc<Wire>,
    dialer: Arc<Dialer>,
    /// For the tasks that wait for answers.
    done: mpsc::UnboundedSender<Done>,
    coordinator: Lane,
    look_up: Option<(Ticket, AbortHandle)>,
    /// Who waits for the member to have left.
    leaving: Vec<oneshot::Sender<()>>,
    events: mpsc::UnboundedSender<GroupEvent>,
}

/// The connection to the coordinator: at rest, or with a task that waits for an answer.
#[derive(Default)]
struct Lane {
    idle: Option<Connection>,
    waiting: Option<(Ticket, AbortHandle)>,
}

/// What a task brings back.
struct Done {
    ticket: Ticket,
    /// To the coordinator, if it is still good.
    connection: Option<Connection>,
    answer: Result<Answer, Failure>,
}

impl Member {
    fn command(&mut self, command: Command) {
        match command {
            Command::Tell(input) => self.handle(input),
            Command::Leave { reason, done } => {
                self.leaving.push(done);
                self.handle(Input::Leave { reason });
            }
        }
    }

    fn done(&mut self, done: Done) {
        let Done { ticket, connection, answer } = done;
        let was_waiting = self.coordinator.waiting.take_if(|(awaited, _)| *awaited == ticket).is_some();
        let was_looking = self.look_up.take_if(|(awaited, _)| *awaited == ticket).is_some();
        if was_waiting || was_looking {
            self.coordinator.idle = connection;
        }
        self.handle(Input::Answer { ticket, answer });
    }

    fn handle(&mut self, input: Input) {
        for output in self.core.handle(self.now(), input) {
            self.perform(output);
        }
    }

    fn perform(&mut self, output: Output) {
        match output {
            Output::LookUp { ticket } => self.look_up(ticket),
            Output::Send { ticket, to, request } => self.send(ticket, to, request),
            Output::HangUp => self.hang_up(),
            Output::Event(event) => {
                if matches!(event, GroupEvent::Left { .. }) {
                    for waiting in self.leaving.drain(..) {
                        // Whoever has stopped waiting doesn't mind.
                        let _ = waiting.send(());
                    }
                }
                // The loop ends when nobody listens.
                let _ = self.events.send(event);
            }
        }
    }

    fn look_up(&mut self, ticket: Ticket) {
        let (dialer, wire, done) = (self.dialer.clone(), self.wire.clone(), self.done.clone());
        let task = tokio::spawn(async move {
            let (connection, answer) = match look_up(&dialer, &wire).await {
                Ok((connection, address)) => (Some(connection), Ok(Answer::Coordinator(address))),
                Err(error) => (None, Err(failure(error))),
            };
            let _ = done.send(Done { ticket, connection, answer });
        });
        self.look_up = Some((ticket, task.abort_handle()));
    }

    fn send(&mut self, ticket: Ticket, to: Address, request: Request) {
        let idle = self.coordinator.idle.take().filter(|connection| !connection.is_expired());
        let (dialer, wire, done) = (self.dialer.clone(), self.wire.clone(), self.done.clone());
        let task = tokio::spawn(async move {
            let (connection, answer) = match converse(&dialer, &wire, idle, &to, request).await {
                Ok((connection, answer)) => (Some(connection), answer),
                Err(error) => (None, Err(failure(error))),
            };
            let _ = done.send(Done { ticket, connection, answer });
        });
        self.coordinator.waiting = Some((ticket, task.abort_handle()));
    }

    fn hang_up(&mut self) {
        self.coordinator.idle = None;
        if let Some((_, task)) = self.coordinator.waiting.take() {
            task.abort();
        }
    }

    fn end(mut self) {
        self.hang_up();
        if let Some((_, task)) = self.look_up {
            task.abort();
        }
    }

    fn now(&self) -> Millis {
        millis(self.started.elapsed())
    }

    fn deadline(&self) -> Option<Instant> {
        let deadline = self.core.next_deadline()?;
        // Far enough not to matter, near enough for the clock.
        const FAR: Millis = 1000 * 60 * 60 * 24;
        Some(self.started + Duration::from_millis(deadline.min(self.now().saturating_add(FAR))))
    }
}

async fn look_up(dialer: &Dialer, wire: &Wire) -> Result<(Connection, Address), Error> {
    let mut any = dialer.bootstrap().await?;
    let address = wire.find_coordinator(&mut any).await?;
    Ok((dialer.dial(&address).await?, address))
}

/// A refusal by Kafka's own messages leaves the connection good.
async fn converse(
    dialer: &Dialer,
    wire: &Wire,
    idle: Option<Connection>,
    to: &Address,
    request: Request,
) -> Result<(Connection, Result<Answer, Failure>), Error> {
    let mut connection = match idle {
        Some(connection) => connection,
        None => dialer.dial(to).await?,
    };
    match wire.ask(&mut connection, request).await {
        Ok(answer) => Ok((connection, Ok(answer))),
        Err(error @ Error::Refused { .. }) => Ok((connection, Err(failure(error)))),
        Err(error) => Err(error),
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Refused { code, message, .. } => Failure::Refused { code, message },
        error => Failure::Connection { refused: error.is_refusal(), reason: error.explain() },
    }
}

fn timing(settings: &GroupSettings) -> Timing {
    Timing {
        session_timeout: millis(settings.session_timeout),
        heartbeat_interval: millis(settings.heartbeat_interval),
        rebalance_timeout: millis(settings.rebalance_timeout),
        retry_backoff: millis(settings.retry_backoff),
        retry_backoff_max: millis(settings.retry_backoff_max),
    }
}

fn millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}
