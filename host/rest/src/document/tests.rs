//! The document against what is served and what is written.

use std::collections::BTreeSet;

use bulkhead_herder::validate::{ConfigInfo, ConfigInfos, ConfigKeyInfo, ConfigValueInfo};
use bulkhead_model::ConnectorName;
use bulkhead_model::config::{ConfigType, Importance, Width};
use serde_json::{Value, json};

use crate::router::Resources;
use crate::settings::{AdminListeners, Settings};
use crate::testing::Client;

async fn document(client: &Client) -> Value {
    let answer = client.send("GET /openapi.json", "").await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/json"));
    serde_json::from_str(&answer.body).unwrap()
}

/// `METHOD /path`, and the operation.
fn operations(document: &Value) -> impl Iterator<Item = (String, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (format!("{} {path}", method.to_uppercase()), operation))
    })
}

fn lines(document: &Value) -> BTreeSet<String> {
    operations(document).map(|(line, _)| line).collect()
}

/// Every object anywhere in the document.
fn visit(value: &Value, look: &mut impl FnMut(&serde_json::Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            look(members);
            members.values().for_each(|value| visit(value, look));
        }
        Value::Array(items) => items.iter().for_each(|value| visit(value, look)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn all_that_connect_serves_is_described_and_what_else_there_is() {
    let expected = "\
        GET /|GET /health|GET /connectors|POST /connectors|\
        GET /connectors/{connector}|DELETE /connectors/{connector}|\
        GET /connectors/{connector}/config|PUT /connectors/{connector}/config|PATCH /connectors/{connector}/config|\
        GET /connectors/{connector}/status|\
        PUT /connectors/{connector}/pause|PUT /connectors/{connector}/resume|PUT /connectors/{connector}/stop|\
        POST /connectors/{connector}/restart|\
        GET /connectors/{connector}/tasks|POST /connectors/{connector}/tasks|PUT /connectors/{connector}/fence|\
        GET /connectors/{connector}/tasks/{task}/status|POST /connectors/{connector}/tasks/{task}/restart|\
        GET /connectors/{connector}/offsets|PATCH /connectors/{connector}/offsets|\
        DELETE /connectors/{connector}/offsets|\
        GET /connectors/{connector}/topics|PUT /connectors/{connector}/topics/reset|\
        GET /connectors/{connector}/sandbox|\
        GET /connector-plugins|GET /connector-plugins/{plugin}/config|\
        PUT /connector-plugins/{plugin}/config/validate|\
        GET /bulkhead/plugins|PUT /bulkhead/plugins|\
        GET /admin/loggers|GET /admin/loggers/{logger}|PUT /admin/loggers/{logger}|\
        GET /metrics|GET /openapi.json";
    let expected: BTreeSet<_> = expected.split('|').map(str::to_owned).collect();
    assert_eq!(lines(&document(&Client::new()).await), expected);
}

#[tokio::test]
async fn every_path_takes_the_methods_that_are_described_and_no_others() {
    let client = Client::new();
    let document = document(&client).await;
    for (path, item) in document["paths"].as_object().unwrap() {
        let real = path.replace("{connector}", "a").replace("{task}", "0");
        let real = real.replace("{plugin}", "FileSource").replace("{logger}", "root");
        let mut described: BTreeSet<_> = item.as_object().unwrap().keys().map(|method| method.to_uppercase()).collect();
        if described.contains("GET") {
            described.insert("HEAD".to_owned());
        }
        described.insert("OPTIONS".to_owned());
        let answer = client.send(&format!("OPTIONS {real}"), "").await;
        let allowed: BTreeSet<_> = answer.header("allow").split(',').map(str::to_owned).collect();
        assert_eq!(allowed, described, "{path}");
    }
}

#[tokio::test]
async fn a_listener_describes_what_it_serves() {
    let own = Settings { admin_listeners: AdminListeners::Nowhere, ..Settings::default() };
    let regular = lines(&document(&Client::with(&own, Resources::Regular)).await);
    let admin = lines(&document(&Client::with(&own, Resources::Admin)).await);
    assert!(!regular.iter().any(|line| line.contains("/admin")), "{regular:?}");
    assert_eq!(
        admin.iter().map(String::as_str).collect::<Vec<_>>(),
        [
            "GET /admin/loggers",
            "GET /admin/loggers/{logger}",
            "GET /metrics",
            "GET /openapi.json",
            "PUT /admin/loggers/{logger}"
        ]
    );
}

#[tokio::test]
async fn every_reference_leads_somewhere_and_every_name_of_an_operation_is_its_own() {
    let document = document(&Client::new()).await;
    visit(&document, &mut |object| {
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            let found = document.pointer(reference.strip_prefix('#').unwrap());
            assert!(found.is_some(), "{reference}");
        }
    });
    let mut ids = BTreeSet::new();
    for (line, operation) in operations(&document) {
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{line}");
    }
}

#[tokio::test]
async fn parameters_of_the_path_are_described_and_errors_have_a_form() {
    let document = document(&Client::new()).await;
    for (line, operation) in operations(&document) {
        let of_path = |parameter: &&Value| parameter["in"] == "path";
        let described = operation["parameters"].as_array().into_iter().flatten().filter(of_path);
        let described: BTreeSet<_> = described.map(|parameter| parameter["name"].as_str().unwrap()).collect();
        let in_path = line.split(['{', '}']).skip(1).step_by(2).collect();
        assert_eq!(described, in_path, "{line}");
        for (status, response) in operation["responses"].as_object().unwrap() {
            let is_error = status.starts_with(['4', '5']);
            assert!(!is_error || response["content"]["application/json"].is_object(), "{line}: {status}");
        }
    }
}

/// Whether the value has the members that the schema describes, all of them and no others.
fn check(document: &Value, schema: &str, value: &Value) {
    let schema = &document["components"]["schemas"][schema];
    let described: BTreeSet<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(value.as_object().unwrap().keys().collect::<BTreeSet<_>>(), described);
    let required = schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
    assert_eq!(required.collect::<BTreeSet<_>>(), described.into_iter().cloned().collect());
}

#[tokio::test]
async fn what_other_crates_write_has_the_form_that_is_described() {
    let document = document(&Client::new()).await;
    let definition = ConfigKeyInfo {
        name: "k".to_owned(),
        kind: ConfigType::Password,
        required: true,
        default_value: None,
        importance: Importance::High,
        documentation: String::new(),
        group: None,
        order_in_group: -1,
        width: Width::None,
        display_name: "k".to_owned(),
        dependents: Vec::new(),
    };
    let value = ConfigValueInfo {
        name: "k".to_owned(),
        value: None,
        recommended_values: Vec::new(),
        errors: Vec::new(),
        visible: true,
    };
    let configs = vec![ConfigInfo { definition: Some(definition), value: Some(value) }];
    let infos = ConfigInfos { name: "c".to_owned(), error_count: 0, groups: Vec::new(), configs };
    let infos = serde_json::to_value(infos).unwrap();
    check(&document, "ConfigInfos", &infos);
    check(&document, "ConfigInfo", &infos["configs"][0]);
    check(&document, "ConfigKeyInfo", &infos["configs"][0]["definition"]);
    check(&document, "ConfigValueInfo", &infos["configs"][0]["value"]);
    check(&document, "TaskId", &json!(ConnectorName::new("a").task(0)));
    for (schema, written) in [
        ("ConfigType", json!(ConfigType::Password)),
        ("Importance", json!(Importance::High)),
        ("Width", json!(Width::None)),
    ] {
        let described = document["components"]["schemas"][schema]["enum"].as_array().unwrap();
        assert!(described.contains(&written), "{schema}: {written}");
    }
}
