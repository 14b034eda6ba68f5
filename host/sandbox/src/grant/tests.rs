use super::*;

fn rules<T: Rule>(text: &str) -> Vec<T> {
    list(text).map(|rule| rule.parse().unwrap()).collect()
}

fn policy() -> Policy {
    Policy {
        memory: 64 << 20,
        max_memory: 512 << 20,
        files: Vec::new(),
        max_files: Ceiling::At(rules("/data:rw, /etc/ssl:ro")),
        network: Vec::new(),
        max_network: Ceiling::At(rules("*.example.com:443, 10.0.0.0/8:*")),
        env: rules("LANG"),
        max_env: Ceiling::Default,
        call_timeout: Duration::from_secs(30),
    }
}

fn needs_all() -> Needs {
    Needs { files: Some(Access::ReadWrite), network: rules("*:*"), env: rules("LANG, HOME"), initial_memory: 2 << 20 }
}

/// The grant, or the refusals, as one readable line each.
fn check(needs: &Needs, config: &[(&str, &str)]) -> String {
    let config: RawConfig = config.iter().copied().collect();
    match policy().grant(needs, &config) {
        Ok(grant) => format!(
            "memory={} files={} network={} env={} timeout={:?}",
            mebibytes(grant.memory),
            joined(&grant.files),
            joined(&grant.network),
            joined(&grant.env),
            grant.call_timeout
        ),
        Err(refusals) => {
            let lines: Vec<_> = refusals.iter().map(|no| format!("{}: {}", no.key, no.message)).collect();
            lines.join("\n")
        }
    }
}

fn joined<T: Display>(rules: &[T]) -> String {
    let rules: Vec<_> = rules.iter().map(T::to_string).collect();
    format!("[{}]", rules.join(" "))
}

#[test]
fn a_connector_gets_what_it_asks_for_below_the_ceiling_and_the_default_else() {
    for (config, expected) in [
        (&[][..], "memory=64 MiB files=[] network=[] env=[LANG] timeout=30s"),
        (
            &[("sandbox.memory", "128MiB"), ("sandbox.files", "/data/in:ro,/data/out/:rw")],
            "memory=128 MiB files=[/data/in:ro /data/out:rw] network=[] env=[LANG] timeout=30s",
        ),
        (
            &[("sandbox.network", "db.example.com:443, 10.1.0.0/16:5432"), ("sandbox.env", "")],
            "memory=64 MiB files=[] network=[db.example.com:443 10.1.0.0/16:5432] env=[] timeout=30s",
        ),
        (&[("sandbox.call.timeout.ms", "500")], "memory=64 MiB files=[] network=[] env=[LANG] timeout=500ms"),
    ] {
        assert_eq!(check(&needs_all(), config), expected);
    }
}

#[test]
fn what_is_above_the_ceiling_is_refused_with_both_values() {
    for (key, value, expected) in [
        (MEMORY, "1GiB", "1024 MiB are asked for, 512 MiB are allowed (`sandbox.max.memory`)"),
        (MEMORY, "lots", "`lots` is no size (bytes, or a number with KiB, MiB or GiB)"),
        (
            MEMORY,
            "1MiB",
            "the plugin needs 2 MiB to start, 1 MiB are allowed (`sandbox.memory` may ask for up to 512 MiB)",
        ),
        (FILES, "/etc/ssl:rw", "`/etc/ssl:rw` is asked for, allowed: `/data:rw`, `/etc/ssl:ro` (`sandbox.max.files`)"),
        (
            FILES,
            "/database:ro",
            "`/database:ro` is asked for, allowed: `/data:rw`, `/etc/ssl:ro` (`sandbox.max.files`)",
        ),
        (FILES, "/data/../etc:ro", "`/data/../etc:ro` is no folder rule: the path must not contain `..`"),
        (
            NETWORK,
            "*:443",
            "`*:443` is asked for, allowed: `*.example.com:443`, `10.0.0.0/8:*` (`sandbox.max.network`)",
        ),
        (
            NETWORK,
            "example.com:443",
            "`example.com:443` is asked for, allowed: `*.example.com:443`, `10.0.0.0/8:*` (`sandbox.max.network`)",
        ),
        (ENV, "HOME", "`HOME` is asked for, allowed: `LANG` (`sandbox.max.env`)"),
        (CALL_TIMEOUT, "-1", "`-1` is no number of milliseconds above 0"),
    ] {
        assert_eq!(check(&needs_all(), &[(key, value)]), format!("{key}: {expected}"), "{value}");
    }
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let refused = check(&needs_all(), &[(MEMORY, "1GiB"), (FILES, "/root:ro"), (ENV, "PATH")]);
    assert_eq!(refused.lines().count(), 3, "{refused}");
}

#[test]
fn a_plugin_gets_no_more_than_it_needs() {
    let needs = Needs {
        files: Some(Access::ReadOnly),
        network: rules("api.example.com:443"),
        env: Vec::new(),
        initial_memory: 0,
    };
    let asked = &[("sandbox.files", "/data:rw"), ("sandbox.network", "*.example.com:443")];
    assert_eq!(check(&needs, asked), "memory=64 MiB files=[/data:ro] network=[api.example.com:443] env=[] timeout=30s");
    assert_eq!(check(&Needs::default(), asked), "memory=64 MiB files=[] network=[] env=[] timeout=30s");
}

#[test]
fn without_a_ceiling_anything_may_be_asked_for() {
    let policy = Policy { max_files: Ceiling::None, ..policy() };
    let config = RawConfig::from([("sandbox.files", "/:rw")]);
    let grant = policy.grant(&needs_all(), &config).unwrap();
    assert_eq!(grant.files, rules::<Folder>("/:rw"));
}

#[test]
fn names_and_addresses_are_told_apart() {
    let allows_name = |rule: &str, name: &str| rule.parse::<NetworkRule>().unwrap().host.allows_name(name);
    for (rule, name, allowed) in [
        ("db:1", "db", true),
        ("db:1", "DB.", true),
        ("db:1", "db2", false),
        ("*.example.com:1", "a.b.example.com", true),
        ("*.example.com:1", "example.com", false),
        ("*.example.com:1", "evilexample.com", false),
        ("10.0.0.0/8:1", "10.1.2.3", true),
        ("10.0.0.0/8:1", "localhost", false),
        ("[fd00::]/8:1", "[fd12::1]", true),
        ("*:1", "10.1.2.3", true),
        ("*.3:1", "10.1.2.3", false),
    ] {
        assert_eq!(allows_name(rule, name), allowed, "{rule} {name}");
    }
    let allows = |rule: &str, address: &str, port| {
        let rule: NetworkRule = rule.parse().unwrap();
        rule.allows_address(address.parse().unwrap(), port)
    };
    assert!(allows("10.0.0.0/8:*", "10.255.0.1", 9));
    assert!(allows("10.0.0.0/8:*", "::ffff:10.0.0.1", 9));
    assert!(!allows("10.0.0.0/8:80", "10.0.0.1", 81));
    assert!(!allows("10.0.0.0/8:*", "11.0.0.1", 9));
    assert!(!allows("db:5432", "10.0.0.1", 5432));
}

#[test]
fn a_name_may_end_in_the_dot_of_the_root() {
    for (written, shown) in [("db.example.com.:1", "db.example.com:1"), ("*.example.com.:*", "*.example.com:*")] {
        let rule: NetworkRule = written.parse().unwrap();
        assert_eq!(rule.to_string(), shown);
        assert!(rule.covers(&rule));
    }
    for none in [".:1", "*.:1", "*..:*"] {
        assert!(none.parse::<NetworkRule>().is_err(), "{none}");
    }
}
