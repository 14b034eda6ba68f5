//! Standard output and standard error as WASI wants them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use super::Stream;
use crate::instance::Shared;

/// As much as a guest may write before it asks again.
const PERMIT: usize = 64 << 10;

/// One of the two streams. Writing never waits: lines over the rate are dropped.
#[derive(Clone)]
pub(crate) struct Stdio {
    shared: Arc<Shared>,
    stream: Stream,
}

impl Stdio {
    pub(crate) fn new(shared: &Arc<Shared>, stream: Stream) -> Self {
        Self { shared: Arc::clone(shared), stream }
    }

    fn take(&self, bytes: &[u8]) {
        self.shared.output.write(self.stream, bytes);
    }
}

impl IsTerminal for Stdio {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Stdio {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl AsyncWrite for Stdio {
    fn poll_write(self: Pin<&mut Self>, _context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.take(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl OutputStream for Stdio {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }
}

impl Pollable for Stdio {
    /// The trait is written with `async_trait`, whose methods look like this inside.
    fn ready<'a, 'b>(&'a mut self) -> Pin<Box<dyn Future<Output = ()> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(std::future::ready(()))
    }
}
