//! What has to be on the machine before anything is built.

use std::process::{Command, Stdio};

use anyhow::bail;

/// A program, how to see that it works, and the Debian package that brings it.
#[derive(Debug)]
pub struct Program {
    command: &'static [&'static str],
    package: &'static str,
}

const BUILD: &[Program] = &[
    Program { command: &["cc", "--version"], package: "gcc" },
    Program { command: &["c++", "--version"], package: "g++" },
    Program { command: &["make", "--version"], package: "make" },
    Program { command: &["pkg-config", "--version"], package: "pkg-config" },
    Program { command: &["pkg-config", "--exists", "openssl"], package: "libssl-dev" },
];

/// For tests against real Kafka.
pub const KAFKA: &[Program] = &[
    Program { command: &["java", "-version"], package: "openjdk-17-jre-headless" },
    Program { command: &["mvn", "--version"], package: "maven" },
];

/// For requests made from the OpenAPI document, and for the walks of third-party clients.
pub const PYTHON: &[Program] = &[Program {
    command: &["python3", "-c", "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"],
    package: "python3-venv",
}];

/// For the walk of a client in Java, which is compiled when it is run.
pub const JDK: &[Program] = &[Program { command: &["javac", "--version"], package: "openjdk-17-jdk-headless" }];

/// Names everything that is missing at once, with the package to install.
pub fn check<'a>(more: impl IntoIterator<Item = &'a Program>) -> anyhow::Result<()> {
    let missing: Vec<_> = BUILD.iter().chain(more).filter(|program| !program.works()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|program| format!("`{}`", program.command.join(" "))).collect();
    let packages: Vec<_> = missing.iter().map(|program| program.package).collect();
    bail!("{} did not work; on Debian: apt-get install {}", names.join(", "), packages.join(" "))
}

/// Whether all of these work.
pub fn all_work(programs: &[Program]) -> bool {
    programs.iter().all(Program::works)
}

impl Program {
    fn works(&self) -> bool {
        let [program, arguments @ ..] = self.command else { return false };
        let run = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
        run.is_ok_and(|status| status.success())
    }
}
