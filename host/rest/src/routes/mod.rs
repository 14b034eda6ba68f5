//! The resources, a module for each group: what they take, check and answer.

mod connectors;
mod create;
mod internal;
mod lifecycle;
mod loggers;
#[cfg(test)]
mod names;
mod offsets;
mod plugins;
mod root;
mod sandbox;
mod tasks;
mod topics;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{MethodRouter, get, post, put};

use crate::app::App;
use crate::negotiation::{answers_json, takes_json};

/// The worker, its connectors and its plugins.
pub(crate) fn regular() -> Router<App> {
    Router::new()
        .route("/", answering(get(root::info)))
        .route("/health", answering(get(root::health)))
        .route("/connectors", resource(get(connectors::list).post(create::create)))
        .route("/connectors/{connector}", resource(get(connectors::info).delete(lifecycle::delete)))
        .route(
            "/connectors/{connector}/config",
            resource(get(connectors::config).put(connectors::put_config).patch(connectors::patch_config)),
        )
        .route("/connectors/{connector}/status", resource(get(connectors::status)))
        .route("/connectors/{connector}/pause", resource(put(lifecycle::pause)))
        .route("/connectors/{connector}/resume", resource(put(lifecycle::resume)))
        .route("/connectors/{connector}/stop", resource(put(lifecycle::stop)))
        .route("/connectors/{connector}/restart", resource(post(lifecycle::restart)))
        .route(
            "/connectors/{connector}/tasks",
            answering(get(tasks::list).route_layer(from_fn(takes_json)).post(internal::publish_tasks)),
        )
        .route("/connectors/{connector}/fence", answering(put(internal::fence)))
        .route("/connectors/{connector}/tasks/{task}/status", resource(get(tasks::status)))
        .route("/connectors/{connector}/tasks/{task}/restart", resource(post(tasks::restart)))
        .route(
            "/connectors/{connector}/offsets",
            resource(get(offsets::list).patch(offsets::alter).delete(offsets::reset)),
        )
        .route("/connectors/{connector}/sandbox", resource(get(sandbox::show)))
        .route("/connectors/{connector}/topics", resource(get(topics::list)))
        .route("/connectors/{connector}/topics/reset", resource(put(topics::reset)))
        .route("/connector-plugins", resource(get(plugins::list)))
        .route("/connector-plugins/{plugin}/config", resource(get(plugins::config)))
        .route("/connector-plugins/{plugin}/config/validate", resource(put(plugins::validate)))
}

/// Logging.
pub(crate) fn admin() -> Router<App> {
    Router::new()
        .route("/admin/loggers", resource(get(loggers::list)))
        .route("/admin/loggers/{logger}", resource(get(loggers::level).put(loggers::set)))
}

/// Speaks JSON in both directions.
fn resource(methods: MethodRouter<App>) -> MethodRouter<App> {
    answering(methods.route_layer(from_fn(takes_json)))
}

/// Answers in JSON, whatever the body of the request.
fn answering(methods: MethodRouter<App>) -> MethodRouter<App> {
    methods.route_layer(from_fn(answers_json))
}
