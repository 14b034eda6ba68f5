//! The client against a server that answers what it is told to.

#![allow(clippy::unwrap_used)]

mod failures;
mod fake;
mod requests;
mod tls;
