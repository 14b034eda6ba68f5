//! Peers that may be connected to.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::Rule;

/// Hosts and ports, written `host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkRule {
    pub host: HostPattern,
    pub port: PortPattern,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPattern {
    /// `*`
    Any,
    /// `*.example.com`: names that end so, not the name itself. Kept as `.example.com`.
    Below(String),
    Name(String),
    /// An address, or a range of them in CIDR notation.
    Range {
        address: IpAddr,
        prefix: u8,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortPattern {
    Any,
    One(u16),
}

impl NetworkRule {
    /// Whether an address may be connected to by its number, without a name that led to it.
    pub fn allows_address(&self, address: IpAddr, port: u16) -> bool {
        self.port.allows(port) && self.host.allows_address(address)
    }
}

impl HostPattern {
    /// Whether a name may be looked up. Names of addresses (`10.0.0.1`) count as addresses.
    pub fn allows_name(&self, name: &str) -> bool {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        if let Ok(address) = name.trim_matches(['[', ']']).parse() {
            return self.allows_address(address);
        }
        match self {
            Self::Any => true,
            Self::Below(ending) => name.ends_with(ending.as_str()) && name.len() > ending.len(),
            Self::Name(one) => name == *one,
            Self::Range { .. } => false,
        }
    }

    fn allows_address(&self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Below(_) | Self::Name(_) => false,
            Self::Range { address: base, prefix } => in_range(address.to_canonical(), *base, *prefix),
        }
    }

    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) => true,
            (Self::Below(ending), Self::Below(other)) => other.ends_with(ending.as_str()),
            (Self::Below(_) | Self::Name(_), Self::Name(name)) => self.allows_name(name),
            (Self::Range { address, prefix }, Self::Range { address: other, prefix: longer }) => {
                longer >= prefix && in_range(*other, *address, *prefix)
            }
            (Self::Below(_), Self::Any | Self::Range { .. })
            | (Self::Name(_), Self::Any | Self::Below(_) | Self::Range { .. })
            | (Self::Range { .. }, Self::Any | Self::Below(_) | Self::Name(_)) => false,
        }
    }
}

impl PortPattern {
    pub fn allows(self, port: u16) -> bool {
        match self {
            Self::Any => true,
            Self::One(one) => one == port,
        }
    }

    fn covers(self, other: Self) -> bool {
        match (self, other) {
            (Self::Any, _) => true,
            (Self::One(one), Self::One(other)) => one == other,
            (Self::One(_), Self::Any) => false,
        }
    }
}

impl Rule for NetworkRule {
    fn covers(&self, other: &Self) -> bool {
        self.host.covers(&other.host) && self.port.covers(other.port)
    }

    /// Of two host patterns that have something in common, one covers the other; the same goes for
    /// ports.
    fn common(&self, other: &Self) -> Option<Self> {
        let host = if self.host.covers(&other.host) {
            &other.host
        } else if other.host.covers(&self.host) {
            &self.host
        } else {
            return None;
        };
        let port = if self.port.covers(other.port) {
            other.port
        } else if other.port.covers(self.port) {
            self.port
        } else {
            return None;
        };
        Some(Self { host: host.clone(), port })
    }
}

/// Whether the first `prefix` bits of two addresses of one family agree.
fn in_range(address: IpAddr, base: IpAddr, prefix: u8) -> bool {
    let differing = match (address, base) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
    };
    differing >= u32::from(prefix)
}

impl FromStr for NetworkRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |why: &str| format!("`{text}` is no network rule: {why}");
        let (host, port) = text.rsplit_once(':').ok_or_else(|| refused("`host:port` expected"))?;
        let port = match port {
            "*" => PortPattern::Any,
            port => PortPattern::One(port.parse().map_err(|_| refused("the port must be a number or `*`"))?),
        };
        let host = parse_host(host).ok_or_else(|| {
            refused("the host must be a name, `*.name`, an address (IPv6 in brackets), a CIDR range or `*`")
        })?;
        Ok(Self { host, port })
    }
}

fn parse_host(text: &str) -> Option<HostPattern> {
    if text == "*" {
        return Some(HostPattern::Any);
    }
    // Names are looked up without the dot that may end them.
    let text = text.trim_end_matches('.');
    if let Some(range) = parse_range(text) {
        return Some(range);
    }
    let (name, below) = match text.strip_prefix('*') {
        Some(ending) => (ending.strip_prefix('.')?, true),
        None => (text, false),
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if name.is_empty() || !name.chars().all(fits) {
        return None;
    }
    let name = name.to_ascii_lowercase();
    Some(if below { HostPattern::Below(format!(".{name}")) } else { HostPattern::Name(name) })
}

/// `10.0.0.1`, `10.0.0.0/8`, `[::1]` or `[fd00::]/8`.
fn parse_range(text: &str) -> Option<HostPattern> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix.parse::<u8>().ok()?)),
        None => (text, None),
    };
    let bracketed = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = match bracketed {
        Some(address) => IpAddr::V6(address.parse().ok()?),
        None => IpAddr::V4(address.parse().ok()?),
    };
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let prefix = prefix.unwrap_or(bits);
    (prefix <= bits).then_some(HostPattern::Range { address, prefix })
}

impl fmt::Display for NetworkRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Below(ending) => write!(f, "*{ending}"),
            Self::Name(name) => f.write_str(name),
            Self::Range { address, prefix } => {
                match address {
                    IpAddr::V4(address) => write!(f, "{address}")?,
                    IpAddr::V6(address) => write!(f, "[{address}]")?,
                }
                let whole = if address.is_ipv4() { 32 } else { 128 };
                if *prefix < whole { write!(f, "/{prefix}") } else { Ok(()) }
            }
        }
    }
}

impl fmt::Display for PortPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::One(port) => port.fmt(f),
        }
    }
}
