//! Plugins in several versions, and plugins that come, change and go while the sandbox is open.

use std::fs;
use std::path::{Path, PathBuf};

use bulkhead_doubles::component::{in_version, with_note};
use bulkhead_doubles::eventually;
use bulkhead_model::{ConnectorName, RawConfig};
use bulkhead_pipeline::ports::{Connector, PluginError, Plugins, SourceTask};
use bulkhead_sandbox::{InstallError, SandboxedSource, Uploaded};
use tempfile::TempDir;

use crate::{Bench, POLL, SOON, plugin};

const GENERATOR: &str = "io.bulkhead.GeneratorSourceConnector";
const OWN: &str = env!("CARGO_PKG_VERSION");

/// The generator in its own version, and in one before and one after that.
struct Builds {
    older: Vec<u8>,
    own: Vec<u8>,
    newer: Vec<u8>,
}

impl Builds {
    fn new() -> Self {
        let own = fs::read(plugin("generator_source")).unwrap();
        let of = |version| in_version(&own, OWN, version);
        Self { older: of("0.0.9"), newer: of("9.0.0"), own }
    }
}

/// A folder of plugins, and a sandbox over it that looks for changes only when it is told to.
struct Case {
    folder: TempDir,
    bench: Bench,
}

impl Case {
    async fn new(files: &[(&str, &[u8])]) -> Self {
        Self::with(files, "0").await
    }

    async fn with(files: &[(&str, &[u8])], interval: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        let bench = Bench::over(&[folder.path().to_owned()], &[("plugin.scan.interval.ms", interval)]).await;
        Self { folder, bench }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn put(&self, name: &str, content: &[u8]) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Long enough for what is there to count.
    async fn look(&self) {
        self.bench.sandbox.look_again().await;
        self.bench.sandbox.look_again().await;
    }

    /// The versions that are listed.
    fn versions(&self) -> String {
        let catalog = self.bench.sandbox.catalog();
        let versions: Vec<_> = catalog.iter().filter_map(|plugin| plugin.version.clone()).collect();
        versions.join(" ")
    }

    fn broken(&self) -> String {
        let broken = self.bench.sandbox.broken_files().into_iter();
        let broken: Vec<_> = broken.map(|file| format!("{}: {}", name(&file.path), file.reason)).collect();
        broken.join("; ")
    }

    async fn source(&self, wanted: Option<&str>) -> Result<SandboxedSource, PluginError> {
        let mut config = RawConfig::from([("connector.class", GENERATOR), ("topic", "t"), ("task.streams", "0")]);
        if let Some(wanted) = wanted {
            config.set("connector.plugin.version", wanted);
        }
        self.bench.source("numbers", &config).await
    }

    /// The version of a task that is started now.
    async fn started(&self, wanted: Option<&str>) -> String {
        match self.source(wanted).await {
            Ok(source) => source.version().unwrap_or_default().to_owned(),
            Err(error) => error.to_string(),
        }
    }

    async fn upload(&self, content: &[u8]) -> Result<Uploaded, InstallError> {
        let mut upload = self.bench.sandbox.upload().await?;
        for piece in content.chunks(100_000) {
            upload.write(piece).await?;
        }
        upload.install().await
    }

    fn files(&self) -> Vec<String> {
        let mut files: Vec<_> = fs::read_dir(&self.folder).unwrap().map(|file| name(&file.unwrap().path())).collect();
        files.sort();
        files
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_configuration_chooses_among_the_versions_that_are_there() {
    let Builds { older, own, newer } = Builds::new();
    let case = Case::new(&[("a.wasm", &newer), ("b.wasm", &older), ("c.wasm", &own)]).await;
    assert_eq!((case.versions(), case.broken()), (format!("0.0.9 {OWN} 9.0.0"), String::new()));
    for (wanted, expected) in [
        (None, "9.0.0"),
        (Some("latest"), "9.0.0"),
        (Some("0.0.9"), "0.0.9"),
        (Some("(,9.0.0)"), OWN),
        (Some("[0.0.1,0.0.9]"), "0.0.9"),
    ] {
        assert_eq!(case.started(wanted).await, expected, "{wanted:?}");
    }
    let refused = case.started(Some("[10,)")).await;
    assert!(
        refused.ends_with(&format!("version [10,) is not installed (installed: 0.0.9, {OWN}, 9.0.0)")),
        "{refused}"
    );
    let config = RawConfig::from([("connector.class", GENERATOR), ("connector.plugin.version", "0.0.9")]);
    let connector = case.bench.sandbox.connector(&ConnectorName::new("numbers"), &config).await.unwrap();
    assert_eq!(connector.version(), Some("0.0.9"));
}

#[tokio::test]
async fn of_two_files_with_one_version_the_second_counts_only_if_it_is_the_same() {
    let Builds { own, .. } = Builds::new();
    let other = with_note(&own, "another build");
    let case = Case::new(&[("a.wasm", &own), ("b.wasm", &other), ("c.wasm", &own)]).await;
    assert_eq!(case.versions(), OWN);
    let taken = format!("class `{GENERATOR}` is left out: `a.wasm` provides version {OWN} of it with other content");
    assert_eq!(case.broken(), format!("b.wasm: {taken}"));
    let files = case.bench.sandbox.plugin_files();
    let provides: Vec<_> = files.iter().map(|file| file.plugins.len()).collect();
    assert_eq!((provides, files[0].digest == files[2].digest), (vec![1, 0, 1], true));

    fs::remove_file(case.path("a.wasm")).unwrap();
    case.look().await;
    assert!(case.broken().contains("c.wasm: "), "who was refused is the first now: {}", case.broken());
}

#[tokio::test]
async fn a_file_that_is_dropped_counts_when_it_has_settled() {
    let Builds { own, newer, .. } = Builds::new();
    let case = Case::new(&[("own.wasm", &own)]).await;
    let mut changes = case.bench.sandbox.changes();
    let running = case.source(None).await.unwrap();

    case.put("newer.wasm", &newer);
    case.bench.sandbox.look_again().await;
    assert_eq!(case.versions(), OWN);
    case.bench.sandbox.look_again().await;
    assert_eq!(case.versions(), format!("{OWN} 9.0.0"));
    assert_eq!(changes.next().await.unwrap().iter().count(), 2);

    assert_eq!(case.started(None).await, "9.0.0");
    assert_eq!(running.version(), Some(OWN));
    assert!(running.poll(POLL).await.is_ok());
}

#[tokio::test]
async fn a_file_that_comes_later_does_not_push_out_one_that_is_there() {
    let Builds { own, .. } = Builds::new();
    let case = Case::new(&[("m.wasm", &own)]).await;
    case.put("a.wasm", &with_note(&own, "another build"));
    case.look().await;
    assert!(case.broken().starts_with("a.wasm: ") && case.broken().contains("`m.wasm` provides"), "{}", case.broken());
    assert_eq!(case.started(None).await, OWN);
}

#[tokio::test]
async fn what_is_written_in_two_halves_is_taken_when_it_is_whole() {
    let Builds { own, .. } = Builds::new();
    let case = Case::new(&[]).await;
    let (half, _) = own.split_at(own.len() / 2);
    case.put("a.wasm", half);
    case.look().await;
    assert!(case.versions().is_empty() && case.broken().starts_with("a.wasm: is no valid component"));
    case.look().await;
    assert!(case.broken().starts_with("a.wasm: "), "nothing has changed");
    case.put("a.wasm", &own);
    case.look().await;
    assert_eq!((case.versions().as_str(), case.broken().as_str()), (OWN, ""));
}

#[tokio::test]
async fn who_runs_goes_on_when_the_file_is_replaced_or_removed() {
    let Builds { older, own, newer } = Builds::new();
    let case = Case::new(&[("a.wasm", &own), ("old.wasm", &older)]).await;
    let running = case.source(None).await.unwrap();

    case.put("a.wasm", &newer);
    case.look().await;
    assert_eq!(case.versions(), "0.0.9 9.0.0");
    assert_eq!(case.started(None).await, "9.0.0");

    fs::remove_file(case.path("a.wasm")).unwrap();
    case.look().await;
    assert_eq!(case.started(None).await, "0.0.9");
    fs::remove_file(case.path("old.wasm")).unwrap();
    case.look().await;
    assert!(case.started(None).await.contains("no plugin of the class"));

    assert!(running.poll(POLL).await.is_ok());
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_file_is_not_opened_again_because_it_was_touched() {
    let Builds { own, .. } = Builds::new();
    let case = Case::new(&[("a.wasm", &own)]).await;
    let before = case.bench.sandbox.catalog();
    case.put("a.wasm", &own);
    case.look().await;
    assert!(std::sync::Arc::ptr_eq(&before, &case.bench.sandbox.catalog()));
}

#[tokio::test]
async fn a_folder_that_goes_away_takes_its_plugins_with_it_and_brings_them_back() {
    let Builds { own, .. } = Builds::new();
    let case = Case::new(&[("a.wasm", &own)]).await;
    let aside = tempfile::tempdir().unwrap();
    fs::rename(case.folder.path(), aside.path().join("plugins")).unwrap();
    case.look().await;
    assert_eq!(case.versions(), "");
    fs::rename(aside.path().join("plugins"), case.folder.path()).unwrap();
    case.look().await;
    assert_eq!(case.versions(), OWN);
}

#[tokio::test]
async fn folders_are_looked_at_without_being_asked() {
    let Builds { own, .. } = Builds::new();
    let case = Case::with(&[], "20").await;
    case.put("a.wasm", &own);
    eventually("the plugin is there", SOON * 6, || case.versions() == OWN).await;
    fs::remove_file(case.path("a.wasm")).unwrap();
    eventually("the plugin is gone", SOON * 6, || case.versions().is_empty()).await;
}

#[tokio::test]
async fn a_plugin_that_is_handed_in_is_there_at_once() {
    let Builds { own, newer, .. } = Builds::new();
    let case = Case::new(&[]).await;
    let Uploaded { file, is_new } = case.upload(&own).await.unwrap();
    let digest = file.digest.unwrap();
    let expected = format!("GeneratorSourceConnector-{OWN}-{}.wasm", &digest[..12]);
    assert_eq!((is_new, name(&file.path)), (true, expected.clone()));
    assert_eq!(file.plugins[0].class, GENERATOR);
    assert_eq!(case.started(None).await, OWN);

    let again = case.upload(&own).await.unwrap();
    assert_eq!((again.is_new, name(&again.file.path)), (false, expected.clone()));
    assert!(case.upload(&newer).await.unwrap().is_new);
    assert_eq!(case.started(None).await, "9.0.0");
    assert_eq!(case.files().len(), 2);

    case.look().await;
    assert_eq!((case.versions(), case.broken()), (format!("{OWN} 9.0.0"), String::new()));
}

#[tokio::test]
async fn what_cannot_be_taken_leaves_nothing_behind() {
    let Builds { own, .. } = Builds::new();
    let case = Case::new(&[("a.wasm", &own)]).await;
    for (content, expected) in [
        (b"".as_slice(), "the component is no WebAssembly file"),
        (b"not a component at all", "the component is no WebAssembly file"),
        (&own[..own.len() / 2], "the component is no valid component"),
        (&wat::parse_str("(component)").unwrap(), "the component is no connector plugin"),
        (&with_note(&own, "another build"), "`a.wasm` provides version"),
    ] {
        let refused = case.upload(content).await.unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
        assert_eq!((case.files(), case.versions()), (vec!["a.wasm".to_owned()], OWN.to_owned()));
    }
    assert!(matches!(case.upload(&with_note(&own, "x")).await, Err(InstallError::Taken(_))));
}

#[tokio::test]
async fn one_plugin_is_handed_in_at_a_time() {
    let case = Case::new(&[]).await;
    let first = case.bench.sandbox.upload().await.unwrap();
    assert!(matches!(case.bench.sandbox.upload().await, Err(InstallError::Busy)));
    assert_eq!(case.files().len(), 1);
    drop(first);
    assert_eq!(case.files(), Vec::<String>::new());
    assert!(case.bench.sandbox.upload().await.is_ok());
}
