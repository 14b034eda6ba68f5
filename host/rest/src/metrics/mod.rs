//! `GET /metrics`: what a worker counts, in the text format of OpenMetrics, which Prometheus reads.
//!
//! What is counted once and for all lives in [`Metrics`]; what is true of the cluster now is made from the
//! view at each scrape, so that the series of a connector end with it.
//!
//! | Metric | Labels | |
//! |---|---|---|
//! | `bulkhead_rest_requests_total` | method, route, status | requests answered |
//! | `bulkhead_rest_request_duration_seconds` | method, route | histogram of the time that took |
//! | `bulkhead_refused_records_total` | topic | records of internal topics that can't be read |
//! | `bulkhead_rebalances_total` | | completed since the worker started |
//! | `bulkhead_generation` | | of the group, once there is one |
//! | `bulkhead_leader` | | 1 if this worker is the leader |
//! | `bulkhead_settled` | | 1 if all that is assigned here runs, and no rebalance is due |
//! | `bulkhead_{connector,task}_state` | connector, task | 0 unassigned, 1 running, 2 paused, 3 failed, 4 restarting, 5 stopped |
//! | `bulkhead_{connector,task}_restarts` | connector, task | automatic ones since it last ran quietly for a while |
//! | `bulkhead_{connector,task}_memory_bytes` | connector, task | of its sandbox |
//! | `bulkhead_{connector,task}_cpu_seconds_total` | connector, task | since it started |
//!
//! States are those of all connectors of the cluster, whichever worker is asked; the last three are
//! known of this worker's own instances only.

mod counted;
mod now;
mod requests;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::registry::Registry;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::error::Error;
use now::Now;

pub use counted::Metrics;
pub(crate) use requests::{count, note_route};

/// Beside the resources of every listener, admin listeners too.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(scrape))
}

#[utoipa::path(
    get, path = "/metrics", operation_id = "getMetrics",
    responses((status = 200, description = "OpenMetrics.", body = String, content_type = "application/openmetrics-text")),
)]
async fn scrape(State(app): State<App>) -> Result<Response, Error> {
    let text = text(&app).map_err(|_| Error::Internal("the metrics could not be written".to_owned()))?;
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

fn text(app: &App) -> Result<String, fmt::Error> {
    let mut text = String::new();
    encode_registry(&mut text, app.metrics().registry())?;
    let mut now = Registry::default();
    now.register_collector(Box::new(Now { view: app.view(), sandbox: Arc::clone(app.sandbox()) }));
    encode_registry(&mut text, &now)?;
    encode_eof(&mut text)?;
    Ok(text)
}
