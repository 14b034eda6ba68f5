//! Apicurio's schema registry, which speaks Confluent's interface, and its converter for Kafka Connect: fetched from
//! Maven Central once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::apache::{Process, dependency, fetch_jars, free_ports, maven, project};
use crate::cache::cached;

/// The last series that runs on Java 17.
const VERSION: &str = "2.6.13.Final";
const GROUP: &str = "io.apicurio";

/// A registry that keeps schemas in memory.
#[derive(Debug)]
pub struct SchemaRegistry {
    port: u16,
    _process: Process,
}

impl SchemaRegistry {
    /// Starts a registry on a free port, with its log in `dir`, and waits until it serves. The first time it is fetched
    /// (about 140 MB).
    pub fn start(dir: &Path) -> Result<Self> {
        let home = cached(&format!("apicurio-registry-{VERSION}"), fetch_registry)?;
        let [port] = free_ports()?;
        let mut command = Command::new("java");
        command.stdin(Stdio::null());
        command.args(["-Xmx512m", "-XX:TieredStopAtLevel=1", "-Dquarkus.http.host=127.0.0.1"]);
        command.arg(format!("-Dquarkus.http.port={port}")).arg("-jar");
        command.arg(home.join(format!("apicurio-registry-app-{VERSION}-runner.jar"))).current_dir(&home);
        let mut process = Process::start(command, &dir.join("registry.log"))?;
        process.wait_until("the schema registry", |log| Ok(fs::read_to_string(log)?.contains("Listening on: http")))?;
        Ok(Self { port, _process: process })
    }

    /// Its interface in Confluent's form.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/apis/ccompat/v7", self.port)
    }

    /// Its own interface, for its own converter.
    pub fn native_url(&self) -> String {
        format!("http://127.0.0.1:{}/apis/registry/v2", self.port)
    }
}

/// A folder for `plugin.path` of Apache's worker, with Apicurio's converter in it (about 26 MB).
pub fn converter() -> Result<PathBuf> {
    cached(&format!("apicurio-converter-{VERSION}"), |fresh| {
        eprintln!("Fetching Apicurio's converter {VERSION} from Maven Central (about 26 MB, once).");
        fetch_jars(fresh, &project(&dependency(GROUP, "apicurio-registry-utils-converter", VERSION)))
    })
}

fn fetch_registry(fresh: &Path) -> Result<()> {
    eprintln!("Fetching the schema registry {VERSION} from Maven Central (about 140 MB, once).");
    let artifact = format!("-Dartifact={GROUP}:apicurio-registry-app:{VERSION}:tar.gz:all");
    maven(fresh, &project(""), &["dependency:unpack", &artifact, "-DoutputDirectory=."])
}
