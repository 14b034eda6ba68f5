//! A server that keeps what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use bulkhead_model::config::Password;
use bulkhead_model::security::Tls;
use bulkhead_pipeline::ports::{RegistryLogin, RegistrySettings};
use bulkhead_registry::Registry;

#[derive(Clone, Default)]
pub struct Fake {
    answers: Arc<Mutex<VecDeque<(u16, String)>>>,
    asked: Arc<Mutex<Vec<String>>>,
    headers: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    /// Answers in this order, and then with 500.
    pub fn answering(answers: &[(u16, &str)]) -> Self {
        let answers = answers.iter().map(|(status, body)| (*status, (*body).to_owned())).collect();
        Self { answers: Arc::new(Mutex::new(answers)), ..Self::default() }
    }

    /// Starts to serve; the URL ends without a slash.
    pub async fn serve(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let fake = self.clone();
        let router = Router::new().fallback(move |request: Request| {
            let fake = fake.clone();
            async move { fake.answer(request).await }
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    async fn answer(&self, request: Request) -> impl IntoResponse + use<> {
        let (head, body) = request.into_parts();
        let body = to_bytes(body, 1 << 20).await.unwrap();
        let asked = format!("{} {} {}", head.method, head.uri, String::from_utf8_lossy(&body));
        self.asked.lock().unwrap().push(asked.trim_end().to_owned());
        let headers = head.headers.iter().map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap()));
        self.headers.lock().unwrap().push(headers.collect());
        let (status, body) = self.answers.lock().unwrap().pop_front().unwrap_or((500, "none left".to_owned()));
        (StatusCode::from_u16(status).unwrap(), body)
    }

    /// Method, path and body of every request.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Headers of the last request, one a line.
    pub fn headers(&self) -> String {
        self.headers.lock().unwrap().last().cloned().unwrap_or_default()
    }
}

/// Settings that try again at once.
pub fn settings(urls: &[&str]) -> RegistrySettings {
    RegistrySettings {
        urls: urls.iter().map(|url| Password((*url).to_owned())).collect(),
        login: RegistryLogin::Url,
        headers: Vec::new(),
        connect_timeout: Duration::from_secs(60),
        read_timeout: Duration::from_secs(60),
        retries: 2,
        retry_wait: Duration::from_millis(2),
        retry_max_wait: Duration::from_millis(3),
        tls: Tls::default(),
    }
}

pub fn registry(urls: &[&str]) -> Registry {
    Registry::new(settings(urls)).unwrap()
}
