//! A connector instance: started, asked for task configurations, paused, stopped.
//!
//! PAUSED and STOPPED connectors have no sandbox at all: it is dropped after the guest's `stop`, and a
//! fresh one is made on resume.

use std::sync::Arc;

use bulkhead_model::config::Resolution;
use bulkhead_model::work::{Event, Run};
use bulkhead_model::{ConnectorName, Instance, RawConfig, TargetState};
use bulkhead_pipeline::ports::{Clients, Connector, PluginError, Plugins};
use tokio::sync::{mpsc, oneshot, watch};

use crate::Shared;
use crate::resolve::Watch;
use crate::running::Steering;

type Answer = oneshot::Sender<Result<Vec<RawConfig>, String>>;

/// To ask a running connector.
pub(crate) struct ConnectorHandle {
    questions: mpsc::UnboundedSender<(RawConfig, Answer)>,
}

pub(crate) struct ConnectorSteering {
    /// None: stop for good.
    target: watch::Sender<Option<TargetState>>,
}

impl ConnectorHandle {
    /// A dropped answer means that the connector isn't there any more.
    pub(crate) fn ask_for_task_configs(&self, config: RawConfig, answer: Answer) {
        let _ = self.questions.send((config, answer));
    }
}

impl Steering for ConnectorSteering {
    fn set_target(&self, target: TargetState) {
        self.target.send_replace(Some(target));
    }

    fn stop(&self) {
        self.target.send_replace(None);
    }
}

/// The future runs the connector until it is told to stop (none) or fails (the trace).
pub(crate) fn prepare<S: Plugins, C: Clients>(
    shared: Arc<Shared<S, C>>,
    run: Run,
    name: ConnectorName,
    config: RawConfig,
    target: TargetState,
) -> (ConnectorHandle, ConnectorSteering, impl Future<Output = Option<String>> + Send + 'static) {
    let (questions, inbox) = mpsc::unbounded_channel();
    let (steering, wanted) = watch::channel(Some(target));
    let resolution = Resolution::default();
    let actor = ConnectorActor { shared, run, name, config, resolution, wanted, inbox, instance: None, watch: None };
    (ConnectorHandle { questions }, ConnectorSteering { target: steering }, actor.run(target))
}

struct ConnectorActor<S: Plugins, C> {
    shared: Arc<Shared<S, C>>,
    run: Run,
    name: ConnectorName,
    config: RawConfig,
    /// What the instance was told instead of references.
    resolution: Resolution,
    wanted: watch::Receiver<Option<TargetState>>,
    inbox: mpsc::UnboundedReceiver<(RawConfig, Answer)>,
    /// There while the connector is STARTED.
    instance: Option<S::Connector>,
    /// Of what the instance was told.
    watch: Option<Watch>,
}

impl<S: Plugins, C: Clients> ConnectorActor<S, C> {
    #[tracing::instrument(skip_all, fields(connector = %self.name))]
    async fn run(mut self, target: TargetState) -> Option<String> {
        if let Err(error) = self.reach(target).await {
            return Some(error);
        }
        self.report_started(target);
        loop {
            let outcome = tokio::select! {
                changed = self.wanted.changed() => {
                    let wanted = *self.wanted.borrow_and_update();
                    match wanted.filter(|_| changed.is_ok()) {
                        Some(target) => self.change_to(target).await,
                        None => return self.finish().await,
                    }
                }
                Some((config, answer)) = self.inbox.recv() => {
                    let _ = answer.send(self.task_configs(&config).await);
                    Ok(())
                }
                wants = wants_reconfiguration(self.instance.as_ref()) => {
                    wants.map(|()| self.report_reconfiguration()).map_err(|error| self.in_words(&error))
                }
            };
            if let Err(error) = outcome {
                return Some(error);
            }
        }
    }

    /// Makes or drops the sandbox so that it fits the target.
    async fn reach(&mut self, target: TargetState) -> Result<(), String> {
        match (target, self.instance.take()) {
            (TargetState::Started, None) => {
                self.resolution = self.shared.resolve(&self.config).await?;
                let config = self.resolution.apply(&self.config);
                let configured = self.shared.offsets.configure(&self.name, &config).await;
                configured.map_err(|error| error.to_string())?;
                self.instance = Some(self.start(&config).await.map_err(|error| self.in_words(&error))?);
                let instance = Instance::Connector(self.name.clone());
                self.watch = self.shared.watch(self.run, instance, &self.config, &self.resolution);
            }
            (TargetState::Started, started) => self.instance = started,
            (TargetState::Paused | TargetState::Stopped, Some(instance)) => {
                self.watch = None;
                instance.stop().await.map_err(|error| self.in_words(&error))?;
            }
            (TargetState::Paused | TargetState::Stopped, None) => {}
        }
        Ok(())
    }

    async fn start(&self, config: &RawConfig) -> Result<S::Connector, PluginError> {
        let instance = self.shared.plugins.connector(&self.name, config).await?;
        instance.start(config).await?;
        Ok(instance)
    }

    async fn change_to(&mut self, target: TargetState) -> Result<(), String> {
        let reached = self.reach(target).await;
        // What is STOPPED is gone, even if its guest complained on the way out.
        if let (TargetState::Stopped, Err(error)) = (target, &reached) {
            tracing::warn!(error, "The connector failed while it stopped.");
        } else {
            reached?;
        }
        let instance = Instance::Connector(self.name.clone());
        self.shared.report(Event::TargetReached { run: self.run, instance, target });
        Ok(())
    }

    async fn finish(mut self) -> Option<String> {
        if let Err(error) = self.reach(TargetState::Stopped).await {
            tracing::warn!(error, "The connector failed while it stopped.");
        }
        None
    }

    /// With references again: what is answered is stored and shown.
    async fn task_configs(&self, config: &RawConfig) -> Result<Vec<RawConfig>, String> {
        let Some(instance) = &self.instance else {
            return Err(format!("connector {} is not started", self.name));
        };
        let told = self.resolution.apply(config);
        let max_tasks = told.get("tasks.max").and_then(|text| text.trim().parse().ok()).unwrap_or(1);
        let tasks = instance.task_configs(max_tasks).await.map_err(|error| self.in_words(&error))?;
        Ok(tasks.into_iter().map(|task| self.resolution.reverse(config, task)).collect())
    }

    /// For people, who don't get to see secrets.
    fn in_words(&self, error: &PluginError) -> String {
        self.resolution.mask(&error.to_string()).into_owned()
    }

    fn report_started(&self, target: TargetState) {
        tracing::info!(?target, "Connector started.");
        let version = match &self.instance {
            Some(instance) => instance.version().map(str::to_owned),
            None => self.version_to_be(),
        };
        let instance = Instance::Connector(self.name.clone());
        self.shared.report(Event::Started { run: self.run, instance, target, version });
    }

    /// Of a connector that has no instance at present.
    fn version_to_be(&self) -> Option<String> {
        self.shared.plugins.catalog().connector_of(&self.config).ok()?.version.clone()
    }

    fn report_reconfiguration(&self) {
        self.shared.report(Event::ReconfigurationWanted { run: self.run, connector: self.name.clone() });
    }
}

/// Pending while there is no instance.
async fn wants_reconfiguration<C: Connector>(instance: Option<&C>) -> Result<(), PluginError> {
    match instance {
        Some(instance) => instance.wants_reconfiguration().await,
        None => std::future::pending().await,
    }
}
