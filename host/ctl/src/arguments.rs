//! The command line.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use serde::{Deserialize, Serialize};

/// Ask and steer a Connect worker by its REST interface.
#[derive(Debug, Args)]
pub struct Ctl {
    #[command(flatten)]
    pub options: Options,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Args)]
pub struct Options {
    /// Where the worker's REST interface is. Any worker of a cluster will do.
    #[arg(long, global = true, env = "BULKHEAD_URL", default_value = "http://127.0.0.1:8083")]
    pub url: String,
    /// Print what the worker answers, as one JSON document.
    #[arg(long, global = true)]
    pub json: bool,
    /// For workers behind basic authentication. Others can see arguments, but not the environment.
    #[arg(long, global = true, env = "BULKHEAD_USER", value_name = "NAME[:PASSWORD]", hide_env_values = true)]
    pub user: Option<Credentials>,
    /// For how many seconds to ask again while a rebalance is in the way, or to wait until a connector has stopped.
    #[arg(long, global = true, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub wait: Duration,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// All connectors with their states.
    List,
    /// The states of a connector and its tasks, and why they failed.
    Status { name: String },
    /// Create a connector.
    Create {
        /// `{"name", "config"}` in JSON, a JSON map or properties; `-` reads standard input.
        file: PathBuf,
        /// The state that it begins in.
        #[arg(long, ignore_case = true)]
        state: Option<State>,
        /// Where it begins: a file as `offsets get --json` prints it.
        #[arg(long, value_name = "FILE")]
        offsets: Option<PathBuf>,
    },
    /// The configuration of a connector.
    Config { name: String },
    /// Change single keys of a configuration.
    Patch {
        name: String,
        /// `KEY=VALUE` sets a key, `KEY-` removes it.
        #[arg(required = true, value_name = "KEY=VALUE|KEY-")]
        changes: Vec<Change>,
    },
    /// Check a configuration without creating anything. Ends with 1 if it has errors.
    Validate {
        /// As for `create`.
        file: PathBuf,
    },
    /// Let a connector and its tasks rest; they keep what they hold.
    Pause { name: String },
    /// Let a paused or stopped connector run.
    Resume { name: String },
    /// End a connector's tasks; its configuration and its offsets stay.
    Stop { name: String },
    /// Restart a connector.
    Restart {
        name: String,
        /// Its tasks too.
        #[arg(long)]
        include_tasks: bool,
        /// Only what is FAILED.
        #[arg(long)]
        only_failed: bool,
        /// Only this task.
        #[arg(long, value_name = "NUMBER", conflicts_with_all = ["include_tasks", "only_failed"])]
        task: Option<u32>,
    },
    /// Delete a connector; its offsets stay.
    Delete { name: String },
    /// How far a connector is.
    #[command(subcommand)]
    Offsets(Offsets),
    /// The topics that a connector has used.
    Topics { name: String },
    /// The connectors that can be created.
    #[command(args_conflicts_with_subcommands = true)]
    Plugins {
        /// Converters, transformations and predicates as well.
        #[arg(long)]
        all: bool,
        #[command(subcommand)]
        command: Option<Plugins>,
    },
    /// Show levels of loggers, or change one.
    Loggers {
        name: Option<String>,
        /// TRACE, DEBUG, INFO, WARN, ERROR, FATAL or OFF.
        level: Option<String>,
        /// Whose level to change.
        #[arg(long, requires = "level")]
        scope: Option<Scope>,
    },
    /// Limits, use and restarts of a connector's sandboxes.
    Sandbox { name: String },
    /// Put configuration, state and offsets of a connector into one bundle.
    Export {
        name: String,
        /// Standard output, unless it is given.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Stop the connector first, so that its offsets are final. It stays stopped here; the bundle has the state
        /// that it had before.
        #[arg(long)]
        stop: bool,
    },
    /// Create the connector of a bundle: it goes on where the exported one was.
    Import {
        /// As `export` has written it; `-` reads standard input.
        file: PathBuf,
        /// Another name than in the bundle.
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Another state than in the bundle.
        #[arg(long, ignore_case = true)]
        state: Option<State>,
    },
    /// A script that completes these commands in a shell.
    Completions { shell: Shell },
}

#[derive(Debug, Subcommand)]
pub enum Offsets {
    /// Show the committed offsets.
    Get { name: String },
    /// Change offsets of a stopped connector.
    Set {
        name: String,
        /// A file as `offsets get --json` prints it (`-` reads standard input) or, for a sink, where it is to go on
        /// reading.
        #[arg(required = true, value_name = "FILE|TOPIC:PARTITION=OFFSET")]
        offsets: Vec<OffsetArgument>,
        #[command(flatten)]
        stopping: Stopping,
    },
    /// Forget the offsets of a stopped connector.
    Reset {
        name: String,
        #[command(flatten)]
        stopping: Stopping,
    },
}

#[derive(Debug, Subcommand)]
pub enum Plugins {
    /// The files that plugins are in, on the one worker that is asked.
    Files,
    /// Install a plugin on the one worker that is asked, without restarting it.
    Install {
        /// A component; `-` reads standard input.
        file: PathBuf,
    },
}

#[derive(Clone, Copy, Debug, Args)]
pub struct Stopping {
    /// Stop the connector before, and give it back the state that it had after.
    #[arg(long)]
    pub stop_and_resume: bool,
}

/// What a connector is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum State {
    Running,
    Paused,
    Stopped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    Worker,
    Cluster,
}

/// Name and password, never shown.
#[derive(Clone)]
pub struct Credentials(pub String);

/// One key of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Set { key: String, value: String },
    Remove { key: String },
}

#[derive(Clone, Debug, PartialEq)]
pub enum OffsetArgument {
    Given(SinkOffset),
    File(PathBuf),
}

/// Where a sink goes on in a partition.
#[derive(Clone, Debug, PartialEq)]
pub struct SinkOffset {
    pub topic: String,
    pub partition: u32,
    pub offset: u64,
}

impl State {
    /// As in KIP-980, and as statuses say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Paused => "PAUSED",
            Self::Stopped => "STOPPED",
        }
    }
}

impl From<State> for &'static str {
    fn from(state: State) -> Self {
        state.name()
    }
}

impl TryFrom<String> for State {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::from_str(&text, true).map_err(|_| format!("`{text}` is not RUNNING, PAUSED or STOPPED"))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[hidden]")
    }
}

impl FromStr for Credentials {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(if text.contains(':') { text.to_owned() } else { format!("{text}:") }))
    }
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let change = match text.split_once('=') {
            Some((key, value)) => Self::Set { key: key.to_owned(), value: value.to_owned() },
            None => match text.strip_suffix('-') {
                Some(key) => Self::Remove { key: key.to_owned() },
                None => return Err("it is neither KEY=VALUE nor KEY-".to_owned()),
            },
        };
        match &change {
            Self::Set { key, .. } | Self::Remove { key } if key.is_empty() => Err("it has no key".to_owned()),
            Self::Set { .. } | Self::Remove { .. } => Ok(change),
        }
    }
}

impl FromStr for OffsetArgument {
    type Err = std::convert::Infallible;

    /// Whatever isn't an offset is a file.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(SinkOffset::parse(text).map_or_else(|| Self::File(text.into()), Self::Given))
    }
}

impl SinkOffset {
    fn parse(text: &str) -> Option<Self> {
        let (place, offset) = text.split_once('=')?;
        let (topic, partition) = place.rsplit_once(':')?;
        Some(Self { topic: topic.to_owned(), partition: partition.parse().ok()?, offset: offset.parse().ok()? })
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse::<u32>()
        .map(|seconds| Duration::from_secs(seconds.into()))
        .map_err(|_| "it is no number of seconds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_have_any_sign_and_a_key_is_never_empty() {
        let set = |key: &str, value: &str| Ok(Change::Set { key: key.to_owned(), value: value.to_owned() });
        assert_eq!("a=b=c-".parse(), set("a", "b=c-"));
        assert_eq!("a-=".parse(), set("a-", ""));
        assert_eq!("a-".parse(), Ok(Change::Remove { key: "a".to_owned() }));
        assert_eq!("a".parse::<Change>(), Err("it is neither KEY=VALUE nor KEY-".to_owned()));
        assert_eq!("-".parse::<Change>(), Err("it has no key".to_owned()));
        assert_eq!("=x".parse::<Change>(), Err("it has no key".to_owned()));
    }

    #[test]
    fn an_offset_of_a_sink_is_told_from_a_file() {
        let given = |text: &str| text.parse() == Ok(OffsetArgument::Given(SinkOffset::parse("t-1.x:0=5").unwrap()));
        assert!(given("t-1.x:0=5"));
        for file in ["-", "offsets.json", "t:0", "t:x=5", "t:0=-5", "t=5", "c:0=1=2"] {
            assert_eq!(file.parse(), Ok(OffsetArgument::File(file.into())));
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let credentials: Credentials = "me:secret".parse().unwrap();
        assert_eq!(format!("{credentials:?}"), "[hidden]");
        assert_eq!("me".parse::<Credentials>().unwrap().0, "me:");
    }
}
