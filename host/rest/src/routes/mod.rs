//! The resources, a module for each group: what they take, check and answer.

mod connectors;
mod create;
mod internal;
mod lifecycle;
mod loggers;
#[cfg(test)]
mod names;
mod offsets;
mod plugin_files;
mod plugins;
mod root;
mod sandbox;
mod tasks;
mod topics;

use axum::middleware::from_fn;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

pub(crate) use create::CreateRequest;

use crate::app::App;
use crate::document::{NotAcceptable, NotJson, may_answer};
use crate::negotiation::{answers_json, takes_json};

/// The worker, its connectors and its plugins.
pub(crate) fn regular() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(answering(routes!(root::info)))
        .routes(answering(routes!(root::health)))
        .routes(resource(routes!(connectors::list, create::create)))
        .routes(resource(routes!(connectors::info, lifecycle::delete)))
        .routes(resource(routes!(connectors::config, connectors::put_config, connectors::patch_config)))
        .routes(resource(routes!(connectors::status)))
        .routes(resource(routes!(lifecycle::pause)))
        .routes(resource(routes!(lifecycle::resume)))
        .routes(resource(routes!(lifecycle::stop)))
        .routes(resource(routes!(lifecycle::restart)))
        .routes(resource(routes!(tasks::list)))
        .routes(answering(routes!(internal::publish_tasks)))
        .routes(answering(routes!(internal::fence)))
        .routes(resource(routes!(tasks::status)))
        .routes(resource(routes!(tasks::restart)))
        .routes(resource(routes!(offsets::list, offsets::alter, offsets::reset)))
        .routes(resource(routes!(sandbox::show)))
        .routes(resource(routes!(topics::list)))
        .routes(resource(routes!(topics::reset)))
        .routes(resource(routes!(plugins::list)))
        .routes(resource(routes!(plugins::config)))
        .routes(resource(routes!(plugins::validate)))
        .routes(answering(routes!(plugin_files::list, plugin_files::install)))
}

/// Logging.
pub(crate) fn admin() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(resource(routes!(loggers::list)))
        .routes(resource(routes!(loggers::level, loggers::set)))
}

/// Speaks JSON in both directions.
fn resource((schemas, mut paths, methods): UtoipaMethodRouter<App>) -> UtoipaMethodRouter<App> {
    may_answer::<NotJson>(&mut paths);
    answering((schemas, paths, methods.route_layer(from_fn(takes_json))))
}

/// Answers in JSON, whatever the body of the request.
fn answering((schemas, mut paths, methods): UtoipaMethodRouter<App>) -> UtoipaMethodRouter<App> {
    may_answer::<NotAcceptable>(&mut paths);
    (schemas, paths, methods.route_layer(from_fn(answers_json)))
}
