//! Workers that pass requests on to each other, over real sockets.

use std::sync::Mutex;
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use bulkhead_herder::api::{ForwardError, Proof, Refusal, Request as HerderRequest, Signature};
use bulkhead_model::ConnectorName;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::*;
use crate::router::Resources;
use crate::server::serve;
use crate::settings::Settings;
use crate::testing::{Client as TestClient, listen};

/// A worker that answers everything in one way, and keeps what it was asked.
#[derive(Clone, Default)]
struct Peer(Arc<Mutex<Vec<String>>>);

impl Peer {
    /// Returns its URL too.
    async fn answering(response: impl Fn() -> Response + Clone + Send + Sync + 'static) -> (Self, String) {
        let peer = Self::default();
        let keeper = peer.clone();
        let answer = move |request: Request| async move {
            keeper.keep(request).await;
            response()
        };
        let url = listen(Router::new().fallback(answer)).await;
        (peer, url)
    }

    async fn keep(&self, request: Request) {
        let (head, body) = request.into_parts();
        let mut text = format!("{} {}", head.method, head.uri);
        for name in ["authorization", SIGNATURE, ALGORITHM, "content-type", "accept", "user-agent", "cookie"] {
            if let Some(value) = head.headers.get(name) {
                text += &format!("\n{name}: {}", value.to_str().unwrap());
            }
        }
        let body = to_bytes(body, usize::MAX).await.unwrap();
        text += &format!("\n{}", String::from_utf8_lossy(&body));
        self.0.lock().unwrap().push(text);
    }

    fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn follower(leader: &str) -> TestClient {
    let client = TestClient::new();
    client.herder.refer(Some(leader));
    client
}

const COMMON: &str = "content-type: application/json\naccept: application/json\nuser-agent: kafka-connect";

#[tokio::test]
async fn a_follower_sends_the_leader_what_it_got_and_relays_the_answer() {
    let (peer, url) = Peer::answering(|| {
        let headers =
            [("location", "http://leader:1/connectors/a%20b"), ("content-type", "application/json"), ("x", "y")];
        (StatusCode::CREATED, headers, r#"{"name": "a b"}"#).into_response()
    })
    .await;
    let body = r#"{"config": {}, "name": "a b"}"#;
    let headers =
        [("content-type", "application/json; charset=utf-8"), ("authorization", "Basic eDp5"), ("cookie", "c")];
    let answer = follower(&url).send_with("POST /connectors/?x=%20y&expand", &headers, body).await;
    assert_eq!((answer.status, answer.body.as_str()), (StatusCode::CREATED, r#"{"name": "a b"}"#));
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("location"), "http://here:8083/connectors/a%20b");
    assert_eq!(answer.header("x"), "");
    assert_eq!(
        peer.asked(),
        [format!("POST /connectors?forward=true&x=%20y&expand\nauthorization: Basic eDp5\n{COMMON}\n{body}")],
    );
}

#[tokio::test]
async fn every_request_of_the_leader_is_forwarded_with_its_method_and_without_what_nobody_reads() {
    let (peer, url) = Peer::answering(|| StatusCode::NO_CONTENT.into_response()).await;
    let follower = follower(url.trim_end_matches('/'));
    for (line, body, asked, sent) in [
        ("PUT /connectors/a/config", r#"{"k": "v"}"#, "PUT /connectors/a/config?forward=true", r#"{"k": "v"}"#),
        ("PATCH /connectors/a/config", r#"{"k": 1}"#, "PATCH /connectors/a/config?forward=true", r#"{"k": 1}"#),
        ("DELETE /connectors/a%2Fb", "", "DELETE /connectors/a%2Fb?forward=true", ""),
        ("PUT /connectors/a/stop", "{bad", "PUT /connectors/a/stop?forward=true", ""),
        ("DELETE /connectors/a/offsets", "", "DELETE /connectors/a/offsets?forward=true", ""),
        (
            "POST /connectors/a/restart?includeTasks=true&onlyFailed=false",
            "",
            "POST /connectors/a/restart?forward=true&includeTasks=true&onlyFailed=false",
            "",
        ),
        ("POST /connectors/a/tasks/0/restart?forward=true", "", "POST /connectors/a/tasks/0/restart?forward=false", ""),
    ] {
        let answer = follower.send(line, body).await;
        assert_eq!((answer.status, answer.body.as_str()), (StatusCode::NO_CONTENT, ""), "{line}");
        assert_eq!(answer.header("content-type"), "", "{line}");
        assert_eq!(peer.asked().pop().unwrap(), format!("{asked}\n{COMMON}\n{sent}"));
    }
}

/// G57: Connect drops the signature, so that the leader refuses what a worker of the cluster sent.
#[tokio::test]
async fn an_internal_request_is_forwarded_byte_for_byte_with_its_signature() {
    let (leader, second) = (TestClient::with_connector("a").await, TestClient::new());
    second.herder.refer(Some(&leader.listen().await));
    let first = follower(&second.listen().await);
    let signed = [(SIGNATURE, "AAAA"), (ALGORITHM, "HmacSHA256")];
    let body = "\u{FEFF}[ {\"k\":\"v\"} ]\n";
    assert_eq!(first.send_with("POST /connectors/a/tasks", &signed, body).await.status, StatusCode::NO_CONTENT);
    assert_eq!(first.send_with("PUT /connectors/a/fence", &signed, "").await.status, StatusCode::NO_CONTENT);
    let proof = |body: &str| Proof {
        algorithm: Some("HmacSHA256".to_owned()),
        mac: Some("AAAA".to_owned()),
        body: body.as_bytes().to_vec(),
    };
    let name = ConnectorName::new("a");
    let configs = vec![[("k", "v")].into()];
    assert_eq!(
        leader.herder.requests(),
        [
            HerderRequest::PublishTasks { name: name.clone(), configs, proof: proof(body) },
            HerderRequest::Fence { name, proof: proof("") }
        ]
    );
}

/// G43.
#[tokio::test]
async fn workers_that_point_at_each_other_stop_after_two_hops() {
    let (a, b) = (TestClient::new(), TestClient::new());
    a.herder.refer(Some(&b.listen().await));
    b.herder.refer(Some(&a.listen().await));
    let answer = a.send("DELETE /connectors/x", "").await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert_eq!(answer.message(), "Cannot complete request because of a conflicting operation (e.g. worker rebalance)");
    assert_eq!((a.herder.requests().len(), b.herder.requests().len()), (2, 1));
}

/// G43: the leader that the first worker knows knows a newer one.
#[tokio::test]
async fn a_request_reaches_the_new_leader_by_way_of_the_old_one() {
    let (old, new) = (TestClient::new(), TestClient::new());
    old.herder.refer(Some(&new.listen().await));
    let answer = follower(&old.listen().await).send("POST /connectors", r#"{"name": "n", "config": {}}"#).await;
    assert_eq!(answer.status, StatusCode::CREATED);
    assert_eq!(answer.header("location"), "http://here:8083/connectors/n");
    assert_eq!(new.herder.requests().len(), 1);
}

#[tokio::test]
async fn a_request_that_may_not_be_forwarded_or_belongs_to_nobody_is_409() {
    let (peer, url) = Peer::answering(|| StatusCode::OK.into_response()).await;
    let conflict = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)";
    let nobody =
        "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway.";
    for (to, query, message) in [
        (Some(url.as_str()), "?forward=false", conflict),
        (Some(url.as_str()), "?forward=maybe", conflict),
        (None, "?forward=false", conflict),
        (None, "?forward=true", nobody),
        (None, "", nobody),
    ] {
        let client = TestClient::new();
        client.herder.refer(to);
        let answer = client.send(&format!("PUT /connectors/a/stop{query}"), "").await;
        assert_eq!((answer.status, answer.message().as_str()), (StatusCode::CONFLICT, message), "{to:?} {query}");
    }
    assert_eq!(peer.asked(), [""; 0]);
}

/// G44: what the leader says of a signature reaches the sender.
#[tokio::test]
async fn errors_of_the_leader_are_relayed_as_they_are() {
    for (refusal, status) in [
        (Refusal::Forbidden("Internal request contained invalid signature.".to_owned()), 403),
        (Refusal::BadRequest("Internal request missing required signature".to_owned()), 400),
        (Refusal::Unavailable("no session key yet".to_owned()), 503),
        (Refusal::NotFound("Unknown connector: a".to_owned()), 404),
        (Refusal::Failed("the log is away".to_owned()), 500),
    ] {
        let leader = TestClient::new();
        leader.herder.refuse(refusal.clone());
        let answer = follower(&leader.listen().await).send("PUT /connectors/a/fence", "").await;
        assert_eq!((answer.status.as_u16(), answer.message()), (status, refusal.to_string()));
    }
}

#[tokio::test]
async fn redirects_are_relayed_but_not_followed() {
    let (peer, url) = Peer::answering(|| {
        (StatusCode::TEMPORARY_REDIRECT, [("location", "http://elsewhere:1/")], "moved").into_response()
    })
    .await;
    let answer = follower(&url).send("DELETE /connectors/a", "").await;
    assert_eq!((answer.status.as_u16(), answer.body.as_str()), (307, "moved"));
    assert_eq!(answer.header("location"), "http://elsewhere:1/");
    assert_eq!(peer.asked().len(), 1);
}

/// FC-05: Apache's web server has pages for paths that it doesn't like, `a%2Fb` for one.
#[tokio::test]
async fn an_error_page_of_the_leader_becomes_an_error_body_and_advice_to_wait_is_relayed() {
    let (_, url) = Peer::answering(|| {
        (StatusCode::BAD_REQUEST, [("content-type", "text/html")], "<h2>Ambiguous path</h2>").into_response()
    })
    .await;
    let answer = follower(&url).send("DELETE /connectors/a%2Fb", "").await;
    let message =
        format!("{url}, to which the request was forwarded, answered 400 Bad Request: <h2>Ambiguous path</h2>");
    assert_eq!((answer.status.as_u16(), answer.message()), (400, message));

    let (_, url) = Peer::answering(|| {
        let body = r#"{"error_code": 409, "message": null}"#;
        (StatusCode::CONFLICT, [("content-type", "application/json"), ("retry-after", "7")], body).into_response()
    })
    .await;
    let answer = follower(&url).send("DELETE /connectors/a", "").await;
    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (409, "7"));
    assert_eq!(answer.body, r#"{"error_code": 409, "message": null}"#);
}

#[tokio::test]
async fn a_leader_that_was_started_anew_is_reached_although_its_connections_are_gone() {
    let client = TestClient::new();
    let mut port = 0;
    for _ in 0..2 {
        let leader = TestClient::with_connector("a").await;
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        port = listener.local_addr().unwrap().port();
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(serve(listener, leader.router(), async { drop(stopped.await) }));
        client.herder.refer(Some(&format!("http://127.0.0.1:{port}/")));
        assert_eq!(client.send("PUT /connectors/a/stop", "").await.status, StatusCode::NO_CONTENT);
        assert_eq!(leader.herder.requests().len(), 1);
        stop.send(()).unwrap();
        served.await.unwrap().unwrap();
    }
}

/// A port that nobody listens at.
async fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

#[tokio::test]
async fn a_leader_that_cannot_be_reached_is_named() {
    let url = closed().await;
    let answer = follower(&url).send("DELETE /connectors/a", "").await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    let message = answer.message();
    let start = format!(
        "Cannot complete request because of a conflicting operation (e.g. worker rebalance): \
         {url}connectors/a?forward=true can't be reached: "
    );
    assert!(message.starts_with(&start), "{message}");
    assert!(message.contains("Connection refused"), "{message}");
}

#[tokio::test]
async fn a_leader_without_a_usable_url_is_named() {
    for (url, message) in [
        ("https://h:1/", "`https://h:1/` asks for TLS, which is not supported yet"),
        ("h:1", "`h:1` is no URL that a request can be sent to"),
    ] {
        let answer = follower(url).send("DELETE /connectors/a", "").await;
        assert_eq!((answer.status.as_u16(), answer.message().as_str()), (500, message));
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_does_not_answer_costs_no_more_than_the_time_of_one_request() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let settings = Settings { request_timeout: Duration::from_secs(9), ..Settings::default() };
    let client = TestClient::with(&settings, Resources::Regular);
    client.herder.refer(Some(&url));
    let began = Instant::now();
    let answer = client.send("DELETE /connectors/a", "").await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    let stage = format!("The worker is currently waiting for {url}, to which it forwarded the request.");
    assert_eq!(answer.message(), format!("Request timed out. {stage}"));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test]
async fn task_configurations_are_published_to_the_leader() {
    let (peer, url) = Peer::answering(|| StatusCode::NO_CONTENT.into_response()).await;
    let signature = Signature { algorithm: "HmacSHA256".to_owned(), mac: "AAAA".to_owned() };
    let (client, name, limit) = (Client::default(), ConnectorName::new("a/b"), Duration::from_secs(30));
    client.publish_tasks(&url, &name, b"[{}]".to_vec(), Some(&signature), limit).await.unwrap();
    client.publish_tasks(&url, &name, b"[]".to_vec(), None, limit).await.unwrap();
    assert_eq!(
        peer.asked(),
        [
            format!("POST /connectors/a%2Fb/tasks\n{SIGNATURE}: AAAA\n{ALGORITHM}: HmacSHA256\n{COMMON}\n[{{}}]"),
            format!("POST /connectors/a%2Fb/tasks\n{COMMON}\n[]"),
        ]
    );
}

#[tokio::test]
async fn a_leader_that_refuses_task_configurations_is_quoted_with_its_status() {
    let publish = async |url: &str| {
        let (name, limit) = (ConnectorName::new("a"), Duration::from_secs(30));
        Client::default().publish_tasks(url, &name, "[]", None, limit).await.unwrap_err()
    };
    let leader = TestClient::new();
    leader.herder.refuse(Refusal::Forbidden("Internal request contained invalid signature.".to_owned()));
    let message = "Internal request contained invalid signature.".to_owned();
    assert_eq!(publish(&leader.listen().await).await, ForwardError { status: Some(403), message });
    let (_, other) = Peer::answering(|| (StatusCode::BAD_GATEWAY, "<html>é".repeat(100)).into_response()).await;
    let error = publish(&other).await;
    assert_eq!(error.status, Some(502));
    assert!(error.message.starts_with("<html>é") && error.message.len() < 250, "{error:?}");
    let error = publish(&closed().await).await;
    assert_eq!(error.status, None);
    assert!(error.message.contains("Connection refused"), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_does_not_take_task_configurations_in_time_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let (name, limit) = (ConnectorName::new("a"), Duration::from_secs(3));
    let error = Client::default().publish_tasks(&url, &name, "[]", None, limit).await.unwrap_err();
    assert_eq!(
        error,
        ForwardError { status: None, message: format!("no answer of {url}/connectors/a/tasks within 3s") }
    );
}
