//! Values written with a schema that wasn't made from theirs.

use bulkhead_model::value::Struct;

use super::*;

const OWN: &str = r#"{"type":"struct","name":"R","fields":[
    {"field":"a","type":"int32"},{"field":"b","type":"string","optional":true},{"field":"c","type":"float"}]}"#;

fn check(latest: &str) -> String {
    let schema = connect(OWN).unwrap();
    let values = vec![Value::Int32(7), Value::string("x"), Value::Float32(0.5)];
    let value = Value::Struct(Struct { schema: schema.clone(), values });
    let written = encode_as(latest, Some(&schema), &value, &MAPPING);
    match written.and_then(|bytes| decode_as(latest, &bytes, &MAPPING)) {
        Ok(SchemaAndValue { value: Value::Struct(read), .. }) => {
            let fields: Vec<_> = read.fields().map(|(field, value)| format!("{}={value:?}", field.name)).collect();
            fields.join(" ")
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => error.to_string(),
    }
}

fn record(fields: &str) -> String {
    format!(r#"{{"type":"record","name":"R","fields":[{fields}]}}"#)
}

#[test]
fn fields_go_by_name_numbers_are_widened_and_others_are_left_out() {
    let latest = record(
        r#"{"name":"c","type":"double"},{"name":"new","type":"string","default":"d"},{"name":"a","type":["null","long"]}"#,
    );
    assert_eq!(check(&latest), r#"c=Float64(0.5) new=String("d") a=Int64(7)"#);
    let latest = record(r#"{"name":"b","type":["string","null"]},{"name":"n","type":["null","int"],"default":null}"#);
    assert_eq!(check(&latest), r#"b=String("x") n=Null"#);
}

#[test]
fn what_does_not_fit_is_named() {
    assert_eq!(
        check(&record(r#"{"name":"z","type":"int"}"#)),
        "The Avro record `R` has a field `z` without default, which the value doesn't have"
    );
    assert_eq!(
        check(&record(r#"{"name":"a","type":"string"}"#)),
        "field `a`: A value of INT32 can't be written as an Avro string"
    );
    assert_eq!(check(r#""int""#), "A value of R (STRUCT) can't be written as an Avro int");
}

#[test]
fn the_exact_type_of_a_union_comes_before_a_wider_one() {
    let latest = record(r#"{"name":"a","type":["double","long","int"]}"#);
    let schema = connect(OWN).unwrap();
    let values = vec![Value::Int32(7), Value::Null, Value::Float32(0.5)];
    let value = Value::Struct(Struct { schema: schema.clone(), values });
    assert_eq!(encode_as(&latest, Some(&schema), &value, &MAPPING).unwrap(), [4, 14]);
}
