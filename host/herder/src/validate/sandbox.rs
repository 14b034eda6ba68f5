//! The keys by which a connector asks for more than the sandbox gives by default. Whether it may have
//! it is the worker's verdict.

use bulkhead_model::config::{ConfigKey, ConfigType, DefaultValue, Importance, Validator, Width};

const GROUP: &str = "Sandbox";

pub(super) fn keys() -> Vec<ConfigKey> {
    let key = |order, name: &str, kind, display: &str, documentation: &str| {
        ConfigKey::new(name, kind, DefaultValue::Null, Importance::Medium, documentation).with_group(
            GROUP,
            order,
            Width::Medium,
            display,
        )
    };
    let positive = || Validator::Range { min: Some("1".to_owned()), max: None };
    vec![
        key(
            1,
            "sandbox.memory",
            ConfigType::String,
            "Memory",
            "Bytes of memory that the connector and each task may use.",
        ),
        key(2, "sandbox.files", ConfigType::List, "Files", "Folders that may be used, as path:ro or path:rw."),
        key(
            3,
            "sandbox.network",
            ConfigType::List,
            "Network",
            "Hosts that may be connected to, as host:port; a host may be *.name, an address or a range of addresses, \
             and a port may be *.",
        ),
        key(
            4,
            "sandbox.env",
            ConfigType::List,
            "Environment",
            "Names of the worker's environment variables that are passed on.",
        ),
        key(
            5,
            "sandbox.call.timeout.ms",
            ConfigType::Long,
            "Call time-out",
            "How long a call into the plugin may take, other than poll and put.",
        )
        .with_validator(positive()),
        key(
            6,
            "sandbox.cpu.burst.ms",
            ConfigType::Long,
            "CPU burst",
            "CPU time that one call into the plugin may use.",
        )
        .with_validator(positive()),
        key(
            7,
            "restart.policy",
            ConfigType::String,
            "Restart policy",
            "Whether the connector and its tasks are restarted by themselves when they fail: none, or on-failure. \
             Without it, what the worker's configuration says.",
        )
        .with_validator(Validator::OneOfIgnoringCase(vec!["none".to_owned(), "on-failure".to_owned()])),
        key(
            8,
            "restart.backoff.ms",
            ConfigType::Long,
            "Restart back-off",
            "How long the first automatic restart waits; each one after it waits twice as long.",
        )
        .with_validator(positive()),
        key(
            9,
            "restart.backoff.max.ms",
            ConfigType::Long,
            "Longest restart back-off",
            "How long an automatic restart waits at most.",
        )
        .with_validator(positive()),
        key(
            10,
            "restart.reset.ms",
            ConfigType::Long,
            "Restart reset",
            "After running so long without a failure, an instance counts as one that never failed.",
        )
        .with_validator(positive()),
    ]
}
