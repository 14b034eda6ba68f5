//! Validation of connector configurations, and its answer (`ConfigInfos`).

use bulkhead_model::config::{ConfigType, Importance, Width};
use serde::Serialize;

/// The answer of `PUT /connector-plugins/{plugin}/config/validate`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigInfos {
    pub name: String,
    pub error_count: usize,
    pub groups: Vec<String>,
    pub configs: Vec<ConfigInfo>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigInfo {
    pub definition: Option<ConfigKeyInfo>,
    pub value: Option<ConfigValueInfo>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigKeyInfo {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: ConfigType,
    pub required: bool,
    pub default_value: Option<String>,
    pub importance: Importance,
    pub documentation: String,
    pub group: Option<String>,
    pub order_in_group: i32,
    pub width: Width,
    pub display_name: String,
    pub dependents: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigValueInfo {
    pub name: String,
    pub value: Option<String>,
    pub recommended_values: Vec<String>,
    pub errors: Vec<String>,
    pub visible: bool,
}
