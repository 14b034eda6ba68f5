//! Listeners: `http://host:port`.

use std::fmt;
use std::net::IpAddr;

use super::SettingsError;

/// An address to listen at. An empty host is any address of this machine, port 0 any free port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    pub host: String,
    pub port: u16,
}

impl Listener {
    /// The host to bind to.
    pub fn bind_host(&self) -> &str {
        if self.host.is_empty() { "0.0.0.0" } else { &self.host }
    }

    /// The host, if others can reach us by it: not if it stands for all addresses of this machine.
    pub(super) fn reachable_host(&self) -> Option<&str> {
        let all = self.host.is_empty() || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified());
        (!all).then_some(self.host.as_str())
    }

    /// Reads a comma list, in which there must be at least one.
    pub(super) fn parse_list(key: &'static str, text: &str) -> Result<Vec<Self>, SettingsError> {
        let listeners = super::list(text).map(|listener| Self::parse(key, listener)).collect::<Result<Vec<_>, _>>()?;
        if listeners.is_empty() {
            return Err(SettingsError::NoListener { key });
        }
        Ok(listeners)
    }

    fn parse(key: &'static str, text: &str) -> Result<Self, SettingsError> {
        let bad = || SettingsError::BadListener { key, listener: text.to_owned() };
        let (scheme, address) = text.split_once("://").ok_or_else(bad)?;
        if scheme.eq_ignore_ascii_case("https") {
            return Err(SettingsError::Tls { key, listener: text.to_owned() });
        }
        let (host, port) = address.rsplit_once(':').ok_or_else(bad)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let is_host = host.chars().all(|part| part.is_ascii_alphanumeric() || "-._:%".contains(part));
        if !scheme.eq_ignore_ascii_case("http") || !is_host {
            return Err(bad());
        }
        Ok(Self { host: host.to_owned(), port: port.parse().map_err(|_| bad())? })
    }
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}:{}", bracketed(&self.host), self.port)
    }
}

/// IPv6 addresses stand in brackets before a port.
pub(super) fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Vec<String>, String> {
        let listeners = Listener::parse_list("listeners", text).map_err(|error| error.to_string())?;
        Ok(listeners.iter().map(Listener::to_string).collect())
    }

    #[test]
    fn listeners_are_read_with_hosts_of_any_form() {
        let listeners = check("HTTP://:0, http://127.0.0.1:8083,http://[::1]:80").unwrap();
        assert_eq!(listeners, ["http://:0", "http://127.0.0.1:8083", "http://[::1]:80"]);
    }

    #[test]
    fn unusable_listeners_are_named() {
        let bad = |listener: &str| {
            format!("`{listener}` in `listeners` is no listener; it must look like `http://host:port`")
        };
        for listener in ["localhost:80", "http://h", "http://h:70000", "ftp://h:1", "http://a/b:1"] {
            assert_eq!(check(listener), Err(bad(listener)));
        }
        let none = "`listeners` lists no listener; use e.g. `listeners=http://0.0.0.0:8083`, or leave it out";
        assert_eq!(check(" ,"), Err(none.to_owned()));
        let tls = "`https://h:1` in `listeners` asks for TLS, which is not supported yet; \
                   use http:// behind a proxy that ends TLS";
        assert_eq!(check("https://h:1"), Err(tls.to_owned()));
    }
}
