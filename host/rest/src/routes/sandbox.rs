//! What the sandbox gives the instances of a connector, and what they take. Kafka Connect has nothing like it.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bulkhead_model::{ConnectorName, Instance, WorkerId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::document::NoSuchConnector;
use crate::error::Error;
use crate::json::Json;
use crate::path::Connector;
use crate::ports::{InstanceLimits, InstanceUsage, PartKind, PartUsage};
use crate::seen::{Seen, instances};

#[derive(Serialize, ToSchema)]
struct Sandboxes<'a> {
    #[schema(value_type = String)]
    name: &'a ConnectorName,
    /// What is odd about a connector whose states are all well.
    condition: Option<&'static str>,
    connector: Option<SandboxState<'a>>,
    tasks: Vec<SandboxState<'a>>,
}

/// Of an instance on another worker only the first members say something.
#[derive(Serialize, ToSchema)]
struct SandboxState<'a> {
    /// The number of a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    #[schema(value_type = Option<String>)]
    worker_id: Option<&'a WorkerId>,
    state: Option<&'static str>,
    /// Automatic restarts since it last ran quietly for a while.
    restarts: Option<u32>,
    /// Milliseconds since 1970.
    next_restart: Option<u64>,
    last_error: Option<&'a str>,
    limits: Option<SandboxLimits>,
    memory: Option<SandboxMemory>,
    /// CPU time so far.
    #[schema(value_type = Option<u64>)]
    cpu_ms: Option<u128>,
    dropped_log_lines: Option<u64>,
    /// Transforms, predicates and converters of plugins, each in a sandbox of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<SandboxPart>,
}

#[derive(Serialize, ToSchema)]
struct SandboxPart {
    kind: PartKind,
    /// Its name in the connector's configuration, that of the key for a converter.
    alias: String,
    plugin: String,
    limits: SandboxLimits,
    memory: SandboxMemory,
    /// CPU time so far.
    #[schema(value_type = u64)]
    cpu_ms: u128,
    dropped_log_lines: u64,
}

#[derive(Serialize, ToSchema)]
struct SandboxLimits {
    memory_bytes: u64,
    #[schema(value_type = u64)]
    call_timeout_ms: u128,
    #[schema(value_type = u64)]
    cpu_burst_ms: u128,
}

#[derive(Serialize, ToSchema)]
struct SandboxMemory {
    now_bytes: u64,
    peak_bytes: u64,
}

/// Connect shows nothing but RUNNING then, although nothing is done.
const NO_TASKS: &str = "The connector is running but has no tasks: it has given no task configurations";

/// `GET /connectors/{connector}/sandbox`
#[utoipa::path(
    get, path = "/connectors/{connector}/sandbox", operation_id = "getSandbox", params(Connector),
    responses((status = 200, description = "Limits and use.", body = Sandboxes<'_>), NoSuchConnector),
)]
pub(super) async fn show(State(app): State<App>, Connector(name): Connector) -> Result<Response, Error> {
    let view = app.view();
    let connector = view.connectors.get(&name);
    let connector = connector.ok_or_else(|| Error::NotFound(format!("Connector {name} not found")))?;
    let seen: Vec<_> = instances(&view, &connector.info, &**app.sandbox()).collect();
    let idle = matches!(&seen[..], [connector] if connector.status.is_some_and(|status| status.state == "RUNNING"));
    let condition = idle.then_some(NO_TASKS);
    let (connector, tasks) = match seen.split_first() {
        Some((connector, tasks)) => {
            let parts =
                |task: &Seen<'_>| app.sandbox().parts(&task.instance).into_iter().map(SandboxPart::from).collect();
            let with_parts = |task| SandboxState { parts: parts(task), ..SandboxState::from(task) };
            (Some(SandboxState::from(connector)), tasks.iter().map(with_parts).collect())
        }
        None => (None, Vec::new()),
    };
    Ok(Json(Sandboxes { name: &name, condition, connector, tasks }).into_response())
}

impl<'a> From<&'a Seen<'a>> for SandboxState<'a> {
    fn from(seen: &'a Seen<'a>) -> Self {
        let usage = seen.usage.as_ref();
        Self {
            id: match &seen.instance {
                Instance::Connector(_) => None,
                Instance::Task(task) => Some(task.number),
            },
            worker_id: seen.status.map(|status| &status.worker),
            state: seen.status.map(|status| status.state),
            restarts: seen.restarts(),
            next_restart: seen.next_restart(),
            last_error: seen.last_error(),
            limits: usage.map(|usage| SandboxLimits::from(&usage.limits)),
            memory: usage.map(SandboxMemory::from),
            cpu_ms: usage.map(|usage| usage.cpu.as_millis()),
            dropped_log_lines: usage.map(|usage| usage.dropped_log_lines),
            parts: Vec::new(),
        }
    }
}

impl From<PartUsage> for SandboxPart {
    fn from(PartUsage { kind, alias, plugin, usage }: PartUsage) -> Self {
        Self {
            kind,
            alias,
            plugin,
            limits: SandboxLimits::from(&usage.limits),
            memory: SandboxMemory::from(&usage),
            cpu_ms: usage.cpu.as_millis(),
            dropped_log_lines: usage.dropped_log_lines,
        }
    }
}

impl From<&InstanceLimits> for SandboxLimits {
    fn from(limits: &InstanceLimits) -> Self {
        Self {
            memory_bytes: limits.memory_bytes,
            call_timeout_ms: limits.call_timeout.as_millis(),
            cpu_burst_ms: limits.cpu_burst.as_millis(),
        }
    }
}

impl From<&InstanceUsage> for SandboxMemory {
    fn from(usage: &InstanceUsage) -> Self {
        Self { now_bytes: usage.memory_bytes, peak_bytes: usage.peak_memory_bytes }
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_herder::RestartView;
    use bulkhead_herder::api::Millis;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Client, usage};

    async fn show(client: &Client) -> Value {
        let answer = client.send("GET /connectors/a/sandbox", "").await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/json"));
        serde_json::from_str(&answer.body).unwrap()
    }

    #[tokio::test]
    async fn instances_of_this_worker_show_what_they_may_have_and_what_they_use() {
        let client = Client::with_connector("a").await;
        client.herder.show_connector_with_tasks("a", 2);
        let task = Instance::Task(ConnectorName::new("a").task(0));
        client.sandbox.run(task.clone(), usage());
        let restart =
            RestartView { restarts: 3, next: Some(Millis(1_700_000_000_000)), last_error: "it broke".to_owned() };
        client.herder.edit_view(|view| drop(view.restarts.insert(task, restart)));
        assert_eq!(
            show(&client).await["tasks"][0],
            json!({
                "id": 0, "worker_id": "w:1", "state": "RUNNING",
                "restarts": 3, "next_restart": 1_700_000_000_000_u64, "last_error": "it broke",
                "limits": {"memory_bytes": 64, "call_timeout_ms": 30_000, "cpu_burst_ms": 10_000},
                "memory": {"now_bytes": 20, "peak_bytes": 40}, "cpu_ms": 1_500, "dropped_log_lines": 7,
            })
        );
    }

    #[tokio::test]
    async fn a_task_shows_the_transforms_and_converters_that_it_has_beside_itself() {
        let client = Client::with_connector("a").await;
        client.herder.show_connector_with_tasks("a", 1);
        let part = |kind, alias: &str, plugin: &str| {
            let (alias, plugin) = (alias.to_owned(), plugin.to_owned());
            PartUsage { kind, alias, plugin, usage: usage() }
        };
        let parts = vec![
            part(PartKind::Transform, "mask", "org.example.Mask"),
            part(PartKind::Converter, "value.converter", "org.example.Cbor"),
        ];
        let task = Instance::Task(ConnectorName::new("a").task(0));
        client.sandbox.run_with_parts(task, usage(), parts);
        let shown = |kind: &str, alias: &str, plugin: &str| {
            json!({
                "kind": kind, "alias": alias, "plugin": plugin,
                "limits": {"memory_bytes": 64, "call_timeout_ms": 30_000, "cpu_burst_ms": 10_000},
                "memory": {"now_bytes": 20, "peak_bytes": 40}, "cpu_ms": 1_500, "dropped_log_lines": 7,
            })
        };
        assert_eq!(
            show(&client).await["tasks"][0]["parts"],
            json!([
                shown("transform", "mask", "org.example.Mask"),
                shown("converter", "value.converter", "org.example.Cbor"),
            ])
        );
    }

    #[tokio::test]
    async fn of_instances_elsewhere_only_worker_and_state_are_known_and_of_new_ones_nothing() {
        let client = Client::with_connector("a").await;
        client.herder.show_connector_with_tasks("a", 2);
        let unknown = |mut instance: Value| {
            for key in ["restarts", "next_restart", "last_error", "limits", "memory", "cpu_ms", "dropped_log_lines"] {
                instance[key] = Value::Null;
            }
            instance
        };
        assert_eq!(
            show(&client).await,
            json!({
                "name": "a", "condition": null,
                "connector": unknown(json!({"worker_id": "w:1", "state": "RUNNING"})),
                "tasks": [
                    unknown(json!({"id": 0, "worker_id": "w:1", "state": "RUNNING"})),
                    unknown(json!({"id": 1, "worker_id": null, "state": null})),
                ],
            })
        );
    }

    #[tokio::test]
    async fn an_instance_that_never_failed_was_restarted_no_times() {
        let client = Client::with_connector("a").await;
        client.herder.show_connector("a");
        client.sandbox.run(Instance::Connector(ConnectorName::new("a")), usage());
        assert_eq!(show(&client).await["connector"]["restarts"], 0);
    }

    #[tokio::test]
    async fn a_running_connector_without_tasks_says_so() {
        let client = Client::with_connector("a").await;
        client.herder.show_connector("a");
        assert_eq!(show(&client).await["condition"], NO_TASKS);
        client.herder.show_connector_with_tasks("a", 1);
        assert_eq!(show(&client).await["condition"], Value::Null);
    }

    #[tokio::test]
    async fn an_unknown_connector_is_404() {
        let answer = Client::new().send("GET /connectors/a/sandbox", "").await;
        assert_eq!((answer.status.as_u16(), answer.message().as_str()), (404, "Connector a not found"));
    }
}
