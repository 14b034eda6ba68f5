//! A task instance: the sandbox, the clients, and the loop between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bulkhead_model::config::Mask;
use bulkhead_model::plugin::PluginKind;
use bulkhead_model::work::{Event, Run};
use bulkhead_model::{Instance, RawConfig, TargetState, TaskId};
use bulkhead_pipeline::control::{Observer, Wanted};
use bulkhead_pipeline::convert::Converters;
use bulkhead_pipeline::ports::{Clients, Plugins, Purpose, SinkTask, SourceTask};
use bulkhead_pipeline::sink::{DeadLetterSettings, DeadLetters, Decoder, SinkLoop};
use bulkhead_pipeline::source::{Acks, Encoder, SourceLoop, TopicCreation, TopicCreator};
use bulkhead_pipeline::tolerance::Tolerance;
use bulkhead_pipeline::transform::Transforms;
use tokio::sync::{mpsc, watch};

use crate::Shared;
use crate::missing::missing;
use crate::running::Steering;

/// What [`prepare`] is told.
pub(crate) struct Start {
    pub run: Run,
    pub id: TaskId,
    pub connector: RawConfig,
    pub config: RawConfig,
    pub target: TargetState,
}

pub(crate) struct TaskSteering {
    wanted: watch::Sender<Wanted>,
    topics_forgotten: Arc<AtomicU64>,
}

/// The other end of a [`TaskSteering`].
#[derive(Clone)]
struct Steered {
    wanted: watch::Receiver<Wanted>,
    topics_forgotten: Arc<AtomicU64>,
}

impl Steering for TaskSteering {
    fn set_target(&self, target: TargetState) {
        self.wanted.send_if_modified(|wanted| {
            let new = wanted_for(target);
            let changes = *wanted != new && *wanted != Wanted::Stop;
            if changes {
                *wanted = new;
            }
            changes
        });
    }

    fn stop(&self) {
        self.wanted.send_replace(Wanted::Stop);
    }

    fn forget_topics(&self) {
        self.topics_forgotten.fetch_add(1, Ordering::Relaxed);
    }
}

fn wanted_for(target: TargetState) -> Wanted {
    match target {
        TargetState::Started => Wanted::Running,
        TargetState::Paused => Wanted::Paused,
        TargetState::Stopped => Wanted::Stop,
    }
}

/// The future runs the task until it is told to stop (none) or fails (the trace).
pub(crate) fn prepare<S: Plugins, C: Clients>(
    shared: Arc<Shared<S, C>>,
    start: Start,
) -> (TaskSteering, impl Future<Output = Option<String>> + Send + 'static) {
    let (steering, wanted) = watch::channel(wanted_for(start.target));
    let topics_forgotten = Arc::new(AtomicU64::new(0));
    let steered = Steered { wanted, topics_forgotten: topics_forgotten.clone() };
    (TaskSteering { wanted: steering, topics_forgotten }, run(shared, start, steered))
}

#[tracing::instrument(skip_all, fields(connector = %start.id.connector, task = start.id.number))]
async fn run<S: Plugins, C: Clients>(shared: Arc<Shared<S, C>>, start: Start, steered: Steered) -> Option<String> {
    let resolution = match shared.resolve(&start.connector).await {
        Ok(resolution) => resolution,
        Err(error) => return failed(error),
    };
    // A task's references are those of its connector; whatever else looks like one is text.
    let (connector, config) = (resolution.apply(&start.connector), resolution.apply(&start.config));
    let _watch = shared.watch(start.run, Instance::Task(start.id.clone()), &start.connector, &resolution);
    let trace = run_resolved(shared, Start { connector, config, ..start }, steered, resolution.secrets()).await?;
    failed(resolution.mask(&trace).into_owned())
}

fn failed(trace: String) -> Option<String> {
    tracing::error!(trace, "Task failed.");
    Some(trace)
}

async fn run_resolved<S: Plugins, C: Clients>(
    shared: Arc<Shared<S, C>>,
    start: Start,
    steered: Steered,
    secrets: &Mask,
) -> Option<String> {
    let kind = match shared.plugins.catalog().connector_of(&start.connector) {
        Ok(plugin) => plugin.kind,
        Err(unresolved) => return Some(missing(&start.connector, &unresolved)),
    };
    let ended = match kind {
        PluginKind::Sink => run_sink(&shared, &start, steered, secrets).await,
        _ => run_source(&shared, &start, steered).await,
    };
    match ended {
        Ok(()) => {
            tracing::info!("Task ended.");
            None
        }
        Err(trace) => Some(trace),
    }
}

async fn run_source<S: Plugins, C: Clients>(
    shared: &Arc<Shared<S, C>>,
    start: &Start,
    steered: Steered,
) -> Result<(), String> {
    let converters = converters(shared, start).await?;
    let transforms = transforms(shared, start).await?;
    let topics = topic_creator(shared, start)?;
    let acks = Arc::new(Acks::default());
    let producer =
        shared.clients.producer(&start.id, &start.connector, acks.clone()).map_err(|error| error.to_string())?;
    let configured = shared.offsets.configure(&start.id.connector, &start.connector).await;
    configured.map_err(|error| error.to_string())?;
    let made = Instant::now();
    let task = shared.plugins.source_task(&start.id, &start.connector).await.map_err(|error| error.to_string())?;
    let version = task.version().map(str::to_owned);
    let source = SourceLoop {
        id: start.id.clone(),
        task: Arc::new(task),
        producer,
        acks,
        encoder: Encoder::new(transforms, converters),
        topics,
        offsets: shared.offsets.clone(),
        observer: TaskObserver::new(shared, start, version, steered.clone(), made),
        tolerance: Tolerance::from_config(&start.connector),
        settings: shared.settings.source,
        wanted: steered.wanted,
    };
    source.run(&start.config).await.map_err(|failure| failure.trace())
}

async fn run_sink<S: Plugins, C: Clients>(
    shared: &Arc<Shared<S, C>>,
    start: &Start,
    steered: Steered,
    secrets: &Mask,
) -> Result<(), String> {
    let converters = converters(shared, start).await?;
    let transforms = transforms(shared, start).await?;
    let dead_letters = dead_letters(shared, start).await?.map(|queue| queue.with_mask(secrets.clone()));
    let made = Instant::now();
    let task = shared.plugins.sink_task(&start.id, &start.connector).await.map_err(|error| error.to_string())?;
    let version = task.version().map(str::to_owned);
    let consumer = shared.clients.consumer(&start.id, &start.connector).map_err(|error| error.to_string())?;
    let mut settings = shared.settings.sink;
    let own_limit = start.connector.get("consumer.override.max.poll.records");
    if let Some(records) = own_limit.and_then(|text| text.trim().parse().ok()) {
        settings.max_records = records;
    }
    let sink = SinkLoop {
        id: start.id.clone(),
        task: Arc::new(task),
        consumer,
        decoder: Decoder::new(converters, transforms),
        observer: TaskObserver::new(shared, start, version, steered.clone(), made),
        tolerance: Tolerance::from_config(&start.connector),
        dead_letters,
        settings,
        wanted: steered.wanted,
    };
    sink.run(&start.config).await.map_err(|failure| failure.trace())
}

/// None unless worker and connector want it.
fn topic_creator<S: Plugins, C: Clients>(shared: &Shared<S, C>, start: &Start) -> Result<Option<TopicCreator>, String> {
    if !shared.settings.topic_creation {
        return Ok(None);
    }
    let creation = TopicCreation::from_config(&start.connector).map_err(|error| error.to_string())?;
    let Some(creation) = creation else { return Ok(None) };
    let topics = shared.clients.topics(&start.id, &start.connector, Purpose::Records);
    Ok(Some(TopicCreator::new(creation, topics.map_err(|error| error.to_string())?)))
}

/// The queue, if the connector wants one, with its topic.
async fn dead_letters<S: Plugins, C: Clients>(
    shared: &Shared<S, C>,
    start: &Start,
) -> Result<Option<DeadLetters>, String> {
    let Some(settings) = DeadLetterSettings::from_config(&start.connector) else { return Ok(None) };
    let topics = shared.clients.topics(&start.id, &start.connector, Purpose::DeadLetters);
    let topics = topics.map_err(|error| error.to_string())?;
    settings.create_topic(&*topics).await.map_err(|failure| failure.trace())?;
    let acks = Arc::new(Acks::default());
    let producer = shared.clients.dead_letter_producer(&start.id, &start.connector, acks.clone());
    let producer = Box::new(producer.map_err(|error| error.to_string())?);
    Ok(Some(DeadLetters::new(settings, start.id.clone(), producer, acks)))
}

async fn converters<S: Plugins, C>(shared: &Shared<S, C>, start: &Start) -> Result<Converters, String> {
    let Shared { settings, plugins, .. } = shared;
    let plan = |role| settings.converter(&start.connector, role);
    let opened = Converters::open(plan, &start.id, &start.connector, &**plugins, settings.registries.as_deref()).await;
    opened.map_err(|error| error.to_string())
}

async fn transforms<S: Plugins, C>(shared: &Shared<S, C>, start: &Start) -> Result<Transforms, String> {
    let opened = Transforms::open(&start.connector, &start.id, &*shared.plugins).await;
    opened.map_err(|error| error.to_string())
}

/// Passes the loop's news on as events.
struct TaskObserver {
    run: Run,
    id: TaskId,
    version: Option<String>,
    /// When the sandbox was asked for; the log tells how long it took until the task was started in it.
    made: Instant,
    steered: Steered,
    events: mpsc::UnboundedSender<Event>,
}

impl TaskObserver {
    fn new<S, C>(
        shared: &Shared<S, C>,
        start: &Start,
        version: Option<String>,
        steered: Steered,
        made: Instant,
    ) -> Self {
        Self { run: start.run, id: start.id.clone(), version, made, steered, events: shared.events.clone() }
    }

    fn reached(&self, target: TargetState) {
        let instance = Instance::Task(self.id.clone());
        let _ = self.events.send(Event::TargetReached { run: self.run, instance, target });
    }
}

impl Observer for TaskObserver {
    fn started(&self) {
        let target = match *self.steered.wanted.borrow() {
            Wanted::Paused => TargetState::Paused,
            Wanted::Running | Wanted::Stop => TargetState::Started,
        };
        tracing::info!(?target, sandbox_us = %self.made.elapsed().as_micros(), "Task started.");
        let instance = Instance::Task(self.id.clone());
        let version = self.version.clone();
        let _ = self.events.send(Event::Started { run: self.run, instance, target, version });
    }

    fn paused(&self) {
        self.reached(TargetState::Paused);
    }

    fn resumed(&self) {
        self.reached(TargetState::Started);
    }

    fn topics_forgotten(&self) -> u64 {
        self.steered.topics_forgotten.load(Ordering::Relaxed)
    }

    fn topic_used(&self, topic: &str) {
        let event = Event::TopicUsed { run: self.run, task: self.id.clone(), topic: topic.to_owned() };
        let _ = self.events.send(event);
    }
}
