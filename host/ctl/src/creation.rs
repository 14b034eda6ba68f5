//! Creating connectors, with offsets also on workers that don't take them in a create request.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use ureq::http::Method;

use crate::answers::{Info, Offsets};
use crate::arguments::State;
use crate::client::{Answer, Client, connector};
use crate::commands::lifecycle;
use crate::error::Error;
use crate::terminal::Terminal;

/// A create request.
#[derive(Clone, Debug, Serialize)]
pub struct Request {
    pub name: String,
    pub config: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_state: Option<State>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offsets: Vec<Box<RawValue>>,
}

/// Creates it as asked for, or says what of it was done.
pub fn create(client: &Client, terminal: &mut Terminal<'_>, request: Request) -> Result<Answer, Error> {
    match client.send(Method::POST, "/connectors", &request) {
        Err(Error::Refused { message, .. }) if !request.offsets.is_empty() && is_about_offsets(&message) => {
            terminal.note("the worker takes no offsets at creation: they are set while the connector is stopped");
            create_stopped(client, request)
        }
        outcome => outcome,
    }
}

/// Apache's workers don't know the member, and have only words to say so (Jackson's).
fn is_about_offsets(message: &str) -> bool {
    message.starts_with("Unrecognized field \"offsets\"")
}

/// In steps, as KIP-980 and KIP-875 have it: nothing runs before the offsets are there.
fn create_stopped(client: &Client, mut request: Request) -> Result<Answer, Error> {
    let offsets = std::mem::take(&mut request.offsets);
    let wanted = request.initial_state.replace(State::Stopped);
    let answer = client.send(Method::POST, "/connectors", &request)?;
    // Names are trimmed by the worker.
    let Info { name } = answer.read()?;
    let set = client.send(Method::PATCH, &connector(&name, "/offsets"), &Offsets { offsets });
    set.map_err(Error::after(format!("`{name}` was created and is STOPPED, without its offsets")))?;
    let running = lifecycle::leave_stopped_for(client, &name, wanted.unwrap_or(State::Running));
    running.map_err(Error::after(format!("`{name}` was created with its offsets and is STOPPED")))?;
    Ok(answer)
}
