//! What a worker has and does beside the states of connectors: plugins, loggers, sandboxes.

use std::collections::BTreeMap;
use std::path::Path;

use clap_complete::Shell;
use serde_json::json;
use ureq::http::Method;

use crate::answers::{Level, Plugin, PluginFile, Sandbox, Sandboxes};
use crate::arguments::Scope;
use crate::client::{Client, connector, segment};
use crate::error::Error;
use crate::files::read;
use crate::terminal::{Table, Terminal};

const PLUGIN_FILES: &str = "/bulkhead/plugins";

pub fn plugins(client: &Client, terminal: &mut Terminal<'_>, all: bool) -> Result<(), Error> {
    let answer = client.get(&format!("/connector-plugins?connectorsOnly={}", !all))?;
    terminal.show(&answer, || {
        let mut table = Table::new(["CLASS", "TYPE", "VERSION"]);
        for plugin in answer.read::<Vec<Plugin>>()? {
            table.row([plugin.class, plugin.kind, plugin.version.unwrap_or_default()]);
        }
        Ok(table.text())
    })
}

pub fn plugin_files(client: &Client, terminal: &mut Terminal<'_>) -> Result<(), Error> {
    let answer = client.get(PLUGIN_FILES)?;
    terminal.show(&answer, || Ok(files(answer.read()?)))
}

/// The file may have been there already; either way it is now.
pub fn install_plugin(client: &Client, terminal: &mut Terminal<'_>, file: &Path) -> Result<(), Error> {
    let answer = client.put_component(PLUGIN_FILES, &read(file)?)?;
    terminal.show(&answer, || Ok(files(vec![answer.read()?])))
}

/// Every class on a line, then what is wrong.
fn files(files: Vec<PluginFile>) -> String {
    let mut table = Table::new(["FILE", "CLASS", "TYPE", "VERSION"]);
    let mut remarks = String::new();
    for PluginFile { file, plugins, broken } in files {
        if let Some(reason) = broken {
            remarks += &format!("\n{file}: {reason}\n");
        }
        for Plugin { class, kind, version } in plugins {
            table.row([file.clone(), class, kind, version.unwrap_or_default()]);
        }
    }
    table.text() + &remarks
}

pub fn loggers(
    client: &Client,
    terminal: &mut Terminal<'_>,
    name: Option<String>,
    level: Option<String>,
    scope: Option<Scope>,
) -> Result<(), Error> {
    match (name, level) {
        (Some(name), Some(level)) => set_level(client, terminal, &name, &level, scope.unwrap_or(Scope::Worker)),
        (Some(name), None) => {
            let answer = client.get(&logger(&name))?;
            terminal.show(&answer, || Ok(levels([(name, answer.read()?)])))
        }
        (None, _) => {
            let answer = client.get("/admin/loggers")?;
            terminal.show(&answer, || Ok(levels(answer.read::<BTreeMap<_, _>>()?)))
        }
    }
}

fn levels(loggers: impl IntoIterator<Item = (String, Level)>) -> String {
    let mut table = Table::new(["LOGGER", "LEVEL"]);
    loggers.into_iter().for_each(|(name, level)| table.row([name, level.level]));
    table.text()
}

fn set_level(client: &Client, terminal: &mut Terminal<'_>, name: &str, level: &str, scope: Scope) -> Result<(), Error> {
    let scope = match scope {
        Scope::Worker => "worker",
        Scope::Cluster => "cluster",
    };
    let body = json!({ "level": level.to_ascii_uppercase() });
    let answer = client.send(Method::PUT, &format!("{}?scope={scope}", logger(name)), &body)?;
    terminal.show(&answer, || match answer.text() {
        "" => Ok(format!("{name}: every worker will follow")),
        _ => Ok(answer.read::<Vec<String>>()?.join("\n")),
    })
}

fn logger(name: &str) -> String {
    format!("/admin/loggers/{}", segment(name))
}

pub fn sandbox(client: &Client, terminal: &mut Terminal<'_>, name: &str) -> Result<(), Error> {
    let answer = client.get(&connector(name, "/sandbox"))?;
    terminal.show(&answer, || Ok(sandboxes(name, answer.read()?)))
}

/// Every instance on a line, then what is odd.
fn sandboxes(name: &str, all: Sandboxes) -> String {
    let mut table = Table::new(["INSTANCE", "STATE", "WORKER", "MEMORY", "PEAK", "LIMIT", "CPU", "RESTARTS"]);
    let mut remarks: String = all.condition.map(|condition| format!("\n{condition}\n")).unwrap_or_default();
    for sandbox in all.connector.into_iter().chain(all.tasks) {
        let instance = sandbox.id.map_or_else(|| name.to_owned(), |id| format!("{name}-{id}"));
        if let Some(error) = &sandbox.last_error {
            remarks += &format!("\n{instance}: {error}\n");
        }
        row(&mut table, instance, sandbox);
    }
    table.text() + &remarks
}

fn row(table: &mut Table, instance: String, sandbox: Sandbox) {
    let Sandbox { worker_id, state, restarts, limits, memory, cpu_ms, .. } = sandbox;
    table.row([
        instance,
        state.unwrap_or_default(),
        worker_id.unwrap_or_default(),
        memory.as_ref().map(|memory| mebibytes(memory.now_bytes)).unwrap_or_default(),
        memory.map(|memory| mebibytes(memory.peak_bytes)).unwrap_or_default(),
        limits.map(|limits| mebibytes(limits.memory_bytes)).unwrap_or_default(),
        cpu_ms.map(|cpu| format!("{cpu} ms")).unwrap_or_default(),
        restarts.map(|restarts| restarts.to_string()).unwrap_or_default(),
    ]);
}

fn mebibytes(bytes: u64) -> String {
    let tenths = bytes / (1024 * 1024 / 10);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

pub fn completions(terminal: &mut Terminal<'_>, shell: Shell, mut command: clap::Command) -> Result<(), Error> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    terminal.document(&String::from_utf8_lossy(&script))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Reply, Worker, written};

    #[test]
    fn plugins_are_connectors_unless_all_are_asked_for() {
        let plugins = r#"[{"class": "C", "type": "source", "version": "1"}, {"class": "LongD", "type": "sink"}]"#;
        let worker = Worker::start([Reply::new(200, plugins), Reply::new(200, plugins)]);
        let table = "CLASS  TYPE    VERSION\nC      source  1\nLongD  sink\n";
        assert_eq!(worker.run("plugins"), table);
        assert_eq!(worker.run("plugins --all"), table);
        assert_eq!(
            worker.requests(),
            ["GET /connector-plugins?connectorsOnly=true", "GET /connector-plugins?connectorsOnly=false"]
        );
    }

    #[test]
    fn files_of_plugins_are_shown_and_added_to() {
        let installed = r#"{"file": "C.wasm", "digest": "sha256:1", "plugins": [
            {"class": "C", "type": "source", "version": "1"}, {"class": "D", "type": "sink"}]}"#;
        let broken = r#"{"file": "x.wasm", "digest": null, "plugins": [], "broken": "is no WebAssembly file"}"#;
        let taken = r#"{"error_code": 409, "message": "taken"}"#;
        let worker = Worker::start([
            Reply::new(200, &format!("[{installed}, {broken}]")),
            Reply::new(201, installed),
            Reply::new(409, taken),
        ]);
        let table = "FILE    CLASS  TYPE    VERSION\nC.wasm  C      source  1\nC.wasm  D      sink\n";
        assert_eq!(worker.run("plugins files"), format!("{table}\nx.wasm: is no WebAssembly file\n"));
        let folder = tempfile::tempdir().unwrap();
        let install = format!("plugins install {}", written(&folder, "c.wasm", "the component").display());
        assert_eq!(worker.run(&install), table);
        assert_eq!(worker.run(&install), "error: taken (HTTP 409)\n1");
        let put = "PUT /bulkhead/plugins the component";
        assert_eq!(worker.requests(), ["GET /bulkhead/plugins", put, put]);
        assert!(worker.heads()[1].to_lowercase().contains("content-type: application/wasm"));
    }

    #[test]
    fn levels_are_shown_and_set_on_a_worker_or_on_all() {
        let worker = Worker::start([
            Reply::new(200, r#"{"a": {"level": "INFO", "last_modified": null}, "root": {"level": "WARN"}}"#),
            Reply::new(200, r#"{"level": "INFO"}"#),
            Reply::new(200, r#"["a", "a::b"]"#),
            Reply::new(204, ""),
        ]);
        assert_eq!(worker.run("loggers"), "LOGGER  LEVEL\na       INFO\nroot    WARN\n");
        assert_eq!(worker.run("loggers a::b"), "LOGGER  LEVEL\na::b    INFO\n");
        assert_eq!(worker.run("loggers a debug"), "a\na::b\n");
        assert_eq!(worker.run("loggers a debug --scope cluster"), "a: every worker will follow\n");
        assert_eq!(
            worker.requests(),
            [
                "GET /admin/loggers",
                "GET /admin/loggers/a%3A%3Ab",
                r#"PUT /admin/loggers/a?scope=worker {"level":"DEBUG"}"#,
                r#"PUT /admin/loggers/a?scope=cluster {"level":"DEBUG"}"#,
            ]
        );
    }

    #[test]
    fn sandboxes_of_other_workers_leave_cells_empty() {
        let here = r#"{"id": 0, "worker_id": "w:1", "state": "RUNNING", "restarts": 2, "last_error": "it trapped",
            "limits": {"memory_bytes": 67108864, "call_timeout_ms": 1, "cpu_burst_ms": 1},
            "memory": {"now_bytes": 1048576, "peak_bytes": 1677722}, "cpu_ms": 15}"#;
        let there = r#"{"worker_id": "w:2", "state": "RUNNING", "restarts": null, "limits": null}"#;
        let body = format!(r#"{{"name": "a", "condition": "odd", "connector": {there}, "tasks": [{here}]}}"#);
        let worker = Worker::start([Reply::new(200, &body)]);
        assert_eq!(
            worker.run("sandbox a"),
            "INSTANCE  STATE    WORKER  MEMORY   PEAK     LIMIT     CPU    RESTARTS\n\
             a         RUNNING  w:2\n\
             a-0       RUNNING  w:1     1.0 MiB  1.6 MiB  64.0 MiB  15 ms  2\n\
             \n\
             odd\n\
             \n\
             a-0: it trapped\n"
        );
    }

    #[test]
    fn completions_know_the_commands() {
        let worker = Worker::start([]);
        for shell in ["bash", "zsh", "fish"] {
            assert!(worker.run(&format!("completions {shell}")).contains("stop-and-resume"), "{shell}");
        }
    }
}
