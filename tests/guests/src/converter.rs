//! A converter that misbehaves, in both directions alike. The modes are:
//!
//! * `behave`: to Kafka it puts `>` before any value's text, to Connect `<`; it fails on `bad` and makes a struct of `struct`;
//! * `where`: answers with role, topic and header key (`-` if there is none);
//! * `look-around`;
//! * `spin`, `oom`, `panic`, `unreachable`, `sleep`, `panic-start`, `config-error`;
//! * an error of the whole call, of each kind: `fail`, `call-retriable`, `call-config`, `call-data`;
//! * a wrong answer to a call with two items: the others.

use bulkhead_sdk::bindings::base::bulkhead::connect::schemas::register;
use bulkhead_sdk::bindings::base::bulkhead::connect::types::{SchemaDef, SchemaType, Values};
use bulkhead_sdk::bindings::converter::exports::bulkhead::connect::converter::Converted;
use bulkhead_sdk::converter::answer_unchecked;
use bulkhead_sdk::prelude::*;

use crate::schemas::node;
use crate::transform::{failure, look_around};
use crate::{death, modes, stuck};

modes! {
    /// What the converter does with the first item of a call.
    Mode {
        Behave = "behave",
        Where = "where",
        /// Whether it can reach a network, and what it sees of files and the environment.
        LookAround = "look-around",
        Spin = "spin",
        OutOfMemory = "oom",
        Panic = "panic",
        Unreachable = "unreachable",
        Sleep = "sleep",
        PanicAtStart = "panic-start",
        ConfigError = "config-error",
        /// An error that isn't the item's.
        Fail = "fail",
        CallRetriable = "call-retriable",
        CallConfig = "call-config",
        CallData = "call-data",
        /// More items than came.
        TooMany = "too-many",
        /// Fewer.
        TooFew = "too-few",
        LengthPastData = "length-past-data",
        /// Lengths whose sum overflows 32 bits.
        LengthOverflow = "length-overflow",
        /// Data that no item owns.
        DataLeftOver = "data-left-over",
        /// An item of 24 MiB.
        Huge = "huge",
        /// An encoding that doesn't exist.
        Encoding = "encoding",
        /// Texts: to Kafka, only bytes may go.
        Texts = "texts",
        TextNotUtf8 = "text-not-utf8",
        JsonNotJson = "json-not-json",
        CborNotCbor = "cbor-not-cbor",
        /// A number under the schema of texts.
        Mismatch = "mismatch",
        /// A null under a schema that has none.
        NullRefused = "null-refused",
        /// A null with bytes.
        NullWithBytes = "null-with-bytes",
        /// A schema that nobody has registered.
        UnknownSchema = "unknown-schema",
        /// A good schema sent along with the items.
        SchemaAlong = "schema-along",
        /// One without a node.
        BadSchema = "bad-schema",
        /// Fails an item twice.
        Twice = "twice",
        /// Fails the second item, then the first.
        Backwards = "backwards",
        /// Fails an item that there isn't.
        Beyond = "beyond",
        /// Fails an item that has bytes.
        FailedWithBytes = "failed-with-bytes",
    }
}

#[derive(Config)]
pub(crate) struct Settings {
    /// What it does.
    mode: Mode,
}

pub(crate) struct HostileConverter {
    mode: Mode,
    role: Role,
    schema: Schema,
}

impl Converter for HostileConverter {
    type Config = Settings;

    async fn start(Settings { mode }: Settings, role: Role) -> Result<Self> {
        match mode {
            Mode::PanicAtStart => panic!("a panic in configure"),
            Mode::ConfigError => Err(Error::config("mode")("wrong, as it was asked to be")),
            mode => Ok(Self { mode, role, schema: Schema::record("Marked").field("text", Schema::text()) }),
        }
    }

    async fn from_connect(&mut self, item: &ConverterItem<'_>, kafka: &mut KafkaBytes<'_>) -> Result<()> {
        if let Some(answer) = self.answer(item)? {
            kafka.set(answer);
            return Ok(());
        }
        match item.payload().decode()? {
            Value::Null => {}
            value => kafka.set(format!(">{}", good(value.to_string())?)),
        }
        Ok(())
    }

    async fn to_connect(&mut self, item: &ConverterItem<'_>, connect: &mut ConnectValue<'_>) -> Result<()> {
        if let Some(answer) = self.answer(item)? {
            connect.text(answer);
            return Ok(());
        }
        let Some(bytes) = item.bytes() else { return Ok(()) };
        let text = good(String::from_utf8(bytes.to_vec()).map_err(Error::data)?)?;
        let marked = format!("<{text}");
        if text == "struct" {
            return connect.set(&self.schema, Struct::new(&self.schema).with("text", marked)?);
        }
        connect.text(marked);
        Ok(())
    }
}

fn good(text: String) -> Result<String> {
    if text == "bad" { Err(Error::data("a bad item")) } else { Ok(text) }
}

impl HostileConverter {
    /// What the item becomes in modes in which that doesn't depend on it. Strikes, or has the call answered otherwise, in those
    /// of misdeeds.
    fn answer(&self, item: &ConverterItem<'_>) -> Result<Option<String>> {
        match self.mode {
            Mode::Behave | Mode::PanicAtStart | Mode::ConfigError => return Ok(None),
            Mode::Where => {
                let role = format!("{:?}", self.role).to_lowercase();
                return Ok(Some(format!("{role} {} {}", item.topic(), item.header_key().unwrap_or("-"))));
            }
            Mode::LookAround => return Ok(Some(look_around())),
            Mode::Spin => stuck::spin(),
            Mode::OutOfMemory => death::out_of_memory(),
            Mode::Panic => panic!("a panic in the middle"),
            Mode::Unreachable => death::unreachable(),
            Mode::Sleep => stuck::block(),
            Mode::Fail => return Err(Error::failed("no more")),
            Mode::CallRetriable => return Err(Error::retriable("not now")),
            Mode::CallConfig => return Err(Error::config("mode")("not any more")),
            Mode::CallData => answer_unchecked(Err(Error::data("all of it is bad"))),
            wrong => answer_unchecked(Ok(wrong_answer(wrong)?)),
        }
        Ok(None)
    }
}

/// `one` and `two` as bytes, but for one thing.
fn wrong_answer(mode: Mode) -> Result<Converted> {
    let mut answer = Converted { schemas: vec![], items: items(1, [3, 3]), data: b"onetwo".to_vec(), failed: vec![] };
    match mode {
        Mode::TooMany => answer.items.len = vec![3, 3, 0],
        Mode::TooFew => (answer.items.len, answer.data) = (vec![3], b"one".to_vec()),
        Mode::LengthPastData => answer.items.len = vec![3, 400],
        Mode::LengthOverflow => answer.items.len = vec![u32::MAX, u32::MAX],
        Mode::DataLeftOver => answer.data.extend_from_slice(b"left over"),
        Mode::Huge => (answer.items.len, answer.data) = (vec![0, HUGE], vec![b'x'; HUGE as usize]),
        Mode::Encoding => answer.items.encoding = vec![1, 9],
        Mode::Texts => answer.items = items(2, [3, 3]),
        Mode::TextNotUtf8 => (answer.items, answer.data) = (items(2, [3, 3]), b"one\xff\xfeo".to_vec()),
        Mode::JsonNotJson => answer.items = items(4, [3, 3]),
        Mode::CborNotCbor => answer.items = items(3, [3, 3]),
        Mode::Mismatch => {
            let schema = register(&[node(SchemaType::Text)])?;
            (answer.items, answer.data) = (Values { schema: vec![schema; 2], ..items(3, [1, 1]) }, vec![1, 2]);
        }
        Mode::NullRefused => {
            let schema = register(&[node(SchemaType::Text)])?;
            (answer.items, answer.data) = (Values { schema: vec![schema; 2], ..items(0, [0, 0]) }, vec![]);
        }
        Mode::NullWithBytes => answer.items = items(0, [3, 3]),
        Mode::UnknownSchema => answer.items = Values { schema: vec![999, 0], ..items(1, [3, 3]) },
        Mode::SchemaAlong => {
            answer.schemas = vec![SchemaDef { id: 77, nodes: vec![node(SchemaType::Bytes)] }];
            answer.items.schema = vec![77, 0];
        }
        Mode::BadSchema => answer.schemas = vec![SchemaDef { id: 77, nodes: vec![] }],
        Mode::Twice => answer = failed(&[0, 0]),
        Mode::Backwards => answer = failed(&[1, 0]),
        Mode::Beyond => answer = failed(&[0, 1, 2]),
        Mode::FailedWithBytes => answer.failed = vec![failure(1)],
        other => return Err(Error::failed(format!("{other:?} answers well"))),
    }
    Ok(answer)
}

const HUGE: u32 = 24 << 20;

fn items(encoding: u8, len: [u32; 2]) -> Values {
    Values { encoding: vec![encoding; 2], schema: vec![], len: len.to_vec() }
}

/// Nothing but failures.
fn failed(places: &[u32]) -> Converted {
    let failed = places.iter().map(|&place| failure(place)).collect();
    Converted { schemas: vec![], items: items(0, [0, 0]), data: vec![], failed }
}
