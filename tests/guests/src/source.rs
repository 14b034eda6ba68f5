//! The hostile source: its modes, and when they strike.

use bulkhead_sdk::prelude::*;

use crate::malformed::{self, Oversize, Wrong};
use crate::schemas::{self, BadSchema};
use crate::well_behaved::WellBehaved;
use crate::{death, flood, modes, stuck};

modes! {
    /// What the source does. Where a name doesn't say when, it is in `poll`, after `after` good ones.
    Mode {
        /// One record each `interval.ms`.
        Ok = "ok",
        /// Batches of `batch.records`, as fast as they are taken.
        Tick = "tick",
        /// A record each `interval.ms`, and `stop` never returns.
        SpinStop = "spin-stop",

        Spin = "spin",
        SpinStart = "spin-start",
        SpinValidate = "spin-validate",
        /// Sleeps for an hour and hears nothing.
        BlockPoll = "block-poll",

        /// Allocates 4 MiB a step, without end.
        Oom = "oom",
        Recursion = "recursion",
        RecursionStart = "recursion-start",
        RecursionConnectorStart = "recursion-connector-start",
        Exit = "exit",
        ExitStart = "exit-start",
        ExitConnectorStart = "exit-connector-start",
        Abort = "abort",
        AbortStart = "abort-start",
        AbortConnectorStart = "abort-connector-start",
        Unreachable = "unreachable",
        UnreachableStart = "unreachable-start",
        UnreachableConnectorStart = "unreachable-connector-start",
        PanicPoll = "panic-poll",
        PanicStart = "panic-start",
        PanicConnectorStart = "panic-connector-start",
        PanicValidate = "panic-validate",

        LogFlood = "log-flood",
        StdoutFlood = "stdout-flood",
        /// Registers one schema after the other.
        SchemaFlood = "schema-flood",

        /// A batch over the limits; `variant` is `records` or `bytes`.
        HugeBatch = "huge-batch",
        /// A batch whose columns don't fit together; `variant` says which.
        OutOfBounds = "out-of-bounds",
        /// A CBOR value nested 100,000 deep.
        DeepValue = "deep-value",
        /// A malformed or unknown schema; `variant` says which.
        BadSchema = "bad-schema",

        /// Fails after one record, unless it was started with a committed offset.
        FailOnce = "fail-once",
        /// `times` retriable errors, then well.
        Retriable = "retriable",
        StartError = "start-error",
        ConfigError = "config-error",
        ConnectorError = "connector-error",

        NoTasks = "no-tasks",
        /// Ten tasks more than are allowed.
        ManyTasks = "many-tasks",
    }
}

/// A source that misbehaves on request.
#[derive(Clone, Debug, Config)]
pub(crate) struct Settings {
    /// What it does.
    #[config(default = "ok")]
    pub(crate) mode: Mode,
    /// Which kind of it, for modes that come in several.
    pub(crate) variant: Option<String>,
    /// Topic to write to.
    #[config(default = "hostile")]
    pub(crate) topic: String,
    /// Milliseconds between two good records.
    #[config(default = 200)]
    pub(crate) interval_ms: u32,
    /// Good polls before the first bad one.
    #[config(default = 0)]
    pub(crate) after: u32,
    /// How often, for modes that stop misbehaving.
    #[config(default = 3)]
    pub(crate) times: u32,
    /// Records in a batch of `tick`.
    #[config(default = 1000)]
    pub(crate) batch_records: u32,
    /// Bytes of a value of `tick`.
    #[config(default = 100)]
    pub(crate) value_bytes: u32,
}

impl Settings {
    fn variant<T: bulkhead_sdk::config::Setting>(&self) -> Result<T> {
        T::read(self.variant.as_deref().unwrap_or_default()).map_err(Error::config("variant"))
    }
}

/// The connector.
#[derive(Debug)]
pub(crate) struct Hostile {
    mode: Mode,
}

impl SourceConnector for Hostile {
    type Config = Settings;

    async fn start(settings: Settings) -> Result<Self> {
        match settings.mode {
            Mode::ExitConnectorStart => death::exit(),
            Mode::AbortConnectorStart => std::process::abort(),
            Mode::UnreachableConnectorStart => death::unreachable(),
            Mode::PanicConnectorStart => panic!("a panic in the connector's start"),
            Mode::RecursionConnectorStart => {
                death::recursion();
                Ok(Self { mode: settings.mode })
            }
            Mode::ConnectorError => Err(Error::failed("the connector fails to start, as it was asked to")),
            mode => Ok(Self { mode }),
        }
    }

    async fn task_configs(&mut self, max_tasks: u32) -> Result<Vec<RawConfig>> {
        let count = match self.mode {
            Mode::NoTasks => 0,
            Mode::ManyTasks => max_tasks + 10,
            _ => max_tasks,
        };
        Ok((0..count).map(|number| RawConfig::new().with("number", number)).collect())
    }

    async fn validate(config: &RawConfig, _verdict: &mut Verdict) -> Result<()> {
        match config.get("mode") {
            Some("spin-validate") => stuck::spin(),
            Some("panic-validate") => panic!("a panic in validate"),
            _ => Ok(()),
        }
    }
}

/// A task.
#[derive(Debug)]
pub(crate) struct HostileTask {
    settings: Settings,
    good: WellBehaved,
    polls: u32,
}

impl SourceTask for HostileTask {
    type Config = Settings;

    async fn start(settings: Settings, offsets: &Offsets) -> Result<Self> {
        match settings.mode {
            Mode::SpinStart => stuck::spin(),
            Mode::ExitStart => death::exit(),
            Mode::AbortStart => std::process::abort(),
            Mode::UnreachableStart => death::unreachable(),
            Mode::RecursionStart => death::recursion(),
            Mode::PanicStart => panic!("a panic in the task's start"),
            Mode::StartError => return Err(Error::failed("the task fails to start, as it was asked to")),
            Mode::ConfigError => return Err(Error::config("mode")("this mode is refused, as it asks to be")),
            _ => {}
        }
        let good = WellBehaved::start(&settings, offsets)?;
        Ok(Self { settings, good, polls: 0 })
    }

    async fn poll(&mut self, batch: &mut Batch, wait: Wait) -> Result<()> {
        self.polls += 1;
        if self.polls <= self.settings.after {
            return self.good.record(batch, &wait).await;
        }
        match self.settings.mode {
            Mode::Tick => self.good.tick(batch, &self.settings),

            Mode::Spin => stuck::spin(),
            Mode::BlockPoll => stuck::block(),

            Mode::Oom => death::out_of_memory(),
            Mode::Recursion => death::recursion(),
            Mode::Exit => death::exit(),
            Mode::Abort => std::process::abort(),
            Mode::Unreachable => death::unreachable(),
            Mode::PanicPoll => panic!("a panic in poll"),

            Mode::LogFlood => flood::log(),
            Mode::StdoutFlood => flood::stdout(),
            Mode::SchemaFlood => return flood::schemas(),

            Mode::HugeBatch => malformed::huge(batch, self.settings.variant::<Oversize>()?),
            Mode::OutOfBounds => batch.send_unchecked(malformed::out_of_bounds(self.settings.variant::<Wrong>()?)),
            Mode::DeepValue => batch.send_unchecked(malformed::deep_value()),
            Mode::BadSchema => return schemas::bad(batch, self.settings.variant::<BadSchema>()?),

            Mode::FailOnce if self.polls > self.settings.after + 1 && !self.good.resumed() => {
                return Err(Error::failed("the task fails once, as it was asked to"));
            }
            Mode::Retriable if self.polls <= self.settings.after + self.settings.times => {
                return Err(Error::retriable(format!("not yet, at the {}. try", self.polls - self.settings.after)));
            }
            _ => return self.good.record(batch, &wait).await,
        }
        Ok(())
    }

    async fn stop(&mut self) -> Result<()> {
        match self.settings.mode {
            Mode::SpinStop => stuck::spin(),
            _ => Ok(()),
        }
    }
}
