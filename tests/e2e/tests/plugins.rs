//! Plugins that come, change and go while a worker runs, in several versions at once (KIP-891).

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use bulkhead_doubles::component::{in_version, with_note};
use bulkhead_e2e::{Kafka, Setup, Worker, eventually, plugins};
use serde_json::{Value, json};

const CLASS: &str = "io.bulkhead.GeneratorSourceConnector";
const OWN: &str = env!("CARGO_PKG_VERSION");
const SOON: Duration = Duration::from_secs(60);

/// A worker over a folder of its own, with the generator in it.
struct Case {
    worker: Worker,
    plugins: PathBuf,
    generator: Vec<u8>,
    _folder: tempfile::TempDir,
}

impl Case {
    fn new(properties: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("plugins");
        fs::create_dir(&own).unwrap();
        let generator = fs::read(plugins().join("generator_source.wasm")).unwrap();
        fs::write(own.join("generator.wasm"), &generator).unwrap();
        let setup = Setup::new(Kafka::Embedded, folder.path()).unwrap();
        let setup = setup.with("plugin.path", own.to_str().unwrap()).with("plugin.scan.interval.ms", "100");
        let setup = properties.iter().fold(setup, |setup, (key, value)| setup.with(key, value));
        Self { worker: setup.start().unwrap(), plugins: own, generator, _folder: folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.plugins.join(name)
    }

    fn build(&self, version: &str) -> Vec<u8> {
        in_version(&self.generator, OWN, version)
    }

    /// Creates a connector and waits until it and its task run.
    fn run(&self, name: &str, wanted: Option<&str>) {
        assert_eq!(self.create(name, wanted).0, 201);
        self.worker.rest.wait(name, "RUNNING", 1).unwrap();
    }

    fn create(&self, name: &str, wanted: Option<&str>) -> (u16, Value) {
        let mut config = json!({"connector.class": CLASS, "topic": name, "rate": "100"});
        if let Some(wanted) = wanted {
            config["connector.plugin.version"] = json!(wanted);
        }
        self.worker.rest.ask("POST", "/connectors", Some(&json!({"name": name, "config": config}))).unwrap()
    }

    /// The versions that a connector and its task run in.
    fn versions(&self, name: &str) -> (String, String) {
        let status = self.worker.rest.must("GET", &format!("/connectors/{name}/status"), None).unwrap();
        let version = |part: &Value| part["version"].as_str().unwrap_or_default().to_owned();
        (version(&status["connector"]), version(&status["tasks"][0]))
    }

    fn restart(&self, name: &str, expected: &str) {
        let path = format!("/connectors/{name}/restart?includeTasks=true");
        self.worker.rest.must("POST", &path, None).unwrap();
        let expected = (expected.to_owned(), expected.to_owned());
        let what = format!("{name} runs in {expected:?}");
        eventually(&what, SOON, || (self.versions(name) == expected).then_some(())).unwrap();
        self.worker.rest.wait(name, "RUNNING", 1).unwrap();
    }

    fn wait_for_versions(&self, expected: &[&str]) {
        let listed = || {
            let plugins = self.worker.rest.must("GET", "/connector-plugins", None).ok()?;
            let versions = plugins.as_array()?.iter().filter(|plugin| plugin["class"] == CLASS);
            let versions: Vec<_> = versions.filter_map(|plugin| plugin["version"].as_str()).collect();
            (versions == expected).then_some(())
        };
        eventually(&format!("the versions are {expected:?}"), SOON, listed).unwrap();
    }

    fn put(&self, component: &[u8]) -> (u16, Value) {
        let request = ureq::put(format!("{}/bulkhead/plugins", self.worker.rest.base()));
        let request = request.header("Content-Type", "application/wasm").config().http_status_as_error(false);
        let mut answer = request.build().send(component).unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        (answer.status().as_u16(), serde_json::from_str(&text).unwrap())
    }

    /// Each file with what is wrong with it.
    fn files(&self) -> Vec<(String, Value)> {
        let files = self.worker.rest.must("GET", "/bulkhead/plugins", None).unwrap();
        let files = files.as_array().unwrap().iter();
        files.map(|file| (file["file"].as_str().unwrap().to_owned(), file["broken"].clone())).collect()
    }
}

#[test]
fn a_plugin_that_is_dropped_is_there_and_who_runs_takes_it_at_the_next_restart() {
    let case = Case::new(&[]);
    let own = (OWN.to_owned(), OWN.to_owned());
    case.run("any", None);
    case.run("pinned", Some(OWN));

    fs::write(case.path("newer.wasm"), case.build("9.0.0")).unwrap();
    case.wait_for_versions(&[OWN, "9.0.0"]);
    assert_eq!((case.versions("any"), case.versions("pinned")), (own.clone(), own));
    case.restart("any", "9.0.0");
    case.restart("pinned", OWN);

    fs::remove_file(case.path("newer.wasm")).unwrap();
    case.wait_for_versions(&[OWN]);
    assert_eq!(case.versions("any"), ("9.0.0".to_owned(), "9.0.0".to_owned()));
    case.worker.rest.wait("any", "RUNNING", 1).unwrap();
    case.restart("any", OWN);
}

#[test]
fn a_plugin_that_is_put_is_there_at_once() {
    let case = Case::new(&[("plugin.upload.enable", "true"), ("plugin.upload.max.bytes", "16MiB")]);
    case.run("any", None);
    let (status, refused) = case.create("old", Some("(,0.1)"));
    let message = refused["message"].as_str().unwrap();
    assert!(
        status == 400 && message.contains(&format!("version (,0.1) is not installed (installed: {OWN})")),
        "{message}"
    );

    let older = case.build("0.0.9");
    let (status, installed) = case.put(&older);
    assert_eq!((status, &installed["plugins"][0]["version"]), (201, &json!("0.0.9")), "{installed}");
    let file = installed["file"].as_str().unwrap();
    let digest = installed["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    assert_eq!(file, format!("GeneratorSourceConnector-0.0.9-{}.wasm", &digest[..12]));
    assert_eq!(fs::read(case.path(file)).unwrap(), older);
    case.run("old", Some("(,0.1)"));
    assert_eq!(case.versions("old"), ("0.0.9".to_owned(), "0.0.9".to_owned()));
    assert_eq!(case.versions("any"), (OWN.to_owned(), OWN.to_owned()));

    assert_eq!(case.put(&older), (200, installed.clone()));
    let (status, taken) = case.put(&with_note(&older, "another build"));
    let message = taken["message"].as_str().unwrap();
    assert!(status == 409 && message.contains(file) && message.contains("version 0.0.9"), "{message}");
    for nonsense in [&b""[..], b"nonsense", &older[..older.len() / 2]] {
        assert_eq!(case.put(nonsense).0, 400);
    }
    assert_eq!(case.put(&vec![0; 17 << 20]).0, 413);
    assert_eq!(case.files(), [("generator.wasm".to_owned(), Value::Null), (file.to_owned(), Value::Null)]);
    assert_eq!(fs::read_dir(&case.plugins).unwrap().count(), 2);
}

#[test]
fn each_version_has_its_own_keys_and_all_are_recommended() {
    let case = Case::new(&[]);
    fs::write(case.path("newer.wasm"), case.build("9.0.0")).unwrap();
    case.wait_for_versions(&[OWN, "9.0.0"]);
    let keys = |version: &str| {
        let path = format!("/connector-plugins/GeneratorSource/config?version={version}");
        case.worker.rest.ask("GET", &path, None).unwrap()
    };
    for version in ["latest", OWN, "9.0.0", "%5B0,9%5D"] {
        assert_eq!(keys(version).0, 200, "{version}");
    }
    let (status, refused) = keys("2");
    let message = format!(
        "Plugin GeneratorSource not found that matches the version range 2, available versions: [{OWN}, 9.0.0]"
    );
    assert_eq!((status, &refused["message"]), (400, &json!(message)));

    let config = json!({"connector.class": CLASS, "name": "x", "topic": "t"});
    let path = "/connector-plugins/GeneratorSource/config/validate";
    let infos = case.worker.rest.must("PUT", path, Some(&config)).unwrap();
    let version = infos["configs"].as_array().unwrap().iter().map(|info| &info["value"]);
    let version = version.into_iter().find(|value| value["name"] == "connector.plugin.version").unwrap();
    assert_eq!(version["recommended_values"], json!([OWN, "9.0.0"]));
}

#[test]
fn without_leave_nothing_is_taken_and_broken_files_are_told() {
    let case = Case::new(&[]);
    let (status, refused) = case.put(&case.build("9.0.0"));
    assert_eq!(status, 403);
    assert!(refused["message"].as_str().unwrap().contains("plugin.upload.enable=true"));
    fs::write(case.path("broken.wasm"), "nonsense").unwrap();
    let broken = ("broken.wasm".to_owned(), json!("is no WebAssembly file"));
    eventually("the broken file is told", SOON, || case.files().contains(&broken).then_some(())).unwrap();
    case.run("any", None);
}
