use super::*;

const SCRUBBED: Mapping = Mapping { scrub_names: true, ..MAPPING };
const ENHANCED: Mapping = Mapping { enhanced: true, ..MAPPING };
const PLAIN: Mapping = Mapping { meta_data: false, ..MAPPING };

fn written(schema: &str, mapping: &Mapping) -> String {
    match write_schema(connect(schema).as_deref(), mapping) {
        Ok(avro) => avro,
        Err(error) => error.to_string(),
    }
}

fn read(avro: &str, mapping: &Mapping) -> String {
    match parse(avro).and_then(|of| read_schema(&of, None, mapping)) {
        Ok(Readable { schema: Some(schema), .. }) => shown(&schema),
        Ok(Readable { schema: None, .. }) => "none".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn types_become_avros_with_what_it_has_no_word_for() {
    for (schema, expected) in [
        (r#"{"type":"int8"}"#, r#"{"type":"int","connect.type":"int8"}"#),
        (r#"{"type":"int16"}"#, r#"{"type":"int","connect.type":"int16"}"#),
        (r#"{"type":"int32"}"#, r#""int""#),
        (r#"{"type":"int64"}"#, r#""long""#),
        (r#"{"type":"float"}"#, r#""float""#),
        (r#"{"type":"double"}"#, r#""double""#),
        (r#"{"type":"boolean"}"#, r#""boolean""#),
        (r#"{"type":"string"}"#, r#""string""#),
        (r#"{"type":"bytes"}"#, r#""bytes""#),
        (r#"{"type":"string","optional":true}"#, r#"["null","string"]"#),
        (r#"{"type":"int32","optional":true,"default":5}"#, r#"[{"type":"int","connect.default":5},"null"]"#),
        (
            r#"{"type":"int64","name":"n.L","version":3,"doc":"text","parameters":{"a":"b","avro.c":"d"},"default":9}"#,
            r#"{"type":"long","connect.doc":"text","connect.version":3,"connect.parameters":{"a":"b","avro.c":"d"},"connect.default":9,"connect.name":"n.L","avro.c":"d"}"#,
        ),
        (
            r#"{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2"}}"#,
            r#"{"type":"bytes","scale":2,"precision":64,"connect.version":1,"connect.parameters":{"scale":"2"},"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"}"#,
        ),
        (
            r#"{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2","connect.decimal.precision":"10"}}"#,
            r#"{"type":"bytes","scale":2,"precision":10,"connect.version":1,"connect.parameters":{"scale":"2","connect.decimal.precision":"10"},"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"}"#,
        ),
        (
            r#"{"type":"int32","name":"org.apache.kafka.connect.data.Date","version":1}"#,
            r#"{"type":"int","connect.version":1,"connect.name":"org.apache.kafka.connect.data.Date","logicalType":"date"}"#,
        ),
        (
            r#"{"type":"int32","name":"org.apache.kafka.connect.data.Time","version":1}"#,
            r#"{"type":"int","connect.version":1,"connect.name":"org.apache.kafka.connect.data.Time","logicalType":"time-millis"}"#,
        ),
        (
            r#"{"type":"int64","name":"org.apache.kafka.connect.data.Timestamp","version":1}"#,
            r#"{"type":"long","connect.version":1,"connect.name":"org.apache.kafka.connect.data.Timestamp","logicalType":"timestamp-millis"}"#,
        ),
        (r#"{"type":"array","items":{"type":"int32"}}"#, r#"{"type":"array","items":"int"}"#),
        (
            r#"{"type":"map","keys":{"type":"string"},"values":{"type":"int32","optional":true}}"#,
            r#"{"type":"map","values":["null","int"]}"#,
        ),
        (
            r#"{"type":"map","keys":{"type":"int32"},"values":{"type":"string"}}"#,
            r#"{"type":"array","items":{"type":"record","name":"MapEntry","namespace":"io.confluent.connect.avro","fields":[{"name":"key","type":"int"},{"name":"value","type":"string"}]}}"#,
        ),
        (
            r#"{"type":"map","name":"a.M","keys":{"type":"string","optional":true},"values":{"type":"string"}}"#,
            r#"{"type":"array","items":{"type":"record","name":"M","namespace":"a","fields":[{"name":"key","type":["null","string"],"default":null},{"name":"value","type":"string"}],"connect.internal.type":"MapEntry"},"connect.name":"a.M"}"#,
        ),
    ] {
        assert_eq!(written(schema, &MAPPING), expected);
        parse(expected).unwrap();
        assert_eq!(read(expected, &MAPPING), shown(&connect(schema).unwrap()), "{expected}");
    }
}

#[test]
fn structs_become_records_whose_names_say_where_they_belong() {
    let inner = r#"{"type":"struct","name":"a.Inner","fields":[{"field":"x","type":"int32"}]}"#;
    let two = format!(
        r#"{{"type":"struct","name":"a.Outer","fields":[{},{}]}}"#,
        inner.replacen('{', r#"{"field":"one","#, 1),
        inner.replacen('{', r#"{"field":"two","optional":true,"#, 1)
    );
    assert_eq!(
        written(&two, &MAPPING),
        r#"{"type":"record","name":"Outer","namespace":"a","fields":[{"name":"one","type":{"type":"record","name":"Inner","fields":[{"name":"x","type":"int"}],"connect.name":"a.Inner"}},{"name":"two","type":["null","Inner"],"default":null}],"connect.name":"a.Outer"}"#
    );
    let unnamed = r#"{"type":"struct","fields":[{"field":"s","type":"struct","fields":[{"field":"x","type":"string","default":"d"}]}]}"#;
    assert_eq!(
        written(unnamed, &MAPPING),
        r#"{"type":"record","name":"ConnectDefault","namespace":"io.confluent.connect.avro","fields":[{"name":"s","type":{"type":"record","name":"ConnectDefault2","fields":[{"name":"x","type":{"type":"string","connect.default":"d"},"default":"d"}]}}]}"#
    );
    for schema in [&*two, unnamed] {
        assert_eq!(read(&written(schema, &MAPPING), &MAPPING), shown(&connect(schema).unwrap()));
    }
}

#[test]
fn a_schema_is_written_as_a_converter_of_javas_wrote_it() {
    let recorded = r#"{"type":"record","name":"Line","namespace":"test","fields":[{"name":"line","type":"string"},{"name":"number","type":["null",{"type":"int","connect.type":"int8"}],"default":null},{"name":"day","type":["null",{"type":"long","connect.version":1,"connect.name":"org.apache.kafka.connect.data.Timestamp","logicalType":"timestamp-millis"}],"default":null}],"connect.version":2,"connect.name":"test.Line"}"#;
    let schema = r#"{"type":"struct","name":"test.Line","version":2,"fields":[
        {"field":"line","type":"string"},{"field":"number","type":"int8","optional":true},
        {"field":"day","type":"int64","name":"org.apache.kafka.connect.data.Timestamp","version":1,"optional":true}]}"#;
    assert_eq!(written(schema, &MAPPING), recorded);
    assert_eq!(read(recorded, &MAPPING), shown(&connect(schema).unwrap()));
}

#[test]
fn a_name_stands_for_one_thing() {
    let twice = r#"{"type":"struct","name":"R","fields":[
        {"field":"a","type":"struct","name":"S","fields":[{"field":"x","type":"int32"}]},
        {"field":"b","type":"struct","name":"S","fields":[{"field":"x","type":"string"}]}]}"#;
    assert_eq!(written(twice, &MAPPING), "Two schemas that differ are both named `S`, which Avro doesn't allow");
    let same = r#"{"type":"struct","name":"n.R","fields":[
        {"field":"a","type":"struct","name":"n.S","fields":[]},
        {"field":"b","type":"struct","name":"n.S","parameters":{"k":"v"},"fields":[]}]}"#;
    let avro = written(same, &MAPPING);
    assert!(avro.contains(r#"{"name":"b","type":"S","connect.parameters":{"k":"v"}}"#), "{avro}");
    assert_eq!(read(&avro, &MAPPING), shown(&connect(same).unwrap()));
}

#[test]
fn without_meta_data_only_what_avro_knows_is_left() {
    let schema = r#"{"type":"struct","name":"R","doc":"d","version":2,"fields":[
        {"field":"a","type":"int8","default":1},
        {"field":"b","type":"int64","name":"org.apache.kafka.connect.data.Timestamp","version":1}]}"#;
    let avro = r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":1},{"name":"b","type":{"type":"long","logicalType":"timestamp-millis"}}]}"#;
    assert_eq!(written(schema, &PLAIN), avro);
    assert_eq!(
        read(avro, &PLAIN),
        r#"{"type":"struct","fields":[{"type":"int32","optional":false,"default":1,"field":"a"},{"type":"int64","optional":false,"name":"org.apache.kafka.connect.data.Timestamp","version":1,"field":"b"}],"optional":false,"name":"R"}"#
    );
}

#[test]
fn names_that_avro_refuses_are_scrubbed_if_that_is_wanted() {
    let schema = r#"{"type":"struct","name":"my-db.a b","fields":[{"field":"1st","type":"int32"}]}"#;
    assert_eq!(
        written(schema, &SCRUBBED),
        r#"{"type":"record","name":"a_b","namespace":"my_db","fields":[{"name":"x1st","type":"int"}],"connect.name":"my-db.a b"}"#
    );
    let error = parse(&written(schema, &MAPPING)).unwrap_err().to_string();
    assert!(error.starts_with("The Avro schema can't be read"), "{error}");
}

#[test]
fn docs_and_defaults_of_avro_become_parameters_and_go_back() {
    let avro = r#"{"type":"record","name":"R","doc":"about R","fields":[{"name":"a","type":"int","doc":"about a","default":7}]}"#;
    let connect = read(avro, &MAPPING);
    assert_eq!(
        connect,
        r#"{"type":"struct","fields":[{"type":"int32","optional":false,"parameters":{"io.confluent.connect.avro.field.default":"true"},"default":7,"field":"a"}],"optional":false,"name":"R","parameters":{"io.confluent.connect.avro.record.doc":"about R","io.confluent.connect.avro.field.doc.a":"about a"}}"#
    );
    let back = written(&connect, &MAPPING);
    assert_eq!(
        back,
        r#"{"type":"record","name":"R","doc":"about R","fields":[{"name":"a","type":"int","doc":"about a","default":7}],"connect.parameters":{"io.confluent.connect.avro.record.doc":"about R","io.confluent.connect.avro.field.doc.a":"about a"},"connect.name":"R"}"#
    );
}

#[test]
fn enums_are_texts_and_enums_again_with_enhanced_support() {
    let avro = r#"{"type":"enum","name":"n.E","symbols":["A","B"],"default":"B","doc":"d"}"#;
    let schema = connect(&read(avro, &MAPPING)).unwrap();
    assert_eq!(schema.kind, SchemaType::String);
    assert_eq!(schema.parameter("io.confluent.connect.avro.Enum"), Some("n.E"));
    let plain = write_schema(Some(&*schema), &MAPPING).unwrap();
    assert!(plain.starts_with(r#"{"type":"string","connect.parameters":{"#), "{plain}");
    let enhanced = write_schema(Some(&*schema), &ENHANCED).unwrap();
    let beginning = r#"{"type":"enum","name":"E","namespace":"n","doc":"d","symbols":["A","B"],"default":"B","#;
    assert!(enhanced.starts_with(beginning), "{enhanced}");
    assert_eq!(encode_as(&enhanced, Some(&schema), &Value::string("B"), &ENHANCED), Ok(vec![2]));
    let error = encode_as(&enhanced, Some(&schema), &Value::string("C"), &ENHANCED).unwrap_err();
    assert_eq!(error.to_string(), "Enum `n.E` has no symbol `C`");
    assert_eq!(decode_as(avro, &[0], &MAPPING).unwrap().value, Value::string("A"));
}

#[test]
fn unions_are_structs_of_which_one_field_is_set() {
    let avro = r#"["null","int","string",{"type":"record","name":"n.R","fields":[{"name":"x","type":"int"}]}]"#;
    let names = |mapping| {
        let schema = read_schema(&parse(avro).unwrap(), None, mapping).unwrap().schema.unwrap();
        assert!(schema.optional && schema.name.as_deref() == Some("io.confluent.connect.avro.Union"));
        schema.fields().iter().map(|field| field.name.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!((names(&MAPPING), names(&ENHANCED)), ("int string R".to_owned(), "int string n.R".to_owned()));
    for (bytes, set) in [(&[2, 14][..], 0), (&[4, 2, b'x'], 1), (&[6, 14], 2)] {
        let SchemaAndValue { schema, value } = decode_as(avro, bytes, &MAPPING).unwrap();
        let Value::Struct(union) = &value else { panic!("{value:?}") };
        let found: Vec<_> = union.values.iter().map(|value| !value.is_null()).collect();
        assert_eq!(found, (0..3).map(|index| index == set).collect::<Vec<_>>());
        let (again, back) = encode(schema.as_ref(), &value, &MAPPING).unwrap();
        assert_eq!(back, bytes, "{again}");
    }
    assert_eq!(decode_as(avro, &[0], &MAPPING).unwrap().value, Value::Null);
}

#[test]
fn a_union_of_one_type_is_that_type_unless_it_is_to_stay() {
    assert!(read(r#"["int"]"#, &MAPPING).starts_with(r#"{"type":"int32""#));
    assert_eq!(decode_as(r#"["int"]"#, &[0, 14], &MAPPING).unwrap().value, Value::Int32(7));
    let kept = Mapping { flatten_singletons: false, ..MAPPING };
    assert!(read(r#"["int"]"#, &kept).starts_with(r#"{"type":"struct""#));
}

#[test]
fn fixed_is_bytes_of_a_size_and_fixed_again() {
    let avro = r#"{"type":"fixed","name":"n.F","size":2}"#;
    let SchemaAndValue { schema, value } = decode_as(avro, &[1, 2], &MAPPING).unwrap();
    let (again, bytes) = encode(schema.as_ref(), &value, &MAPPING).unwrap();
    assert!(again.starts_with(r#"{"type":"fixed","name":"F","namespace":"n","size":2,"#), "{again}");
    assert_eq!(bytes, [1, 2]);
    let long = encode(schema.as_ref(), &Value::Bytes(vec![1, 2, 3].into()), &MAPPING).unwrap_err();
    assert_eq!(long.to_string(), "3 bytes were found where a fixed of 2 is expected");
    let decimal = r#"{"type":"fixed","name":"D","size":4,"logicalType":"decimal","precision":9,"scale":2}"#;
    let SchemaAndValue { schema, value } = decode_as(decimal, &[0xff, 0xff, 0xff, 0x9c], &MAPPING).unwrap();
    let Value::Decimal(number) = &value else { panic!("{value:?}") };
    assert_eq!(number.to_string(), "-1.00");
    assert_eq!(encode_as(decimal, schema.as_ref(), &value, &MAPPING).unwrap(), [0xff, 0xff, 0xff, 0x9c]);
}

#[test]
fn bytes_alone_have_no_length_before_them() {
    let bytes = connect(r#"{"type":"bytes"}"#);
    let value = Value::Bytes(b"xyz"[..].into());
    assert_eq!(encode(bytes.as_ref(), &value, &MAPPING).unwrap().1, b"xyz");
    assert_eq!(decode_as(r#""bytes""#, b"xyz", &MAPPING).unwrap().value, value);
    let optional = connect(r#"{"type":"bytes","optional":true}"#);
    assert_eq!(encode(optional.as_ref(), &value, &MAPPING).unwrap().1, [2, 6, b'x', b'y', b'z']);
}

#[test]
fn null_fields_are_their_defaults_unless_those_are_ignored() {
    let schema =
        connect(r#"{"type":"struct","name":"R","fields":[{"field":"a","type":"int32","optional":true,"default":5}]}"#)
            .unwrap();
    let value = Value::Struct(bulkhead_model::value::Struct::new(schema.clone()));
    assert_eq!(encode(Some(&schema), &value, &MAPPING).unwrap().1, [0, 10]);
    let ignoring = Mapping { ignore_defaults: true, ..MAPPING };
    assert_eq!(encode(Some(&schema), &value, &ignoring).unwrap().1, [2]);
}

#[test]
fn what_connect_schemas_cannot_express_is_refused() {
    for (avro, what) in [
        (
            r#"{"type":"record","name":"R","fields":[{"name":"next","type":["null","R"]}]}"#,
            "`R`, which is part of itself",
        ),
        (r#""null""#, "a null that isn't part of a union"),
        (r#"{"type":"int","connect.type":"int7"}"#, "an int with the connect.type `int7`"),
        (r#"{"type":"int","connect.version":"x"}"#, "a version that is no number"),
        (r#"{"type":"int","connect.parameters":{"a":1}}"#, "parameters that are no texts"),
        (r#"{"type":"int","connect.name":"a","logicalType":"date"}"#, "a schema named `a` whose type makes it"),
    ] {
        let error = read(avro, &MAPPING);
        assert!(error.starts_with(&format!("The Avro schema has {what}")), "{error}");
    }
    assert_eq!(
        read(r#"[{"type":"record","name":"a.R","fields":[]},{"type":"record","name":"b.R","fields":[]}]"#, &MAPPING),
        "Multiple union schemas map to the Connect union field name"
    );
}

#[test]
fn a_wrong_default_is_left_out() {
    let avro = r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}"#;
    let schema = read_schema(&parse(avro).unwrap(), None, &MAPPING).unwrap().schema.unwrap();
    assert_eq!(schema.fields()[0].schema.default, None);
}

#[test]
fn defaults_of_all_types_go_there_and_back() {
    let schema = connect(
        r#"{"type":"struct","name":"n.R","fields":[
        {"field":"a","type":"int8","default":-3},{"field":"b","type":"float","default":0.1},
        {"field":"c","type":"bytes","default":"/wA="},{"field":"d","type":"boolean","default":true},
        {"field":"e","type":"bytes","name":"org.apache.kafka.connect.data.Decimal","version":1,
         "parameters":{"scale":"2"},"default":"AJw="},
        {"field":"f","type":"int64","name":"org.apache.kafka.connect.data.Timestamp","version":1,"default":12345},
        {"field":"g","type":"array","items":{"type":"string"},"default":["x","y"]},
        {"field":"h","type":"map","keys":{"type":"string"},"values":{"type":"int32"},"default":{"k":1}},
        {"field":"i","type":"map","keys":{"type":"int32"},"values":{"type":"int32"},"default":[]}]}"#,
    )
    .unwrap();
    let avro = write_schema(Some(&*schema), &MAPPING).unwrap();
    let back = read_schema(&parse(&avro).unwrap(), None, &MAPPING).unwrap().schema.unwrap();
    assert_eq!(back.fields(), schema.fields(), "{avro}");
    let value = Value::Struct(bulkhead_model::value::Struct::new(schema.clone()));
    let (_, bytes) = encode(Some(&schema), &value, &MAPPING).unwrap();
    let Value::Struct(read) = decode_as(&avro, &bytes, &MAPPING).unwrap().value else { panic!() };
    for (field, value) in read.fields() {
        assert_eq!(Some(value), field.schema.default.as_ref(), "{}", field.name);
    }
    assert!(defaults::to_json(&Value::Float64(f64::NAN), &Schema::required(SchemaType::Float64), &MAPPING).is_none());
}

#[test]
fn values_without_schema_are_anything() {
    let value = Value::Map(vec![
        (Value::string("a"), Value::Array(vec![Value::Int64(1), Value::Int32(2), Value::Null, Value::Boolean(true)])),
        (Value::string("b"), Value::Float64(0.5)),
        (Value::string("c"), Value::Bytes(vec![1].into())),
    ]);
    let (avro, bytes) = encode(None, &value, &MAPPING).unwrap();
    assert_eq!(read(&avro, &MAPPING), "none");
    assert_eq!(decode_as(&avro, &bytes, &MAPPING).unwrap(), SchemaAndValue { schema: None, value });
    assert_eq!(encode(None, &Value::Int8(3), &MAPPING).unwrap().1, [0, 0, 0, 0, 2, 6, 0, 0, 0, 0]);
}
