//! Errors, by the reason why a resource may answer with them.

use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{Components, Content, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

use crate::error::ErrorBody;

/// A status, and when it is answered.
type Errors = &'static [(u16, &'static str)];

/// Some errors, all with the same form of body.
pub(crate) trait Responses {
    const ERRORS: Errors;

    fn responses() -> impl Iterator<Item = (String, RefOr<Response>)> {
        Self::ERRORS.iter().map(|(status, description)| (status.to_string(), error(*status, description).into()))
    }
}

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident: [$($error:expr),+];)+) => {$(
        $(#[$doc])*
        pub(crate) enum $name {}

        impl Responses for $name {
            const ERRORS: Errors = &[$($error),+];
        }

        impl utoipa::IntoResponses for $name {
            fn responses() -> std::collections::BTreeMap<String, RefOr<Response>> {
                <Self as Responses>::responses().collect()
            }
        }
    )+};
}

errors! {
    /// Of every path.
    Anywhere: [
        (400, "The path has an empty segment, or is no percent-encoded UTF-8."),
        (414, "The path is too long."),
        (500, "The worker made a mistake.")
    ];
    /// Answers are JSON.
    NotAcceptable: [(406, "The client takes no JSON.")];
    /// Requests have to declare their bodies as JSON, if at all.
    NotJson: [(415, "The body isn't declared as `application/json`.")];
    /// A body is read.
    WithBody: [
        (400, "The body isn't what it has to be; the message says where."),
        (408, "The body didn't arrive in time."),
        (413, "The body is too large.")
    ];
    /// A body is taken piece by piece.
    Received: [
        (408, "The body didn't arrive in time."),
        (413, "The body is too large.")
    ];
    NoSuchConnector: [(404, "There is no such connector.")];
    /// The herder is asked.
    Asked: [
        (500, "The connector, its plugin or one of the worker's topics failed, or the request took too long."),
        (503, "The worker can't do that at present.")
    ];
    /// A rebalance may be in the way, or the worker that has to be asked.
    Conflict: [(409, "The cluster is about to rebalance; ask again.")];
}

pub(super) fn register(components: &mut Components) {
    components.schemas.insert(ErrorBody::name().into_owned(), ErrorBody::schema());
}

fn error(status: u16, description: &str) -> Response {
    let body = Content::new(Some(Ref::from_schema_name(ErrorBody::name())));
    let response = ResponseBuilder::new().description(description).content("application/json", body);
    let response = match status {
        409 | 503 => response.header("Retry-After", retry_after()),
        _ => response,
    };
    response.build()
}

fn retry_after() -> utoipa::openapi::Header {
    let seconds = ObjectBuilder::new().schema_type(Type::Integer);
    HeaderBuilder::new().schema(Some(seconds)).description(Some("Seconds, if asking again may help.")).build()
}
