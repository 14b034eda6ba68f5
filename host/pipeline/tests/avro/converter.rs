use bulkhead_model::value::{Field, Schema, SchemaType, Struct, Value};
use bulkhead_pipeline::batch::{Encoding, Item};
use bulkhead_pipeline::convert::{ConvertError, Encoded, SchemaAndValue};
use bulkhead_pipeline::ports::RegistryError;

use super::*;

/// Converts, and asks the registry as often as that takes.
async fn write(
    converter: &dyn Converter,
    topic: &str,
    schema: Option<&Arc<Schema>>,
    value: &Value,
) -> Result<Option<Vec<u8>>, ConvertError> {
    loop {
        match converter.from_connect(topic, schema, value) {
            Err(ConvertError::Missing(lookup)) => converter.lookups().unwrap().look_up(lookup).await?,
            settled => return settled,
        }
    }
}

async fn read(converter: &dyn Converter, topic: &str, bytes: &[u8]) -> Result<SchemaAndValue, ConvertError> {
    loop {
        match converter.to_connect(topic, Some(bytes)) {
            Err(ConvertError::Missing(lookup)) => converter.lookups().unwrap().look_up(lookup).await?,
            settled => return settled,
        }
    }
}

fn string() -> Arc<Schema> {
    Arc::new(Schema::required(SchemaType::String))
}

fn order(fields: &[(&str, SchemaType)]) -> Arc<Schema> {
    let fields = fields
        .iter()
        .map(|(name, kind)| Field { name: (*name).into(), schema: Arc::new(Schema::required(kind.clone())) });
    Arc::new(Schema::required(SchemaType::Struct(fields.collect())).named("shop.Order"))
}

fn order_of(schema: &Arc<Schema>, values: Vec<Value>) -> Value {
    Value::Struct(Struct { schema: schema.clone(), values })
}

#[tokio::test]
async fn a_schema_is_registered_once_for_each_subject() {
    let registry = MemoryRegistry::default();
    let values = converter(&registry, Role::Value, &[]);
    for text in ["a", "b"] {
        let bytes = write(&*values, "t", Some(&string()), &Value::string(text)).await.unwrap();
        assert_eq!(bytes, Some(super::text(1, text)));
    }
    let keys = converter(&registry, Role::Key, &[]);
    write(&*keys, "t", Some(&string()), &Value::string("a")).await.unwrap();
    write(&*values, "u", Some(&string()), &Value::string("a")).await.unwrap();
    assert_eq!(registry.asked(), ["register t-value", "register t-key", "register u-value"]);
    assert_eq!(registry.schemas("t-value"), [r#""string""#]);
}

#[tokio::test]
async fn a_null_needs_no_schema() {
    let registry = MemoryRegistry::default();
    let values = converter(&registry, Role::Value, &[]);
    let optional = Arc::new(Schema::optional(SchemaType::String));
    for schema in [None, Some(&optional)] {
        assert_eq!(values.from_connect("t", schema, &Value::Null), Ok(None));
        let item = Item { encoding: Encoding::Cbor, schema, bytes: &[0xf6] };
        assert_eq!(values.encode("t", item, &mut Vec::new()), Ok(Encoded::Null));
    }
    let error = values.from_connect("t", Some(&string()), &Value::Null).unwrap_err();
    assert_eq!(error.to_string(), "Found null value for non-optional schema");
    assert_eq!(values.to_connect("t", None), Ok(SchemaAndValue::NULL));
    assert!(registry.asked().is_empty());
}

#[tokio::test]
async fn subjects_go_by_the_strategy_of_keys_or_values() {
    let registry = MemoryRegistry::default();
    let package = "io.confluent.kafka.serializers.subject";
    let (record, both) = (format!("{package}.RecordNameStrategy"), format!("{package}.TopicRecordNameStrategy"));
    let settings = [("key.subject.name.strategy", &*record), ("value.subject.name.strategy", &*both)];
    let schema = order(&[("id", SchemaType::Int32)]);
    let value = order_of(&schema, vec![Value::Int32(1)]);
    for role in [Role::Key, Role::Value] {
        write(&*converter(&registry, role, &settings), "t", Some(&schema), &value).await.unwrap();
    }
    assert_eq!(registry.asked(), ["register shop.Order", "register t-shop.Order"]);
}

#[tokio::test]
async fn without_registering_the_schema_has_to_be_there() {
    let registry = MemoryRegistry::default();
    let values = converter(&registry, Role::Value, &[("auto.register.schemas", "false")]);
    let error = write(&*values, "t", Some(&string()), &Value::string("a")).await.unwrap_err();
    let expected = "Error retrieving Avro schema\ncaused by: subject `t-value`: Schema not found";
    assert_eq!(error, ConvertError::Data(expected.to_owned()));
    registry.put("t-value", r#""string""#);
    assert_eq!(write(&*values, "t", Some(&string()), &Value::string("a")).await, Ok(Some(text(1, "a"))));
    assert_eq!(registry.asked(), ["find t-value", "find t-value"]);
}

#[tokio::test]
async fn the_latest_version_is_written_if_it_can_read_what_there_is() {
    let registry = MemoryRegistry::default();
    let latest = |strict| {
        let settings = [
            ("auto.register.schemas", "false"),
            ("use.latest.version", "true"),
            ("latest.compatibility.strict", strict),
        ];
        converter(&registry, Role::Value, &settings)
    };
    let schema = order(&[("id", SchemaType::Int32), ("gone", SchemaType::String)]);
    let value = order_of(&schema, vec![Value::Int32(1), Value::string("x")]);
    registry.put(
        "t-value",
        r#"{"type":"record","name":"Order","namespace":"shop","fields":[
        {"name":"new","type":"boolean","default":true},{"name":"id","type":"long"}]}"#,
    );
    let strict = latest("true");
    assert_eq!(write(&*strict, "t", Some(&schema), &value).await, Ok(Some(vec![0, 0, 0, 0, 1, 1, 2])));
    assert_eq!(write(&*strict, "t", Some(&schema), &value).await, Ok(Some(vec![0, 0, 0, 0, 1, 1, 2])));
    assert_eq!(registry.asked(), ["latest t-value"]);
    registry.put(
        "u-value",
        r#"{"type":"record","name":"Order","namespace":"shop","fields":[
        {"name":"id","type":["int","string"]},{"name":"needed","type":"int"}]}"#,
    );
    let error = write(&*strict, "u", Some(&schema), &value).await.unwrap_err().to_string();
    assert!(error.starts_with("Incompatible schema of type 'AVRO'. Set latest.compatibility.strict=false"), "{error}");
    let error = write(&*latest("false"), "u", Some(&schema), &value).await.unwrap_err().to_string();
    assert!(error.contains("has a field `needed` without default"), "{error}");
}

#[tokio::test]
async fn what_is_read_has_the_version_of_its_subject() {
    let registry = MemoryRegistry::default();
    registry.put("t-value", r#""int""#);
    let id = registry.put("t-value", r#""string""#) as u8;
    let values = converter(&registry, Role::Value, &[]);
    for text in ["a", "b"] {
        let SchemaAndValue { schema, value } = read(&*values, "t", &super::text(id, text)).await.unwrap();
        assert_eq!((schema.unwrap().version, value), (Some(2), Value::string(text)));
    }
    assert_eq!(registry.asked(), ["id 2", "find t-value"]);
    // A topic that was filled under another name is read as well.
    let other = read(&*values, "other", &super::text(id, "a")).await.unwrap();
    assert_eq!(other.schema.unwrap().version, None);
}

#[tokio::test]
async fn bytes_of_others_are_refused_without_asking() {
    let registry = MemoryRegistry::default();
    let values = converter(&registry, Role::Value, &[]);
    for bytes in [&b""[..], b"{}", &[0, 0, 0, 1], &[1, 0, 0, 0, 1, 0]] {
        let error = read(&*values, "t", bytes).await.unwrap_err();
        let expected = "Failed to deserialize data for topic t to Avro:\ncaused by: Unknown magic byte";
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    assert!(registry.asked().is_empty());
    let error = read(&*values, "t", &[0, 0xff, 0xff, 0xff, 0xff]).await.unwrap_err();
    let expected =
        "Error retrieving Avro schema for id 4294967295\ncaused by: schema with id 4294967295: Schema not found";
    assert_eq!(error, ConvertError::Data(expected.to_owned()));
}

#[tokio::test]
async fn what_may_pass_is_told_apart() {
    let registry = MemoryRegistry::default();
    registry.fail([RegistryError::Retriable("busy".to_owned()), RegistryError::Refused("no".to_owned())]);
    let values = converter(&registry, Role::Value, &[]);
    let message = |cause| format!("Error registering Avro schema\ncaused by: {cause}");
    let outcome = write(&*values, "t", Some(&string()), &Value::string("a")).await;
    assert_eq!(outcome, Err(ConvertError::Retriable(message("busy"))));
    let outcome = write(&*values, "t", Some(&string()), &Value::string("a")).await;
    assert_eq!(outcome, Err(ConvertError::Data(message("no"))));
}

#[tokio::test]
async fn no_more_is_remembered_than_is_asked_for() {
    let registry = MemoryRegistry::default();
    let values = converter(&registry, Role::Value, &[("max.schemas.per.subject", "1"), ("schemas.cache.config", "0")]);
    for topic in ["t", "u", "t"] {
        write(&*values, topic, Some(&string()), &Value::string("a")).await.unwrap();
    }
    assert_eq!(registry.asked(), ["register t-value", "register u-value", "register t-value"]);
}
