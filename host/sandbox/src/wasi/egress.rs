//! Which peers one instance may connect to.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::grant::{NetworkRule, PortPattern};

/// Addresses remembered of names that were looked up; a guest that looks up more starts afresh.
const MAX_RESOLVED: usize = 10_000;

/// The rules, and where their names led: a name's rule allows connecting to exactly the addresses that
/// it resolved to in this instance, so nobody can point an allowed name at a forbidden address later.
pub(crate) struct Egress {
    rules: Vec<NetworkRule>,
    resolved: Mutex<HashSet<(IpAddr, PortRule)>>,
}

/// A port of a rule, as the key of a set.
type PortRule = Option<u16>;

impl Egress {
    pub(crate) fn new(rules: Vec<NetworkRule>) -> Self {
        Self { rules, resolved: Mutex::default() }
    }

    /// Whether the guest may connect there.
    pub(crate) fn allows(&self, peer: SocketAddr) -> bool {
        let address = peer.ip().to_canonical();
        if self.rules.iter().any(|rule| rule.allows_address(address, peer.port())) {
            return true;
        }
        let resolved = self.resolved();
        resolved.contains(&(address, None)) || resolved.contains(&(address, Some(peer.port())))
    }

    /// Whether the guest may look the name up.
    pub(crate) fn allows_name(&self, name: &str) -> bool {
        self.rules.iter().any(|rule| rule.host.allows_name(name))
    }

    /// An allowed name led to this address.
    pub(crate) fn resolved_to(&self, name: &str, address: IpAddr) {
        let mut resolved = self.resolved();
        if resolved.len() >= MAX_RESOLVED {
            resolved.clear();
        }
        for rule in self.rules.iter().filter(|rule| rule.host.allows_name(name)) {
            let port = match rule.port {
                PortPattern::Any => None,
                PortPattern::One(port) => Some(port),
            };
            resolved.insert((address.to_canonical(), port));
        }
    }

    fn resolved(&self) -> MutexGuard<'_, HashSet<(IpAddr, PortRule)>> {
        self.resolved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn egress(rules: &[&str]) -> Egress {
        Egress::new(rules.iter().map(|rule| rule.parse().unwrap()).collect())
    }

    fn peer(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_name_allows_only_what_it_resolved_to_and_only_its_port() {
        let egress = egress(&["db.internal:5432"]);
        assert!(!egress.allows(peer("10.0.0.1:5432")));
        egress.resolved_to("db.internal", "10.0.0.1".parse().unwrap());
        assert!(egress.allows(peer("10.0.0.1:5432")));
        assert!(egress.allows(peer("[::ffff:10.0.0.1]:5432")));
        assert!(!egress.allows(peer("10.0.0.1:22")));
        assert!(!egress.allows(peer("10.0.0.2:5432")));
    }

    #[test]
    fn an_address_needs_no_name() {
        let egress = egress(&["127.0.0.0/8:*"]);
        assert!(egress.allows(peer("127.0.0.1:80")));
        assert!(!egress.allows(peer("128.0.0.1:80")));
        assert!(!egress.allows_name("localhost"));
        assert!(egress.allows_name("127.0.0.1"));
    }
}
