//! Requests, counted by what they ask for, not by whom they ask about.

use std::sync::{Arc, OnceLock};

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;

use crate::app::App;

/// What a client may invent has one label for all.
const OTHER: &str = "other";

/// The route of a request, left here once it is found.
#[derive(Clone, Default)]
struct Route(Arc<OnceLock<MatchedPath>>);

/// Counts a request when it is answered.
pub(crate) async fn count(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let (began, method, route) = (Instant::now(), label(request.method()), Route::default());
    request.extensions_mut().insert(route.clone());
    let response = next.run(request).await;
    let route = route.0.get().map_or(OTHER, MatchedPath::as_str);
    app.metrics().answered(method, route, response.status(), began.elapsed());
    response
}

/// Tells [`count`], which stands before the routes, where the request went.
pub(crate) async fn note_route(request: Request, next: Next) -> Response {
    let extensions = request.extensions();
    if let (Some(Route(slot)), Some(path)) = (extensions.get(), extensions.get::<MatchedPath>()) {
        slot.get_or_init(|| path.clone());
    }
    next.run(request).await
}

fn label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => OTHER,
    }
}
