//! Cross-origin requests: `access.control.allow.origin` and `access.control.allow.methods`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;

use crate::settings::Cors;

/// Adds what lets a browser of an allowed origin see the answer. Other origins are served all the same.
pub(crate) async fn allow(State(cors): State<Arc<Cors>>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(ORIGIN).filter(|origin| cors.allows(origin)).cloned();
    let preflight =
        request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if preflight {
            answer_preflight(&cors, headers);
        }
    }
    response
}

fn answer_preflight(cors: &Cors, headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, cors.methods.clone());
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("Content-Type"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("60"));
}

impl Cors {
    fn allows(&self, origin: &HeaderValue) -> bool {
        self.origins.iter().any(|allowed| allowed == "*" || allowed.as_bytes() == origin.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::Resources;
    use crate::settings::Settings;
    use crate::testing::Client;

    fn client() -> Client {
        let cors = Cors { origins: vec!["http://here".to_owned()], methods: HeaderValue::from_static("GET,PUT") };
        Client::with(&Settings { cors: Some(cors), ..Settings::default() }, Resources::Regular)
    }

    #[tokio::test]
    async fn an_allowed_origin_is_told_so_and_another_is_served_without() {
        for (origin, told) in [("http://here", "http://here"), ("http://there", "")] {
            let answer = client().send_with("GET /", &[("origin", origin)], "").await;
            assert_eq!(answer.status, 200);
            assert_eq!(answer.header("vary"), "Origin");
            assert_eq!(answer.header("access-control-allow-origin"), told);
            assert_eq!(answer.header("access-control-allow-methods"), "");
        }
    }

    #[tokio::test]
    async fn a_preflight_gets_the_methods_and_the_normal_answer_to_options() {
        let headers = [("origin", "http://here"), ("access-control-request-method", "DELETE")];
        let answer = client().send_with("OPTIONS /health", &headers, "").await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("allow"), "GET,HEAD,OPTIONS");
        assert_eq!(answer.header("access-control-allow-methods"), "GET,PUT");
        assert_eq!(answer.header("access-control-allow-headers"), "Content-Type");
        assert_eq!(answer.header("access-control-max-age"), "60");
    }
}
