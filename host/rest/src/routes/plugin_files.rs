//! The files that plugins are in on this worker. Kafka Connect has nothing like it; in a cluster every worker is asked,
//! and given plugins, by itself.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::plugins::PluginInfo;
use crate::app::App;
use crate::body::Pieces;
use crate::document::{Component, Received};
use crate::error::{Error, ErrorBody};
use crate::json::Json;
use crate::negotiation::check_wasm;
use crate::ports::{Installed, PluginFile};

/// Time in which a plugin has to arrive; nobody else can hand one in meanwhile.
const DEADLINE: Duration = Duration::from_secs(10 * 60);

const NOT_ENABLED: &str = "this worker takes no plugins; its property `plugin.upload.enable=true` lets everybody who \
                           reaches this interface install some";

/// A file on `plugin.path`.
#[derive(Serialize, ToSchema)]
struct FileInfo<'a> {
    /// Without its folder.
    file: &'a str,
    /// `sha256:` and the digest of the file; null if it is no component.
    #[schema(required)]
    digest: Option<String>,
    /// What it provides.
    plugins: Vec<PluginInfo<'a>>,
    /// Why it is of no use, or not in full.
    #[schema(required)]
    broken: Option<String>,
}

/// A plugin that is installed.
#[derive(Serialize, ToSchema)]
struct InstalledPlugin<'a> {
    /// Without its folder.
    file: &'a str,
    /// `sha256:` and the digest of the file.
    #[schema(value_type = String)]
    digest: Option<String>,
    /// What it provides.
    plugins: Vec<PluginInfo<'a>>,
}

/// `GET /bulkhead/plugins`
#[utoipa::path(
    get, path = "/bulkhead/plugins", operation_id = "listPluginFiles",
    responses((status = 200, description = "The files on this worker's `plugin.path`.", body = Vec<FileInfo<'_>>)),
)]
pub(super) async fn list(State(app): State<App>) -> Response {
    let files = app.plugin_files().list();
    Json(files.iter().map(FileInfo::from).collect::<Vec<_>>()).into_response()
}

/// `PUT /bulkhead/plugins`: installs a plugin on this worker, which needs no restart for it.
#[utoipa::path(
    put, path = "/bulkhead/plugins", operation_id = "installPlugin",
    request_body(content = Component, content_type = "application/wasm", description = "A component."),
    responses(
    (status = 200, description = "It was there already.", body = InstalledPlugin<'_>),
    (status = 201, description = "It is installed.", body = InstalledPlugin<'_>),
    (status = 400, description = "It is no plugin, or not for this worker.", body = ErrorBody),
    (status = 403, description = "The worker takes no plugins (`plugin.upload.enable`).", body = ErrorBody),
    (status = 409, body = ErrorBody, description = "The same class and version is there with other content, no folder \
     can be written to, or another plugin is being installed."),
    (status = 415, description = "The body isn't declared as `application/wasm`.", body = ErrorBody),
    Received,
    ),
)]
pub(super) async fn install(State(app): State<App>, request: Request) -> Result<Response, Error> {
    let declared = check_wasm(request.headers());
    let mut pieces = Pieces::of(request);
    let received = match declared {
        Ok(()) => timeout(DEADLINE, receive(&app, &mut pieces)).await,
        Err(refused) => Ok(Err(refused)),
    };
    let too_slow = |_| Err(Error::BodyTooSlow { seconds: DEADLINE.as_secs() });
    let Installed { file, is_new } = match received.unwrap_or_else(too_slow) {
        Ok(installed) => installed,
        Err(refused) => {
            if !matches!(refused, Error::BodyTooSlow { .. }) {
                pieces.discard().await;
            }
            return Err(refused);
        }
    };
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let PluginFile { name, plugins, .. } = &file;
    let plugins = plugins.iter().map(|plugin| PluginInfo::from(&**plugin)).collect();
    Ok((status, Json(InstalledPlugin { file: name, digest: digest(&file), plugins })).into_response())
}

async fn receive(app: &App, pieces: &mut Pieces) -> Result<Installed, Error> {
    let files = app.plugin_files();
    let limit = files.max_bytes().ok_or_else(|| Error::Forbidden(NOT_ENABLED.to_owned()))?;
    let too_large = || Err(Error::BodyTooLarge { limit });
    if pieces.declared() > limit {
        return too_large();
    }
    let (mut upload, mut length) = (files.begin().await?, 0_u64);
    while let Some(piece) = pieces.next().await? {
        length = length.saturating_add(piece.len() as u64);
        if length > limit {
            return too_large();
        }
        upload.write(&piece).await?;
    }
    Ok(upload.install().await?)
}

fn digest(file: &PluginFile) -> Option<String> {
    file.digest.as_ref().map(|digest| format!("sha256:{digest}"))
}

impl<'a> From<&'a PluginFile> for FileInfo<'a> {
    fn from(file: &'a PluginFile) -> Self {
        Self {
            file: &file.name,
            digest: digest(file),
            plugins: file.plugins.iter().map(|plugin| PluginInfo::from(&**plugin)).collect(),
            broken: (!file.faults.is_empty()).then(|| file.faults.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Client;

    const WASM: [(&str, &str); 1] = [("content-type", "application/wasm")];
    const PUT: &str = "PUT /bulkhead/plugins";
    const FILE: &str =
        r#""file":"X-1.0.wasm","digest":"sha256:3","plugins":[{"class":"x.X","type":"source","version":"1.0"}]"#;

    async fn put(client: &Client, body: &str) -> String {
        let answer = client.send_with(PUT, &WASM, body).await;
        assert_eq!(answer.header("content-type"), "application/json");
        format!("{} {}", answer.status.as_u16(), answer.body)
    }

    #[tokio::test]
    async fn a_plugin_that_is_put_is_there_and_putting_it_again_changes_nothing() {
        let client = Client::new();
        client.plugin_files.take(100);
        assert_eq!(client.ask("GET /bulkhead/plugins", "").await, "200 []");
        assert_eq!(put(&client, "x.X").await, format!("201 {{{FILE}}}"));
        assert_eq!(put(&client, "x.X").await, format!("200 {{{FILE}}}"));
        assert_eq!(client.ask("GET /bulkhead/plugins", "").await, format!(r#"200 [{{{FILE},"broken":null}}]"#));
    }

    #[tokio::test]
    async fn a_file_that_is_of_no_use_is_listed_with_what_is_wrong() {
        let client = Client::new();
        client.plugin_files.add_broken("a.wasm", &["one thing", "another"]);
        let expected = r#"200 [{"file":"a.wasm","digest":null,"plugins":[],"broken":"one thing; another"}]"#;
        assert_eq!(client.ask("GET /bulkhead/plugins", "").await, expected);
    }

    #[tokio::test]
    async fn what_is_no_plugin_is_refused_and_leaves_nothing_behind() {
        let client = Client::new();
        client.plugin_files.take(100);
        for (body, status, message) in [
            ("", 400, "the component is empty"),
            ("taken", 409, "the version is taken"),
            ("busy", 409, "another plugin comes in"),
            ("broken disk", 500, "the disk is broken"),
        ] {
            let answer = client.send_with(PUT, &WASM, body).await;
            assert_eq!((answer.status.as_u16(), answer.message().as_str()), (status, message));
            assert_eq!(answer.header("retry-after"), if body == "busy" { "1" } else { "" });
        }
        assert_eq!(client.ask("GET /bulkhead/plugins", "").await, "200 []");
    }

    #[tokio::test]
    async fn plugins_are_taken_only_where_that_is_enabled() {
        let client = Client::new();
        let answer = client.send_with(PUT, &WASM, "x.X").await;
        assert_eq!(answer.status.as_u16(), 403);
        assert!(answer.message().contains("plugin.upload.enable=true"));
    }

    #[tokio::test]
    async fn a_plugin_that_is_too_large_is_413() {
        let client = Client::new();
        client.plugin_files.take(3);
        let answer = client.send_with(PUT, &WASM, "x.XX").await;
        assert_eq!(answer.status.as_u16(), 413);
        assert_eq!(answer.message(), "the body is larger than the 3 bytes that a request may have");
        let pieces = [Ok::<_, std::io::Error>("x."), Ok("X"), Ok("X")];
        let answer = client.send_pieces(PUT, &WASM, pieces).await;
        assert_eq!(answer.status.as_u16(), 413);
        assert_eq!(client.ask("GET /bulkhead/plugins", "").await, "200 []");
    }

    #[tokio::test]
    async fn a_plugin_whose_client_goes_away_is_dropped() {
        let client = Client::new();
        client.plugin_files.take(100);
        let pieces = [Ok("x."), Err(std::io::Error::other("gone"))];
        assert_eq!(client.send_pieces(PUT, &WASM, pieces).await.status.as_u16(), 400);
        assert_eq!(client.ask("GET /bulkhead/plugins", "").await, "200 []");
    }

    #[tokio::test]
    async fn a_plugin_is_declared_as_such() {
        let client = Client::new();
        client.plugin_files.take(100);
        for (headers, message) in [
            (
                &[("content-type", "application/json")][..],
                "`Content-Type: application/wasm`, not as `application/json`",
            ),
            (&[], "declared as nothing: send `Content-Type: application/wasm`"),
        ] {
            let answer = client.send_with(PUT, headers, "x.X").await;
            assert_eq!(answer.status.as_u16(), 415);
            assert!(answer.message().ends_with(message), "{}", answer.message());
        }
        let answer = client.send_with(PUT, &[("content-type", "application/WASM; x=y")], "x.X").await;
        assert_eq!(answer.status.as_u16(), 201);
    }
}
