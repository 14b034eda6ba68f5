//! From a request to its resource, with what all resources share.

use std::any::Any;
use std::sync::Arc;
use std::time::SystemTime;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tower::Layer;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;

use crate::app::{App, Herder};
use crate::document::with_document;
use crate::error::Error;
use crate::forward::{Client, forward};
use crate::metrics::{self, Metrics};
use crate::ports::{HerderHandle, Loggers, PluginFiles, SandboxView, ServerInfo};
use crate::settings::{AdminListeners, ResponseHeader, Settings};
use crate::{cors, path, routes};

/// Which listeners a router is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resources {
    /// Those of `listeners`: the worker, connectors and plugins; logging too unless `admin.listeners` is set.
    Regular,
    /// Those of `admin.listeners`: logging only.
    Admin,
}

/// The interface of one worker; each of its listeners gets a router from it.
#[derive(Clone)]
pub struct Interface {
    pub(crate) herder: Arc<dyn Herder>,
    pub(crate) loggers: Arc<dyn Loggers>,
    pub(crate) server: ServerInfo,
    pub(crate) settings: Settings,
    pub(crate) client: Client,
    pub(crate) sandbox: Arc<dyn SandboxView>,
    pub(crate) plugin_files: Arc<dyn PluginFiles>,
    pub(crate) metrics: Metrics,
}

impl Interface {
    pub fn new(
        herder: impl HerderHandle,
        loggers: Arc<dyn Loggers>,
        server: ServerInfo,
        settings: Settings,
        sandbox: Arc<dyn SandboxView>,
        plugin_files: Arc<dyn PluginFiles>,
    ) -> Self {
        Self {
            herder: Arc::new(herder),
            loggers,
            server,
            settings,
            client: Client::default(),
            sandbox,
            plugin_files,
            metrics: Metrics::default(),
        }
    }

    /// Counts here, where others count too.
    #[must_use]
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }
    }

    /// What a listener serves.
    pub fn router(&self, resources: Resources) -> Router {
        let app = App::new(self);
        let regular = match (resources, &self.settings.admin_listeners) {
            (Resources::Admin, _) => return shared(routes::admin(), app),
            (Resources::Regular, AdminListeners::Same) => routes::regular().merge(routes::admin()),
            (Resources::Regular, AdminListeners::Nowhere | AdminListeners::Own(_)) => routes::regular(),
        };
        let mut router = shared(regular, app);
        if let Some(cors) = &self.settings.cors {
            router = router.layer(from_fn_with_state(Arc::new(cors.clone()), cors::allow));
        }
        if !self.settings.response_headers.is_empty() {
            let headers: Arc<[_]> = self.settings.response_headers.as_slice().into();
            router = router.layer(from_fn_with_state(headers, add_headers));
        }
        router
    }
}

/// Paths are cleaned before they are routed, so the routes are a service inside an otherwise empty router.
fn shared(routes: OpenApiRouter<App>, app: App) -> Router {
    let routes = with_document(routes.merge(metrics::routes())).fallback(unknown_path);
    let routes = routes.layer(from_fn_with_state(app.clone(), forward)).layer(from_fn(metrics::note_route));
    let routes = routes.with_state(app.clone());
    let routes = from_fn(other_methods).layer(routes);
    let routes = from_fn(path::clean).layer(routes);
    let routes = Router::new().fallback_service(routes).layer(CatchPanicLayer::custom(panicked));
    routes.layer(from_fn_with_state(app, metrics::count))
}

async fn unknown_path(request: Request) -> Error {
    Error::UnknownPath(request.uri().path().to_owned())
}

/// A path that doesn't have this method answers with those it has: to OPTIONS that is all it is for.
async fn other_methods(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = next.run(request).await;
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        return response;
    }
    let allowed = response.headers().get(header::ALLOW).and_then(|allowed| allowed.to_str().ok()).unwrap_or_default();
    let allowed = format!("{allowed},OPTIONS");
    if method != Method::OPTIONS {
        // As in Connect, without `Allow`.
        return Error::MethodNotAllowed { method, path, allowed: allowed.replace(',', ", ") }.into_response();
    }
    let allow = HeaderValue::from_str(&allowed).unwrap_or(HeaderValue::from_static("OPTIONS"));
    ([(header::ALLOW, allow), (header::CONTENT_TYPE, HeaderValue::from_static("text/plain"))], allowed).into_response()
}

/// Adds what the operator wants on every answer.
async fn add_headers(State(headers): State<Arc<[ResponseHeader]>>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let now = SystemTime::now();
    headers.iter().for_each(|header| header.apply(now, response.headers_mut()));
    response
}

/// A mistake of ours must not cost the client its answer, nor the worker its life.
fn panicked(cause: Box<dyn Any + Send>) -> Response {
    let text = cause.downcast_ref::<String>().map(String::as_str).or_else(|| cause.downcast_ref::<&str>().copied());
    tracing::error!(cause = ?text, "A request handler panicked.");
    Error::Internal("the worker made a mistake; its log says more".to_owned()).into_response()
}

#[cfg(test)]
mod tests {
    use bulkhead_model::RawConfig;

    use super::*;
    use crate::body::MAX_BODY;
    use crate::testing::Client;

    #[tokio::test]
    async fn unknown_paths_are_404_and_case_matters() {
        let client = Client::new();
        for line in ["GET /no-such-path", "GET /Connectors", "POST /x", "GET /admin", "GET /connectors/x/y/z"] {
            let answer = client.send(line, "").await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{line}");
            answer.message();
        }
    }

    #[tokio::test]
    async fn a_path_says_which_methods_it_takes() {
        let client = Client::new();
        let answer = client.send("DELETE /connectors/", "").await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(answer.message(), "`/connectors` doesn't take DELETE, only GET, HEAD, POST, OPTIONS");
        for line in ["TRACE /", "BREW /health", "POST /connectors/a/fence", "PUT /admin/loggers"] {
            assert_eq!(client.send(line, "").await.status, StatusCode::METHOD_NOT_ALLOWED, "{line}");
        }
    }

    #[tokio::test]
    async fn options_lists_the_methods_of_the_path() {
        let answer = Client::new().send("OPTIONS /connectors/a/config", "").await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.header("allow"), "GET,HEAD,PUT,PATCH,OPTIONS");
        assert_eq!((answer.header("content-type"), answer.body.as_str()), ("text/plain", answer.header("allow")));
    }

    #[tokio::test]
    async fn head_is_get_without_the_body() {
        let client = Client::with_connector("a").await;
        let answer = client.send("HEAD /connectors/a", "").await;
        assert_eq!((answer.status, answer.body.as_str()), (StatusCode::OK, ""));
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(client.send("HEAD /connectors/b", "").await.status, StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn a_client_that_takes_no_json_gets_406_everywhere() {
        let client = Client::new();
        for line in ["GET /", "GET /health", "POST /connectors", "GET /connectors/a/tasks", "PUT /connectors/a/fence"] {
            let answer = client.send_with(line, &[("accept", "text/html")], "").await;
            assert_eq!(answer.status, StatusCode::NOT_ACCEPTABLE, "{line}");
            answer.message();
        }
    }

    #[tokio::test]
    async fn another_content_type_is_415_by_resource_not_by_body() {
        let client = Client::with_connector("a").await;
        let text = [("content-type", "text/plain")];
        for line in ["GET /connectors", "PUT /connectors/a/pause", "GET /connectors/a/tasks", "GET /admin/loggers"] {
            let answer = client.send_with(line, &text, "").await;
            assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{line}");
            answer.message();
        }
        assert_eq!(client.send_with("GET /", &text, "").await.status, StatusCode::OK);
        assert_eq!(client.send_with("PUT /connectors/a/config", &[], "{}").await.status.as_u16(), 415);
        assert_eq!(client.send_with("PUT /connectors/a/config", &[], "").await.status.as_u16(), 400);
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_413() {
        let body = format!("{{\"a\": \"{}\"}}", "x".repeat(MAX_BODY));
        let answer = Client::new().send("PUT /connectors/a/config", &body).await;
        assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(answer.message(), "the body is larger than the 8388608 bytes that a request may have");
    }

    #[tokio::test]
    async fn paths_that_cannot_be_read_are_400() {
        let client = Client::new();
        for path in ["//", "/connectors//status", "/connectors/a%zz", "/connectors/a%ff"] {
            let answer = client.send(&format!("GET {path}"), "").await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
            answer.message();
        }
    }

    #[tokio::test]
    async fn a_panic_is_an_answer() {
        let answer = Client::new().send("GET /connectors/broken", "").await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(answer.message(), "the worker made a mistake; its log says more");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_takes_too_long_says_what_the_herder_is_doing() {
        let client = Client::new();
        client.herder.hang();
        let answer = client.send("GET /connectors/a", "").await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(answer.message(), "Request timed out. The worker is currently sleeping.");
    }

    #[tokio::test]
    async fn admin_resources_are_where_the_settings_put_them() {
        let nowhere = Settings { admin_listeners: AdminListeners::Nowhere, ..Settings::default() };
        let regular = Client::with(&nowhere, Resources::Regular);
        let admin = Client::with(&nowhere, Resources::Admin);
        for (client, path, status) in [
            (&Client::new(), "GET /admin/loggers", 200),
            (&regular, "GET /admin/loggers", 404),
            (&regular, "GET /connectors", 200),
            (&admin, "GET /admin/loggers", 200),
            (&admin, "GET /connectors", 404),
        ] {
            assert_eq!(client.send(path, "").await.status.as_u16(), status, "{path}");
        }
    }

    #[tokio::test]
    async fn headers_of_the_operator_are_on_every_answer_of_the_regular_listeners() {
        let properties = RawConfig::from([("response.http.headers.config", "set X-Frame-Options: DENY")]);
        let settings = Settings::from_properties(&properties).unwrap();
        for (resources, expected) in [(Resources::Regular, "DENY"), (Resources::Admin, "")] {
            for line in ["GET /admin/loggers", "GET /no-such-path", "OPTIONS /"] {
                let answer = Client::with(&settings, resources).send(line, "").await;
                assert_eq!(answer.header("x-frame-options"), expected, "{line}");
            }
        }
    }
}
