//! A worker by itself: what is connected to what, in the order of a start and of an end.
//!
//! Everything that can be refused is read before anything runs, so that a mistake in the last of ten
//! files leaves nothing half-started.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use bulkhead_herder::api::{Event, Refusal, Reply, Request};
use bulkhead_herder::{Herder, Mode};
use bulkhead_kafka::{KafkaClients, MockBroker};
use bulkhead_pipeline::ports::{OffsetStore, Plugins};
use bulkhead_rest::HerderHandle;
use bulkhead_sandbox::Sandbox;
use bulkhead_worker::{Secrets, Worker};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cli::ConnectStandalone;
use crate::connector_file::{self, ConnectorFile};
use crate::driver::ports::Outside;
use crate::driver::{Driver, Handle};
use crate::offset_file::OffsetFile;
use crate::serving::{Listeners, Serving};
use crate::signals::Signals;
use crate::{ending, plugins, serving, settings, telemetry};

/// How long a broker may take to answer at the start.
pub(crate) const KAFKA_START: Duration = Duration::from_secs(15);

/// Changes of what is installed that may wait for the herder.
const NEWS: usize = 1;

/// Runs the worker until it is told to end by SIGTERM or SIGINT.
pub async fn run(arguments: ConnectStandalone) -> anyhow::Result<()> {
    let secrets = Secrets::default();
    let loggers = telemetry::init(secrets.clone());
    let mut signals = Signals::new()?;
    let embedded = embedded_kafka(&arguments)?;
    let forced = embedded.as_ref().map(MockBroker::worker_properties).unwrap_or_default();
    let (settings, offsets) = settings::standalone(&arguments.worker, &forced, &secrets)?;
    let files = connector_files(&arguments.connectors)?;
    let offsets = OffsetFile::open(&offsets)?;
    let listeners = Listeners::bind(&settings.rest).await?;
    let worker_id = settings.worker_id(listeners.address()?);

    let offsets: Arc<dyn OffsetStore> = Arc::new(offsets);
    let clients = KafkaClients::new(settings.kafka.clone());
    let sandbox = bulkhead_sandbox::Settings { worker: worker_id.to_string(), ..settings.sandbox.clone() };
    let (sandbox, cluster_id) = tokio::join!(Sandbox::open(sandbox, offsets.clone()), clients.cluster_id(KAFKA_START));
    let cluster_id = cluster_id.context("bootstrap.servers")?;
    let sandbox = Arc::new(sandbox?);
    let changes = sandbox.changes();
    let catalog = plugins::catalog(&sandbox.catalog());
    settings.check_converters(&catalog)?;
    let (news, inbox) = mpsc::channel(NEWS);
    let mut followers = JoinSet::new();
    followers.spawn(plugins::follow(changes, news));

    let herder = Herder::new(settings.herder(Mode::Standalone, worker_id));
    let (worker, work) = Worker::spawn(sandbox.clone(), Arc::new(clients), offsets, settings.worker.clone());
    let limit = ending::limit(settings.worker.graceful_stop);
    let (mut driver, handle) = Driver::new(herder, worker, work, Outside::alone(inbox), loggers.clone());
    driver.push(Event::Plugins(catalog));

    let up = driver.start_signal();
    let stop = CancellationToken::new();
    let driven = tokio::spawn(driver.run(stop.clone()));
    let serving = Serving::default();
    listeners.serve(&serving::interface(&handle, &loggers, &settings.rest, cluster_id, sandbox), &serving);
    let outcome = tokio::select! {
        created = create_connectors(&handle, files) => match created {
            Ok(()) => {
                up.up();
                tracing::info!("The worker is up.");
                signals.next().await;
                Ok(())
            }
            Err(error) => Err(error),
        },
        () = signals.next() => Ok(()),
    };
    tracing::info!("The worker stops.");
    serving.stop();
    stop.cancel();
    let end = async {
        driven.await.context("the herder's driver failed")??;
        serving.end().await;
        Ok(())
    };
    ending::bounded(end, &mut signals, limit).await?;
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
