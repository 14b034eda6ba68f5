//! What a connector asks of the sandbox, against what the operator allows.

use std::str::FromStr;
use std::time::Duration;

use bulkhead_model::RawConfig;

use crate::grant::{Ceiling, EnvName, Folder, Needs, NetworkRule, Policy, Rule};

/// Rules written out are the same rules, and what two of them have in common both cover. One in a line.
pub(crate) fn rules(text: &str) {
    properties_of::<Folder>(text);
    properties_of::<NetworkRule>(text);
    properties_of::<EnvName>(text);
}

fn properties_of<T: Rule + PartialEq + std::fmt::Debug>(text: &str) {
    let rules: Vec<T> = text.lines().filter_map(|line| T::from_str(line.trim()).ok()).take(8).collect();
    for a in &rules {
        assert_eq!(T::from_str(&a.to_string()).as_ref(), Ok(a));
        assert!(a.covers(a), "{a} doesn't cover itself");
        for b in &rules {
            if let Some(common) = a.common(b) {
                assert!(a.covers(&common) && b.covers(&common), "{a} and {b} have {common} in common");
            }
        }
    }
}

/// Nothing is granted that the ceiling doesn't cover.
pub(crate) fn grants(config: &RawConfig) {
    let folders = vec![Folder::from_str("/data:ro").expect("a rule")];
    let network = vec![NetworkRule::from_str("*.example.com:443").expect("a rule")];
    let needs = Needs { network: vec![NetworkRule::from_str("*:*").expect("a rule")], ..Needs::default() };
    let policy = Policy {
        memory: 64 << 20,
        max_memory: 128 << 20,
        files: Vec::new(),
        max_files: Ceiling::At(folders.clone()),
        network: Vec::new(),
        max_network: Ceiling::At(network.clone()),
        env: Vec::new(),
        max_env: Ceiling::Default,
        call_timeout: Duration::from_secs(1),
    };
    let Ok(grant) = policy.grant(&needs, config) else { return };
    assert!(grant.memory <= policy.max_memory && grant.env.is_empty());
    assert!(grant.files.iter().all(|folder| folders[0].covers(folder)), "{:?}", grant.files);
    assert!(grant.network.iter().all(|rule| network[0].covers(rule)), "{:?}", grant.network);
}
