//! Sockets.

use std::future::Future;
use std::io;

use axum::Router;
use tokio::net::TcpListener;

use crate::settings::Listener;

/// A listener's address could not be used.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("{listener} of `{key}` can't be opened: the port is in use (stop what uses it, or choose another port)")]
    InUse { key: &'static str, listener: Listener, source: io::Error },
    #[error("{listener} of `{key}` can't be opened: the host is not an address of this machine")]
    NotOurs { key: &'static str, listener: Listener, source: io::Error },
    #[error("{listener} of `{key}` can't be opened")]
    Other { key: &'static str, listener: Listener, source: io::Error },
}

/// Opens the port of a listener; `key` is the setting it comes from.
pub async fn bind(key: &'static str, listener: &Listener) -> Result<TcpListener, BindError> {
    TcpListener::bind((listener.bind_host(), listener.port)).await.map_err(|source| {
        let listener = listener.clone();
        match source.kind() {
            io::ErrorKind::AddrInUse => BindError::InUse { key, listener, source },
            io::ErrorKind::AddrNotAvailable => BindError::NotOurs { key, listener, source },
            _ => BindError::Other { key, listener, source },
        }
    })
}

/// Answers until `shutdown` completes, and then as long as open requests need: up to the request timeout,
/// so whoever is in a hurry drops the future.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_in_use_is_named_with_its_setting() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = taken.local_addr().unwrap().port();
        let listener = Listener { host: "127.0.0.1".to_owned(), port };
        let error = bind("listeners", &listener).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "http://127.0.0.1:{port} of `listeners` can't be opened: the port is in use \
                 (stop what uses it, or choose another port)"
            ),
        );
    }
}
