use std::time::Duration;

use bulkhead_pipeline::ports::{RegistryError, SchemaRegistry, SubjectSchema};
use bulkhead_registry::Registry;

use crate::fake::{Fake, registry, settings};

fn schema() -> SubjectSchema {
    SubjectSchema { subject: "orders-value".into(), schema: r#""string""#.into(), normalize: false }
}

async fn register(answers: &[(u16, &str)]) -> (Result<u32, RegistryError>, usize) {
    let fake = Fake::answering(answers);
    let url = fake.serve().await;
    let outcome = registry(&[&url.replace("//", "//me:s3cret@")]).register(schema()).await;
    (outcome.map_err(|error| without(error, &url)), fake.asked().len())
}

/// The error with `URL` in place of the server's.
fn without(error: RegistryError, url: &str) -> RegistryError {
    let clean = |text: String| text.replace(url, "URL");
    match error {
        RegistryError::Retriable(text) => RegistryError::Retriable(clean(text)),
        RegistryError::NotFound(text) => RegistryError::NotFound(clean(text)),
        RegistryError::Refused(text) => RegistryError::Refused(clean(text)),
    }
}

#[tokio::test]
async fn refusals_name_registry_subject_and_code_and_are_final() {
    let (outcome, asked) = register(&[(409, r#"{"error_code":409,"message":"Schema is incompatible"}"#)]).await;
    let text = "schema registry URL, subject `orders-value`: Schema is incompatible (status 409, error code 409)";
    assert_eq!((outcome, asked), (Err(RegistryError::Refused(text.to_owned())), 1));
    let (outcome, asked) = register(&[(404, r#"{"error_code":40403,"message":"Schema not found"}"#)]).await;
    let text = "schema registry URL, subject `orders-value`: Schema not found (status 404, error code 40403)";
    assert_eq!((outcome, asked), (Err(RegistryError::NotFound(text.to_owned())), 1));
    let (outcome, asked) = register(&[(401, "<html>who are you?</html>")]).await;
    let text = "schema registry URL, subject `orders-value`: status 401 Unauthorized";
    assert_eq!((outcome, asked), (Err(RegistryError::Refused(text.to_owned())), 1));
}

#[tokio::test]
async fn what_may_pass_is_tried_again_as_often_as_is_allowed() {
    let busy = (503, r#"{"error_code":50301,"message":"Busy"}"#);
    assert_eq!(register(&[busy, (429, "slow down"), (200, r#"{"id":7}"#)]).await, (Ok(7), 3));
    let (outcome, asked) = register(&[busy, busy, busy, (200, r#"{"id":7}"#)]).await;
    let text = "schema registry URL, subject `orders-value`: Busy (status 503, error code 50301)";
    assert_eq!((outcome, asked), (Err(RegistryError::Retriable(text.to_owned())), 3));
}

#[tokio::test]
async fn another_url_is_asked_if_one_does_not_answer() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dead = format!("http://me:s3cret@{}", gone.local_addr().unwrap());
    drop(gone);
    let fake = Fake::answering(&[(200, r#"{"id":7}"#), (200, r#"{"id":7}"#)]);
    let url = fake.serve().await;
    let both = registry(&[&dead, &url]);
    assert_eq!(both.register(schema()).await, Ok(7));
    assert_eq!(both.register(schema()).await, Ok(7));
    assert_eq!(fake.asked().len(), 2);
    let Err(RegistryError::Retriable(message)) = registry(&[&dead]).register(schema()).await else { panic!() };
    assert!(message.contains("subject `orders-value`: client error (Connect)"), "{message}");
    assert!(!message.contains("s3cret"), "{message}");
}

#[tokio::test]
async fn a_registry_that_hangs_is_given_up() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let mut settings = settings(&[&url]);
    settings.retries = 0;
    (settings.connect_timeout, settings.read_timeout) = (Duration::from_millis(20), Duration::from_millis(30));
    let Err(RegistryError::Retriable(message)) = Registry::new(settings).unwrap().register(schema()).await else {
        panic!()
    };
    assert!(message.ends_with("no answer within 50ms"), "{message}");
}

#[tokio::test]
async fn strange_answers_are_refused() {
    let (outcome, _) = register(&[(200, r#"{"id":"seven"}"#)]).await;
    let Err(RegistryError::Refused(message)) = outcome else { panic!("{outcome:?}") };
    assert!(message.contains("the answer can't be read"), "{message}");
    let (outcome, _) = register(&[(302, "")]).await;
    assert!(matches!(outcome, Err(RegistryError::Refused(_))), "{outcome:?}");
    let large = format!(r#"{{"id":7,"more":"{}"}}"#, "x".repeat(17 << 20));
    let (outcome, _) = register(&[(200, &large), (200, &large), (200, &large)]).await;
    let Err(RegistryError::Retriable(message)) = outcome else { panic!("{outcome:?}") };
    assert!(message.contains("length limit exceeded"), "{message}");
    let fake = Fake::answering(&[(200, r#"{"schema":"{}","schemaType":"JSON"}"#)]);
    let url = fake.serve().await;
    let Err(RegistryError::Refused(message)) = registry(&[&url]).by_id(3, "s".into()).await else { panic!() };
    assert_eq!(message, "schema with id 3 (subject `s`) is of type JSON, not AVRO");
}
