use std::sync::Arc;

use bulkhead_model::config::Password;
use bulkhead_pipeline::ports::{
    Registered, RegistryLogin, RegistrySettings, SchemaRegistry, SchemaText, SubjectSchema,
};
use bulkhead_registry::Registry;

use crate::fake::{Fake, registry, settings};

fn schema(subject: &str, normalize: bool) -> SubjectSchema {
    SubjectSchema { subject: subject.into(), schema: r#""string""#.into(), normalize }
}

#[tokio::test]
async fn requests_are_those_of_confluents_interface() {
    let version = r#"{"subject":"s","id":7,"version":3,"schema":"\"int\""}"#;
    let fake =
        Fake::answering(&[(200, r#"{"id":7}"#), (200, version), (200, version), (200, r#"{"schema":"\"int\""}"#)]);
    let url = fake.serve().await;
    let registry = registry(&[&format!("{url}/apis/ccompat/v7/")]);
    assert_eq!(registry.register(schema("a/b ü", true)).await, Ok(7));
    assert_eq!(registry.find(schema("s", false)).await, Ok(Registered { id: 7, version: 3 }));
    let text = SchemaText { schema: r#""int""#.into(), references: Vec::new() };
    assert_eq!(registry.latest("s".into()).await, Ok((Registered { id: 7, version: 3 }, text.clone())));
    assert_eq!(registry.by_id(7, "t-value".into()).await, Ok(text));
    assert_eq!(
        fake.asked(),
        [
            r#"POST /apis/ccompat/v7/subjects/a%2Fb%20%C3%BC/versions?normalize=true {"schema":"\"string\""}"#,
            r#"POST /apis/ccompat/v7/subjects/s {"schema":"\"string\""}"#,
            "GET /apis/ccompat/v7/subjects/s/versions/latest",
            "GET /apis/ccompat/v7/schemas/ids/7?fetchMaxId=false&subject=t-value",
        ]
    );
    assert!(fake.headers().contains("content-type: application/vnd.schemaregistry.v1+json\n"));
}

#[tokio::test]
async fn schemas_come_with_all_that_they_refer_to_once() {
    let refers = |schema: &str, to: &[(&str, u32)]| {
        let references =
            to.iter().map(|(subject, version)| format!(r#"{{"name":"n","subject":"{subject}","version":{version}}}"#));
        format!(r#"{{"schema":"{schema}","references":[{}]}}"#, references.collect::<Vec<_>>().join(","))
    };
    let (a, b, c, d) = (
        refers("A", &[("b", 1), ("c", 2)]),
        refers("B", &[("d", 1)]),
        refers("C", &[("d", 1)]),
        refers("D", &[("a", 1)]),
    );
    let fake = Fake::answering(&[(200, &a), (200, &b), (200, &d), (200, &a), (200, &c)]);
    let url = fake.serve().await;
    let text = registry(&[&url]).by_id(1, "s".into()).await.unwrap();
    let expected: Vec<Arc<str>> = ["C", "A", "D", "B"].map(Arc::from).to_vec();
    assert_eq!((&*text.schema, text.references), ("A", expected));
    assert_eq!(
        fake.asked()[1..],
        ["b/versions/1", "d/versions/1", "a/versions/1", "c/versions/2"].map(|path| format!("GET /subjects/{path}"))
    );
}

async fn authorization(change: impl Fn(&mut RegistrySettings), user_info: &str) -> String {
    let fake = Fake::answering(&[(200, r#"{"id":7}"#)]);
    let url = fake.serve().await.replace("http://", &format!("http://{user_info}"));
    let mut settings = settings(&[&url]);
    change(&mut settings);
    Registry::new(settings).unwrap().register(schema("s", false)).await.unwrap();
    let headers = fake.headers();
    let line = headers.lines().find_map(|line| line.strip_prefix("authorization: "));
    line.unwrap_or("none").to_owned()
}

#[tokio::test]
async fn a_login_is_sent_as_its_source_says() {
    assert_eq!(authorization(|_| {}, "").await, "none");
    assert_eq!(authorization(|_| {}, "me:s3cret@").await, "Basic bWU6czNjcmV0");
    let basic =
        |settings: &mut RegistrySettings| settings.login = RegistryLogin::Basic(Password("me:s3cret".to_owned()));
    assert_eq!(authorization(basic, "you:other@").await, "Basic bWU6czNjcmV0");
    let bearer = |settings: &mut RegistrySettings| settings.login = RegistryLogin::Bearer(Password("t0ken".to_owned()));
    assert_eq!(authorization(bearer, "").await, "Bearer t0ken");
}

#[tokio::test]
async fn headers_of_ones_own_go_with_every_request() {
    let fake = Fake::answering(&[(200, r#"{"id":7}"#)]);
    let url = fake.serve().await;
    let mut settings = settings(&[&url]);
    settings.headers = vec![("X-Tenant".to_owned(), Password("7".to_owned()))];
    Registry::new(settings).unwrap().register(schema("s", false)).await.unwrap();
    assert!(fake.headers().contains("x-tenant: 7\n"), "{}", fake.headers());
}

#[test]
fn what_cannot_be_sent_is_refused_at_once_without_its_value() {
    let wrong = |change: &dyn Fn(&mut RegistrySettings)| {
        let mut settings = settings(&["http://r"]);
        change(&mut settings);
        Registry::new(settings).map(|_| ()).unwrap_err().to_string()
    };
    let token = wrong(&|settings| settings.login = RegistryLogin::Bearer(Password("s3c\nret".to_owned())));
    assert_eq!(token, "configuration `bearer.auth.token`: it can't be sent as a header");
    assert_eq!(wrong(&|settings| settings.urls.clear()), "schema.registry.url names no registry");
    let header = wrong(&|settings| settings.headers = vec![("a b".to_owned(), Password(String::new()))]);
    assert_eq!(header, "configuration `request.header.a b`: that is no name of a header");
}
