//! Installed plugins, their configuration keys, and checking a configuration.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bulkhead_herder::api::{Reply, Request};
use bulkhead_herder::validate::{ConfigInfos, ConfigKeyInfo};
use bulkhead_model::ConfigPatch;
use bulkhead_model::plugin::{CONNECTORS, PluginCatalog, PluginDesc, PluginKind};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::body::Body;
use crate::document::{self, Asked, Conflict, Scalar, WithBody};
use crate::error::{Error, ErrorBody};
use crate::json::Json;
use crate::path::Plugin;
use crate::query::{Parameters, is_true};

/// `PluginInfo`.
#[derive(Serialize, ToSchema)]
pub(super) struct PluginInfo<'a> {
    class: &'a str,
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    kind: PluginKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
}

/// `GET /connector-plugins`: connectors, unless `connectorsOnly` is there and isn't `true`.
#[utoipa::path(
    get, path = "/connector-plugins", operation_id = "listPlugins",
    params(("connectorsOnly" = Option<bool>, Query, description = "False: converters, transformations and predicates too.")),
    responses((status = 200, description = "What is installed.", body = Vec<PluginInfo<'_>>)),
)]
pub(super) async fn list(State(app): State<App>, query: Parameters) -> Response {
    let connectors_only = query.get("connectorsOnly").is_none_or(|value| value.is_empty() || is_true(value));
    let view = app.view();
    let wanted = |plugin: &&Arc<PluginDesc>| !connectors_only || CONNECTORS.contains(&plugin.kind);
    let plugins: Vec<_> = view.plugins.iter().filter(wanted).map(|plugin| PluginInfo::from(&**plugin)).collect();
    Json(plugins).into_response()
}

/// `GET /connector-plugins/{plugin}/config`: the keys of a plugin; for a connector also those that all
/// connectors have.
#[utoipa::path(
    get, path = "/connector-plugins/{plugin}/config", operation_id = "getPluginConfig",
    params(Plugin, ("version" = Option<String>, Query, description = "`latest`, a version or a range (KIP-891).")),
    responses(
    (status = 200, description = "The plugin's configuration keys.", body = Vec<document::ConfigKeyInfo>),
    (status = 400, description = "There is no such version.", body = ErrorBody),
    (status = 404, description = "There is no such plugin.", body = ErrorBody),
    ),
)]
pub(super) async fn config(
    State(app): State<App>,
    Plugin(name): Plugin,
    query: Parameters,
) -> Result<Json<Vec<ConfigKeyInfo>>, Error> {
    Ok(Json(app.view().plugin_keys(&name, query.get("version"))?))
}

/// `PUT /connector-plugins/{plugin}/config/validate`
#[utoipa::path(
    put, path = "/connector-plugins/{plugin}/config/validate", operation_id = "validateConfig", params(Plugin),
    request_body(content = HashMap<String, Scalar>, description = "A configuration."),
    responses(
    (status = 200, description = "What is to be said of the configuration, mistakes or not.", body = document::ConfigInfos),
    WithBody, Conflict, Asked,
    ),
)]
pub(super) async fn validate(
    State(app): State<App>,
    Plugin(name): Plugin,
    body: Body,
) -> Result<Json<ConfigInfos>, Error> {
    let config = body.config()?;
    check_class(&app.view().plugins, &name, &config)?;
    match app.ask(Request::ValidateConfig { config }).await? {
        Reply::Validated(infos) => Ok(Json(infos)),
        _ => Err(Error::unexpected()),
    }
}

/// A client that asks about one plugin and sends the configuration of another has mixed something up.
/// The path may be any ending of the class name, or another name of the same plugin.
fn check_class(catalog: &PluginCatalog, plugin: &str, config: &ConfigPatch) -> Result<(), Error> {
    let Some(Some(class)) = config.get("connector.class") else {
        return Ok(());
    };
    let same = || catalog.connector(plugin).is_ok_and(|found| catalog.connector(class) == Ok(found));
    if short(class).ends_with(short(plugin)) || same() {
        return Ok(());
    }
    Err(Error::bad_request(format!("`connector.class` is `{class}`, but the path asks for `{plugin}`")))
}

fn short(class: &str) -> &str {
    class.strip_suffix("Connector").unwrap_or(class)
}

impl<'a> From<&'a PluginDesc> for PluginInfo<'a> {
    fn from(plugin: &'a PluginDesc) -> Self {
        Self { class: &plugin.class, kind: plugin.kind, version: plugin.version.as_deref() }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Client;

    #[tokio::test]
    async fn connectors_are_listed_and_on_request_all_plugins() {
        let client = Client::new();
        let connector = |version: &str| {
            format!(r#"{{"class":"io.example.FileSourceConnector","type":"source","version":"{version}"}}"#)
        };
        let connectors = format!("200 [{},{}]", connector("0.9"), connector("1.0"));
        for query in ["", "?connectorsOnly=true", "?connectorsOnly=", "?connectorsOnly"] {
            assert_eq!(client.ask(&format!("GET /connector-plugins{query}"), "").await, connectors, "{query}");
        }
        for query in ["?connectorsOnly=false", "?connectorsOnly=perhaps"] {
            let all = client.ask(&format!("GET /connector-plugins{query}"), "").await;
            assert!(all.contains(r#"{"class":"io.example.JsonConverter","type":"header_converter"}"#), "{all}");
        }
    }

    #[tokio::test]
    async fn the_keys_of_a_plugin_are_shown_and_of_a_connector_the_common_ones_after_them() {
        let client = Client::new();
        let converter = client.ask("GET /connector-plugins/Json/config", "").await;
        assert!(converter.starts_with(r#"200 [{"name":"schemas","type":"STRING","required":true,"#), "{converter}");
        assert!(!converter.contains("tasks.max"), "{converter}");
        for query in ["", "?version=latest", "?version=1.0", "?version=%5B0.1,%29"] {
            let source = client.ask(&format!("GET /connector-plugins/FileSource/config{query}"), "").await;
            assert!(source.starts_with(r#"200 [{"name":"file","#), "{source}");
            assert!(source.contains(r#"{"name":"tasks.max","type":"INT","#), "{source}");
        }
        for version in ["0.9", "(,1)"] {
            let source = client.ask(&format!("GET /connector-plugins/FileSource/config?version={version}"), "").await;
            assert!(source.starts_with(r#"200 [{"name":"old","#), "{source}");
        }
    }

    #[tokio::test]
    async fn a_version_that_is_not_there_is_400_and_an_unknown_plugin_404() {
        let client = Client::new();
        for version in ["9999.1", "%5B2,3%29", "", "nonsense"] {
            let answer = client.send(&format!("GET /connector-plugins/FileSource/config?version={version}"), "").await;
            assert_eq!(answer.status, 400, "{version}");
            assert!(answer.message().ends_with("available versions: [0.9, 1.0]"));
        }
        for plugin in ["no.such.Plugin", "%20", "filesource"] {
            let answer = client.send(&format!("GET /connector-plugins/{plugin}/config"), "").await;
            assert_eq!(answer.status, 404, "{plugin}");
        }
    }

    #[tokio::test]
    async fn a_configuration_is_validated_under_any_name_of_its_class() {
        let client = Client::new();
        let config = r#"{"connector.class": "io.example.FileSourceConnector"}"#;
        for plugin in ["io.example.FileSourceConnector", "FileSource", "Source"] {
            let answer = client.ask(&format!("PUT /connector-plugins/{plugin}/config/validate"), config).await;
            assert!(answer.starts_with(r#"200 {"name":"io.example.FileSourceConnector","error_count":0,"#), "{answer}");
        }
        let alias = r#"{"connector.class": "FileSource"}"#;
        let path = "PUT /connector-plugins/io.example.FileSourceConnector/config/validate";
        assert_eq!(client.send(path, alias).await.status, 200);
    }

    #[tokio::test]
    async fn another_class_than_the_path_asks_for_is_400() {
        let client = Client::new();
        let path = "PUT /connector-plugins/FileSink/config/validate";
        let answer = client.send(path, r#"{"connector.class": "FileSource"}"#).await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.message(), "`connector.class` is `FileSource`, but the path asks for `FileSink`");
        assert_eq!(client.send(path, "{}").await.status, 400);
        assert_eq!(client.send(path, "").await.status, 400);
    }
}
