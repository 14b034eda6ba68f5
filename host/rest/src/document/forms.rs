//! The forms of JSON that no type of this crate stands for: what is read piece by piece, and what types of other
//! crates write, which know nothing of OpenAPI. A test holds the latter to what is written.

#![expect(dead_code, reason = "described here only")]

use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{Components, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::levels::Level;
use crate::negotiation::WASM;
use crate::routes::CreateRequest;

/// A text, or what is taken for one as it is written.
pub(crate) enum Scalar {}

impl ToSchema for Scalar {}

impl PartialSchema for Scalar {
    fn schema() -> RefOr<Schema> {
        let description = "A text; numbers and booleans are taken as they are written.";
        one_of_types([Type::String, Type::Number, Type::Boolean]).description(Some(description)).into()
    }
}

/// A component, which is no JSON.
pub(crate) enum Component {}

impl ToSchema for Component {}

impl PartialSchema for Component {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).content_media_type(WASM).into()
    }
}

/// What changes of a configuration.
pub(crate) enum ConfigPatch {}

impl ToSchema for ConfigPatch {}

impl PartialSchema for ConfigPatch {
    fn schema() -> RefOr<Schema> {
        let value = one_of_types([Type::String, Type::Number, Type::Boolean, Type::Null]);
        let object = ObjectBuilder::new().schema_type(Type::Object).additional_properties(Some(value));
        object.description(Some("What changes of a configuration; null removes a key.")).into()
    }
}

fn one_of_types(types: impl IntoIterator<Item = Type>) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::from_iter(types))
}

/// New offsets.
#[derive(ToSchema)]
pub(crate) struct OffsetsPatch {
    #[schema(min_items = 1)]
    offsets: Vec<NewOffset>,
}

/// An offset to begin with; none or null forgets the one that there is.
#[derive(ToSchema)]
pub(crate) struct NewOffset {
    #[schema(value_type = Option<Object>)]
    partition: (),
    #[schema(value_type = Option<Object>)]
    offset: (),
}

/// A level of a logger.
#[derive(ToSchema)]
pub(crate) struct LevelRequest {
    /// In any case.
    level: Level,
}

/// Bodies with a member that isn't known are refused.
pub(super) fn close(components: &mut Components) {
    for name in [CreateRequest::name(), OffsetsPatch::name(), NewOffset::name()] {
        if let Some(RefOr::T(Schema::Object(object))) = components.schemas.get_mut(&*name) {
            object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
        }
    }
}

/// A task's place.
#[derive(ToSchema)]
pub(crate) struct TaskId {
    connector: String,
    task: u32,
}

/// What is to be said of a configuration.
#[derive(ToSchema)]
pub(crate) struct ConfigInfos {
    /// `connector.class`, as given.
    name: String,
    error_count: u32,
    groups: Vec<String>,
    configs: Vec<ConfigInfo>,
}

/// What is to be said of one key. Keys without definition appear only if something is wrong.
#[derive(ToSchema)]
pub(crate) struct ConfigInfo {
    #[schema(required)]
    definition: Option<ConfigKeyInfo>,
    #[schema(required)]
    value: Option<ConfigValueInfo>,
}

/// A configuration key.
#[derive(ToSchema)]
pub(crate) struct ConfigKeyInfo {
    name: String,
    #[schema(rename = "type")]
    kind: ConfigType,
    required: bool,
    #[schema(required)]
    default_value: Option<String>,
    importance: Importance,
    documentation: String,
    #[schema(required)]
    group: Option<String>,
    order_in_group: i32,
    width: Width,
    display_name: String,
    dependents: Vec<String>,
}

/// The value of a configuration key.
#[derive(ToSchema)]
pub(crate) struct ConfigValueInfo {
    name: String,
    #[schema(required)]
    value: Option<String>,
    recommended_values: Vec<String>,
    errors: Vec<String>,
    visible: bool,
}

#[derive(ToSchema)]
#[schema(rename_all = "UPPERCASE")]
enum ConfigType {
    Boolean,
    String,
    Int,
    Short,
    Long,
    Double,
    List,
    Class,
    Password,
}

#[derive(ToSchema)]
#[schema(rename_all = "UPPERCASE")]
enum Importance {
    High,
    Medium,
    Low,
}

#[derive(ToSchema)]
#[schema(rename_all = "UPPERCASE")]
enum Width {
    None,
    Short,
    Medium,
    Long,
}
