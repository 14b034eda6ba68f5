//! A worker of a cluster: what is connected to what, in the order of a start and of an end.
//!
//! The start goes from what may be refused to what others see: settings, sockets, topics, plugins; then
//! the worker reads all that the topics hold, and only then joins the group and answers requests. The end
//! goes the other way round: requests first, then tasks, then the group, clients last.

mod group;
mod leader;
mod logs;
mod peers;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use bulkhead_control::{ClientSettings, GroupSettings};
use bulkhead_herder::api::Event;
use bulkhead_herder::{Herder, Mode};
use bulkhead_kafka::topic_log::LogRecord;
use bulkhead_kafka::{KafkaClients, OffsetTopic, OffsetTopics, TopicAdmin, TopicLog};
use bulkhead_model::WorkerId;
use bulkhead_pipeline::ports::{OffsetStore, Plugins};
use bulkhead_rest::{Client, Metrics};
use bulkhead_sandbox::Sandbox;
use bulkhead_worker::{Secrets, Worker};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cli::ConnectDistributed;
use crate::driver::ports::{Cluster, LeaderLog, News, Outside};
use crate::driver::{Driver, Handle};
use crate::serving::{Listeners, Serving};
use crate::settings::{ClusterSettings, WorkerSettings};
use crate::signals::Signals;
use crate::standalone::KAFKA_START;
use crate::telemetry::TracingLoggers;
use crate::{ending, plugins, serving, settings, telemetry};
use group::Member;
use leader::LeaderTopic;
use logs::{Codec, TopicAsLog};
use peers::HttpPeers;

/// News from outside that may wait for the herder; logs and group wait when there are more.
const NEWS: usize = 1024;

/// How long reading all offsets may take at the start.
const OFFSETS_READ: Duration = Duration::from_secs(15 * 60);

/// How long the last appends, and the farewell to the group, may hold up the end.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How much longer than tasks may take to stop the herder may take to be ready for the end.
const FAREWELL: Duration = Duration::from_secs(3);

/// Everything that was opened and connected.
struct Wired {
    driver: Driver,
    handle: Handle,
    /// Ends when the group has heard the last of us.
    member: JoinHandle<()>,
    appends: TaskTracker,
    /// Told when config and status topic were read to their ends.
    caught_up: Vec<oneshot::Receiver<()>>,
    news: mpsc::Sender<News>,
    cluster_id: String,
    sandbox: Arc<Sandbox>,
    /// Read topics and the group's events; end when this is dropped.
    _followers: JoinSet<()>,
}

/// Runs the worker until it is told to end by SIGTERM or SIGINT, or can't go on.
pub async fn run(arguments: ConnectDistributed) -> anyhow::Result<()> {
    let secrets = Secrets::default();
    let loggers = telemetry::init(secrets.clone());
    let mut signals = Signals::new()?;
    let (settings, cluster) = settings::distributed(&arguments.worker, &secrets)?;
    let listeners = Listeners::bind(&settings.rest).await?;
    let worker = settings.worker_id(listeners.address()?);
    let metrics = Metrics::default();
    let wired = tokio::select! {
        wired = Wired::new(&settings, &cluster, worker, &loggers, &metrics) => wired?,
        () = signals.next() => return Ok(()),
    };

    let Wired { driver, handle, member, appends, caught_up, news, cluster_id, sandbox, _followers } = wired;
    let up = driver.start_signal();
    let stop = CancellationToken::new();
    let mut driven = tokio::spawn(driver.run(stop.clone()));
    let serving = Serving::default();
    let interface = serving::interface(&handle, &loggers, &settings.rest, cluster_id, sandbox).with_metrics(metrics);
    let opening = async {
        for log in caught_up {
            log.await.context("a topic is followed no longer")?;
        }
        news.send(News::Event(Event::CaughtUp)).await.context("the herder is gone")?;
        listeners.serve(&interface, &serving);
        tracing::info!("All topics are read; the worker joins its group.");
        handle.wait_for(|view| view.group.generation.is_some()).await;
        up.up();
        tracing::info!("The worker is up.");
        std::future::pending::<anyhow::Result<()>>().await
    };
    tokio::select! {
        ended = &mut driven => {
            ended.context("the herder's driver failed")??;
            return Err(anyhow!("the worker ended by itself"));
        }
        failed = opening => failed?,
        () = signals.next() => {}
    }

    tracing::info!("The worker stops.");
    serving.stop();
    stop.cancel();
    let end = async {
        driven.await.context("the herder's driver failed")??;
        appends.close();
        let _ = timeout(LAST_WORDS, async { tokio::join!(appends.wait(), member) }).await;
        serving.end().await;
        Ok(())
    };
    ending::bounded(end, &mut signals, ending::limit(settings.worker.graceful_stop)).await
}

impl Wired {
    async fn new(
        settings: &WorkerSettings,
        cluster: &ClusterSettings,
        worker: WorkerId,
        loggers: &Arc<TracingLoggers>,
        metrics: &Metrics,
    ) -> anyhow::Result<Self> {
        let (group, group_events) = bulkhead_control::Group::spawn(group_settings(cluster, &worker))?;
        let clients = KafkaClients::new(settings.kafka.clone());
        let cluster_id = clients.cluster_id(KAFKA_START).await.context("bootstrap.servers")?;
        let admin = TopicAdmin::of_worker(&settings.kafka)?;
        let refuse = || {
            let metrics = metrics.clone();
            move |record: &LogRecord, reason: &str| refuse(record, reason, &metrics)
        };
        let offsets = OffsetTopic::open(&admin, cluster.logs.offset.clone(), OFFSETS_READ, refuse()).await?;
        let settings_of_topics = cluster.logs.offset.clone();
        let offsets = OffsetTopics::new(offsets, admin.clone(), settings_of_topics, OFFSETS_READ, refuse());
        let offsets: Arc<dyn OffsetStore> = Arc::new(offsets);
        let (status, status_events) = TopicLog::open(&admin, cluster.logs.status.clone()).await?;
        let (config, config_events) = TopicLog::open(&admin, cluster.logs.config.clone()).await?;
        let sandbox = bulkhead_sandbox::Settings { worker: worker.to_string(), ..settings.sandbox.clone() };
        let sandbox = Arc::new(Sandbox::open(sandbox, offsets.clone()).await?);
        let catalog = plugins::catalog(&sandbox.catalog());
        settings.check_converters(&catalog)?;

        let (news, inbox) = mpsc::channel(NEWS);
        let mut followers = JoinSet::new();
        let (status_end, status_read) = oneshot::channel();
        let (config_end, config_read) = oneshot::channel();
        let (of_status, of_config) = ((status.clone(), refuse()), (config.clone(), refuse()));
        followers.spawn(logs::follow(status_events, Codec::STATUS, of_status, news.clone(), status_end));
        followers.spawn(logs::follow(config_events, Codec::CONFIG, of_config, news.clone(), config_end));
        followers.spawn(group::follow(group_events, news.clone()));
        followers.spawn(plugins::follow(sandbox.changes(), news.clone()));

        let appends = TaskTracker::new();
        let (membership, member) = Member::new(group);
        let peers = HttpPeers { client: Client::default(), news: news.clone() };
        let leader_log = LeaderTopic::new(cluster, &news, &appends)?;
        let outside = Outside {
            config: Box::new(TopicAsLog::new(config, Codec::CONFIG, news.clone(), appends.clone())),
            status: Box::new(TopicAsLog::new(status, Codec::STATUS, news.clone(), appends.clone())),
            cluster: Some(Cluster {
                group: Box::new(membership),
                peers: Box::new(peers),
                leader_log: leader_log.map(|log| Box::new(log) as Box<dyn LeaderLog>),
                farewell: settings.worker.graceful_stop + FAREWELL,
            }),
            news: inbox,
        };
        let mode = Mode::Distributed(Box::new(cluster.herder(format!("http://{worker}/"))));
        let herder = Herder::new(settings.herder(mode, worker));
        let (worker, work) = Worker::spawn(sandbox.clone(), Arc::new(clients), offsets, settings.worker.clone());
        let (mut driver, handle) = Driver::new(herder, worker, work, outside, loggers.clone());
        driver.push(Event::Plugins(catalog));
        let caught_up = vec![status_read, config_read];
        Ok(Self { driver, handle, member, appends, caught_up, news, cluster_id, sandbox, _followers: followers })
    }
}

/// Counts a record that can't be read. Its content is not shown, since it may hold secrets.
fn refuse(record: &LogRecord, reason: &str, metrics: &Metrics) {
    let LogRecord { topic, partition, offset, .. } = record;
    tracing::warn!(%topic, partition, offset, reason, "A record can't be read and is left out.");
    metrics.refused(topic);
}

fn group_settings(cluster: &ClusterSettings, worker: &WorkerId) -> GroupSettings {
    let client = ClientSettings {
        bootstrap: cluster.bootstrap.clone(),
        client_id: cluster.client_id.clone().unwrap_or_else(|| format!("connect-{worker}")),
        request_timeout: cluster.request_timeout,
        security: cluster.security.clone(),
        tokens: None,
    };
    GroupSettings {
        client,
        group_id: cluster.group.clone(),
        session_timeout: cluster.session_timeout,
        heartbeat_interval: cluster.heartbeat_interval,
        rebalance_timeout: cluster.rebalance_timeout,
        retry_backoff: cluster.retry_backoff,
        retry_backoff_max: cluster.retry_backoff_max,
    }
}
