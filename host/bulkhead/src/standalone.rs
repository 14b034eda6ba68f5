//! A worker by itself: what is connected to what, in the order of a start and of an end.
//!
//! Everything that can be refused is read before anything runs, so that a mistake in the last of ten
//! files leaves nothing half-started.

use std::fs;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use bulkhead_herder::api::{Event, Refusal, Reply, Request};
use bulkhead_herder::{Herder, Mode};
use bulkhead_kafka::{KafkaClients, MockBroker};
use bulkhead_model::RawConfig;
use bulkhead_pipeline::convert::CONNECT_VERSION;
use bulkhead_pipeline::ports::{OffsetStore, Plugins};
use bulkhead_rest::{AdminListeners, HerderHandle, Listener, Resources, ServerInfo, TopicTracking, router};
use bulkhead_sandbox::Sandbox;
use bulkhead_worker::Worker;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cli::ConnectStandalone;
use crate::connector_file::{self, ConnectorFile};
use crate::driver::{Driver, Handle};
use crate::offset_file::OffsetFile;
use crate::telemetry::TracingLoggers;
use crate::{plugins, properties, telemetry};

/// How long a broker may take to answer at the start.
const KAFKA_START: Duration = Duration::from_secs(15);

/// How long requests that are being answered may hold up the end.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// What the properties say, read and checked.
struct Settings {
    properties: RawConfig,
    rest: bulkhead_rest::Settings,
    worker: bulkhead_worker::Settings,
    sandbox: bulkhead_sandbox::Settings,
    kafka: bulkhead_kafka::Settings,
    offsets: PathBuf,
}

/// Sockets that are open, but not yet served.
struct Listeners {
    regular: Vec<TcpListener>,
    admin: Vec<TcpListener>,
}

/// Runs the worker until it is told to end by SIGTERM or SIGINT.
pub async fn run(arguments: ConnectStandalone) -> anyhow::Result<()> {
    let loggers = telemetry::init();
    let mut end = pin!(end_signal()?);
    let embedded = embedded_kafka(&arguments)?;
    let settings = Settings::read(&arguments, embedded.as_ref())?;
    let files = connector_files(&arguments.connectors)?;
    let offsets = OffsetFile::open(&settings.offsets)?;
    let listeners = Listeners::bind(&settings.rest).await?;
    let herder = settings.herder(&listeners)?;

    let offsets: Arc<dyn OffsetStore> = Arc::new(offsets);
    let clients = KafkaClients::new(settings.kafka.clone());
    let sandbox = bulkhead_sandbox::Settings { worker: herder.worker.to_string(), ..settings.sandbox.clone() };
    let (sandbox, cluster_id) = tokio::join!(Sandbox::open(sandbox, offsets.clone()), clients.cluster_id(KAFKA_START));
    let cluster_id = cluster_id.context("bootstrap.servers")?;
    let sandbox = Arc::new(sandbox?);
    let catalog = plugins::catalog(&sandbox.catalog());

    let herder = Herder::new(herder);
    let (worker, work) = Worker::spawn(sandbox, Arc::new(clients), offsets, settings.worker.clone());
    let (mut driver, handle) = Driver::new(herder, worker, work);
    driver.push(Event::Plugins(catalog));

    let up = driver.start_signal();
    let stop = CancellationToken::new();
    let driven = tokio::spawn(driver.run(stop.clone()));
    let served = listeners.serve(&handle, &loggers, &settings.rest, cluster_id, &stop);
    let outcome = tokio::select! {
        created = create_connectors(&handle, files) => match created {
            Ok(()) => {
                up.up();
                tracing::info!("The worker is up.");
                (&mut end).await
            }
            Err(error) => Err(error),
        },
        ended = &mut end => ended,
    };
    tracing::info!("The worker stops.");
    stop.cancel();
    driven.await.context("the herder's driver failed")?;
    // What is still being answered is answered; what hangs isn't waited for.
    let _ = timeout(LAST_ANSWERS, served.wait()).await;
    outcome
}

/// The broker lives as long as what is returned.
fn embedded_kafka(arguments: &ConnectStandalone) -> anyhow::Result<Option<MockBroker>> {
    if !arguments.embedded_kafka {
        return Ok(None);
    }
    let broker = MockBroker::start()?;
    for topic in &arguments.embedded_topics {
        broker.create_topic(topic, 1)?;
    }
    Ok(Some(broker))
}

impl Settings {
    fn read(arguments: &ConnectStandalone, embedded: Option<&MockBroker>) -> anyhow::Result<Self> {
        let mut properties = properties::read(&arguments.worker)?;
        if let Some(broker) = embedded {
            for (key, value) in broker.worker_properties() {
                properties.set(key, value);
            }
        }
        let file = || arguments.worker.display().to_string();
        let offsets = properties.get("offset.storage.file.filename");
        let offsets = offsets.with_context(|| format!("{}: `offset.storage.file.filename` is missing", file()))?;
        for key in ["key.converter", "value.converter"] {
            properties.get(key).with_context(|| format!("{}: `{key}` is missing", file()))?;
        }
        Ok(Self {
            offsets: PathBuf::from(offsets),
            rest: bulkhead_rest::Settings::from_properties(&properties).with_context(file)?,
            worker: bulkhead_worker::Settings::from_properties(&properties).with_context(file)?,
            sandbox: bulkhead_sandbox::Settings::parse(&properties, bulkhead_sandbox::Mode::Standalone)
                .with_context(file)?,
            kafka: bulkhead_kafka::Settings::from_properties(&properties).with_context(file)?,
            properties,
        })
    }

    fn herder(&self, listeners: &Listeners) -> anyhow::Result<bulkhead_herder::Settings> {
        let bound = listeners.regular.first().context("`listeners` is empty")?.local_addr()?;
        let converter = |key, default: &str| self.properties.get(key).unwrap_or(default).to_owned();
        Ok(bulkhead_herder::Settings {
            mode: Mode::Standalone,
            worker: self.rest.worker_id(bound, &machine_name()),
            key_converter: converter("key.converter", ""),
            value_converter: converter("value.converter", ""),
            header_converter: converter("header.converter", "org.apache.kafka.connect.storage.SimpleHeaderConverter"),
            topic_tracking: self.rest.topic_tracking != TopicTracking::Off,
        })
    }
}

/// The name by which others may know this machine.
fn machine_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "localhost".to_owned() } else { name.trim().to_owned() }
}

fn connector_files(paths: &[PathBuf]) -> anyhow::Result<Vec<(PathBuf, ConnectorFile)>> {
    let files = paths.iter().map(|path| Ok((path.clone(), connector_file::read(path)?)));
    files.collect::<Result<_, connector_file::ConnectorFileError>>().map_err(anyhow::Error::new)
}

/// Creates the connectors of the command line. All of them are validated before the first is created.
async fn create_connectors(herder: &Handle, files: Vec<(PathBuf, ConnectorFile)>) -> anyhow::Result<()> {
    for (path, file) in &files {
        validate(herder, file).await.with_context(|| path.display().to_string())?;
    }
    for (path, ConnectorFile { name, config, initial_state }) in files {
        let request = Request::CreateConnector { name: name.clone(), config, initial_state, offsets: None };
        match herder.request(request).await {
            Ok(_) => tracing::info!(connector = %name, file = %path.display(), "Connector created."),
            // It is there, and its status says why it doesn't run; the others do.
            Err(Refusal::Failed(error)) => {
                tracing::error!(connector = %name, file = %path.display(), error, "Connector created, but it failed.");
            }
            Err(refusal) => bail!("{}: {refusal}", path.display()),
        }
    }
    Ok(())
}

async fn validate(herder: &Handle, file: &ConnectorFile) -> anyhow::Result<()> {
    let config = file.config.clone();
    let infos = match herder.request(Request::ValidateConfig { config }).await? {
        Reply::Validated(infos) => infos,
        other => bail!("unexpected answer to a validation: {other:?}"),
    };
    let values = infos.configs.into_iter().filter_map(|info| info.value);
    let errors: Vec<_> = values
        .flat_map(|value| value.errors.into_iter().map(move |error| format!("`{}`: {error}", value.name)))
        .collect();
    if !errors.is_empty() {
        bail!("{}", errors.join("; "));
    }
    Ok(())
}

impl Listeners {
    async fn bind(settings: &bulkhead_rest::Settings) -> anyhow::Result<Self> {
        let regular = bind_all("listeners", &settings.listeners).await?;
        let admin = match &settings.admin_listeners {
            AdminListeners::Own(listeners) => bind_all("admin.listeners", listeners).await?,
            AdminListeners::Same | AdminListeners::Nowhere => Vec::new(),
        };
        Ok(Self { regular, admin })
    }

    fn serve(
        self,
        herder: &Handle,
        loggers: &Arc<TracingLoggers>,
        settings: &bulkhead_rest::Settings,
        kafka_cluster_id: String,
        stop: &CancellationToken,
    ) -> TaskTracker {
        let served = TaskTracker::new();
        let info = ServerInfo {
            version: CONNECT_VERSION.to_owned(),
            commit: concat!("bulkhead-", env!("CARGO_PKG_VERSION")).to_owned(),
            kafka_cluster_id,
        };
        let regular = self.regular.into_iter().map(|socket| (socket, Resources::Regular));
        let admin = self.admin.into_iter().map(|socket| (socket, Resources::Admin));
        for (socket, resources) in regular.chain(admin) {
            let router = router(herder.clone(), loggers.clone(), info.clone(), settings, resources);
            let stop = stop.clone().cancelled_owned();
            served.spawn(async move {
                if let Err(error) = bulkhead_rest::serve(socket, router, stop).await {
                    tracing::error!(%error, "A listener failed.");
                }
            });
        }
        served.close();
        served
    }
}

async fn bind_all(key: &'static str, listeners: &[Listener]) -> anyhow::Result<Vec<TcpListener>> {
    let mut sockets = Vec::with_capacity(listeners.len());
    for listener in listeners {
        let socket = bulkhead_rest::bind(key, listener).await?;
        tracing::info!(address = %socket.local_addr()?, "REST is at");
        sockets.push(socket);
    }
    Ok(sockets)
}

/// Completes with SIGTERM or SIGINT, also with one that came before it was waited for.
fn end_signal() -> anyhow::Result<impl Future<Output = anyhow::Result<()>>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        Ok(())
    })
}
