//! Takes commands one by one and starts what they ask for; never waits for an instance.

use std::collections::HashMap;
use std::sync::Arc;

use bulkhead_model::work::{Command, Event, Run, Token};
use bulkhead_model::{Instance, RawConfig};
use bulkhead_pipeline::ports::{Clients, Plugins};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use crate::connector::{self, ConnectorHandle};
use crate::running::Running;
use crate::{Shared, offsets, task, validate};

/// Owns everything that runs on this worker.
pub(crate) struct Actor<S, C> {
    shared: Arc<Shared<S, C>>,
    running: HashMap<Instance, Running>,
    /// To ask running connectors for task configurations.
    connectors: HashMap<Instance, ConnectorHandle>,
    /// Stops and one-shot questions under way.
    side_jobs: TaskTracker,
    /// Ends of instances that stopped by themselves.
    ended: mpsc::UnboundedSender<(Instance, Run, Option<String>)>,
    ended_inbox: mpsc::UnboundedReceiver<(Instance, Run, Option<String>)>,
}

impl<S: Plugins, C: Clients> Actor<S, C> {
    pub(crate) fn new(shared: Arc<Shared<S, C>>) -> Self {
        let (ended, ended_inbox) = mpsc::unbounded_channel();
        let (running, connectors, side_jobs) = (HashMap::new(), HashMap::new(), TaskTracker::new());
        Self { shared, running, connectors, side_jobs, ended, ended_inbox }
    }

    pub(crate) async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Command>) {
        loop {
            tokio::select! {
                command = inbox.recv() => match command {
                    Some(command) => self.perform(command),
                    None => break,
                },
                Some((instance, run, trace)) = self.ended_inbox.recv() => self.has_ended(instance, run, trace),
            }
        }
        self.stop_everything();
        self.side_jobs.close();
        self.side_jobs.wait().await;
    }

    fn perform(&mut self, command: Command) {
        match command {
            Command::StartConnector { run, connector, config, target } => {
                let instance = Instance::Connector(connector.clone());
                let (handle, steering, work) = connector::prepare(self.shared.clone(), run, connector, config, target);
                self.connectors.insert(instance.clone(), handle);
                self.launch(run, instance, Box::new(steering), work);
            }
            Command::StartTask { run, task, connector, config, target } => {
                let instance = Instance::Task(task.clone());
                let start = task::Start { run, id: task, connector, config, target };
                let (steering, work) = task::prepare(self.shared.clone(), start);
                self.launch(run, instance, Box::new(steering), work);
            }
            Command::Stop { run, instance } => self.stop(run, instance),
            Command::SetTarget { run, instance, target } => {
                if let Some(running) = self.running.get(&instance).filter(|running| running.run == run) {
                    running.steering.set_target(target);
                }
            }
            Command::ForgetTopics { connector } => {
                for (instance, running) in &self.running {
                    if *instance.connector() == connector {
                        running.steering.forget_topics();
                    }
                }
            }
            Command::TaskConfigs { token, run, connector, config } => {
                self.ask_for_task_configs(token, run, Instance::Connector(connector), config);
            }
            Command::Validate { token, config } => {
                let shared = self.shared.clone();
                self.side_jobs.spawn(async move {
                    let answer = validate::validate(&shared, &config).await;
                    shared.report(Event::Validated { token, answer });
                });
            }
            Command::AlterOffsets { token, connector, config, offsets } => {
                let shared = self.shared.clone();
                self.side_jobs.spawn(async move {
                    let answer = offsets::alter(&shared, &connector, &config, offsets).await;
                    shared.report(Event::OffsetsAltered { token, answer });
                });
            }
            Command::ReadOffsets { token, connector, config } => {
                let shared = self.shared.clone();
                self.side_jobs.spawn(async move {
                    let answer = offsets::read(&shared, &connector, &config).await;
                    shared.report(Event::OffsetsRead { token, answer });
                });
            }
        }
    }

    /// Runs an instance as a task of its own and notes when it ends. A panic in it is the end of this
    /// instance, with the panic's text as its trace.
    fn launch(
        &mut self,
        run: Run,
        instance: Instance,
        steering: Box<dyn crate::running::Steering>,
        work: impl Future<Output = Option<String>> + Send + 'static,
    ) {
        if let Some(old) = self.running.remove(&instance) {
            tracing::warn!(%instance, "Started while an older run was still there; the older one is stopped.");
            self.spawn_stop(instance.clone(), old);
        }
        let (ended, name) = (self.ended.clone(), instance.clone());
        let work = tokio::spawn(work);
        let ended = tokio::spawn(async move {
            let guard = tokio_util::task::AbortOnDropHandle::new(work);
            let trace = match guard.await {
                Ok(trace) => trace,
                Err(error) => Some(format!("the worker's own code for {name} failed: {error}")),
            };
            let _ = ended.send((name, run, trace.clone()));
            trace
        });
        self.running.insert(instance, Running { run, steering, ended });
    }

    /// An instance came to its end. If it was told to stop, `stop` reports that.
    fn has_ended(&mut self, instance: Instance, run: Run, trace: Option<String>) {
        if self.running.get(&instance).is_none_or(|running| running.run != run) {
            return;
        }
        self.running.remove(&instance);
        self.connectors.remove(&instance);
        self.shared.report(match trace {
            Some(trace) => {
                // The worker's own properties may be in it, too, and what a panic says.
                let trace = self.shared.settings.providers.mask(&trace).into_owned();
                Event::Failed { run, instance, trace }
            }
            None => Event::Stopped { run, instance },
        });
    }

    fn stop(&mut self, run: Run, instance: Instance) {
        match self.running.remove(&instance) {
            Some(running) if running.run == run => {
                self.connectors.remove(&instance);
                self.spawn_stop(instance, running);
            }
            other => {
                if let Some(newer) = other {
                    self.running.insert(instance.clone(), newer);
                }
                self.shared.report(Event::Stopped { run, instance });
            }
        }
    }

    fn spawn_stop(&self, instance: Instance, running: Running) {
        let grace = self.shared.settings.graceful_stop;
        self.side_jobs.spawn(running.stop(instance, grace, self.shared.events.clone()));
    }

    fn ask_for_task_configs(&mut self, token: Token, run: Run, instance: Instance, config: RawConfig) {
        let (answer, reply) = oneshot::channel();
        if self.running.get(&instance).is_some_and(|running| running.run == run)
            && let Some(connector) = self.connectors.get(&instance)
        {
            connector.ask_for_task_configs(config, answer);
        }
        let shared = self.shared.clone();
        self.side_jobs.spawn(async move {
            let configs = reply.await.unwrap_or_else(|_| Err(format!("connector {instance} is not running")));
            shared.report(Event::TaskConfigs { token, configs });
        });
    }

    fn stop_everything(&mut self) {
        self.connectors.clear();
        for (instance, running) in std::mem::take(&mut self.running) {
            self.spawn_stop(instance, running);
        }
    }
}

impl<S, C> Shared<S, C> {
    pub(crate) fn report(&self, event: Event) {
        // Nobody listens any more when the process is on its way out.
        let _ = self.events.send(event);
    }
}
