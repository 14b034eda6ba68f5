use bulkhead_sdk::Value;
use minicbor::Decoder;
use minicbor::data::Type;
use minicbor::decode::Error;

/// Deepest nesting. Connect's own limit, and it keeps hostile bytes from using up the stack.
const MAX_DEPTH: u32 = 128;

/// The one value that the bytes must be; what can be borrowed of it is.
pub(crate) fn value(bytes: &[u8]) -> Result<Value<'_>, Error> {
    let mut input = Decoder::new(bytes);
    let value = item(&mut input, 0)?;
    if input.position() < bytes.len() {
        return Err(Error::message("bytes are left over after the value"));
    }
    Ok(value)
}

fn item<'b>(input: &mut Decoder<'b>, depth: u32) -> Result<Value<'b>, Error> {
    while input.datatype()? == Type::Tag {
        input.tag()?;
    }
    Ok(match input.datatype()? {
        Type::Null => input.null().map(|()| Value::Null)?,
        Type::Undefined => input.undefined().map(|()| Value::Null)?,
        Type::Bool => input.bool()?.into(),
        Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::Int => {
            input.i64()?.into()
        }
        Type::F16 => input.f16()?.into(),
        Type::F32 => input.f32()?.into(),
        Type::F64 => input.f64()?.into(),
        Type::String => input.str()?.into(),
        Type::StringIndef => input.str_iter()?.collect::<Result<String, _>>()?.into(),
        Type::Bytes => input.bytes()?.into(),
        Type::BytesIndef => input.bytes_iter()?.collect::<Result<Vec<_>, _>>()?.concat().into(),
        Type::Array | Type::ArrayIndef => {
            let count = input.array()?;
            Value::Array(nested(input, depth, count, item)?)
        }
        Type::Map | Type::MapIndef => {
            let count = input.map()?;
            Value::Map(nested(input, depth, count, |input, depth| Ok((item(input, depth)?, item(input, depth)?)))?)
        }
        other => return Err(Error::message(format!("{other} is no value"))),
    })
}

/// So many of what `read` reads, or all up to the end if that isn't said. A count is believed as far as there are bytes.
fn nested<'b, T>(
    input: &mut Decoder<'b>,
    depth: u32,
    count: Option<u64>,
    read: impl Fn(&mut Decoder<'b>, u32) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    if depth == MAX_DEPTH {
        return Err(Error::message(format!("a value may be nested no more than {MAX_DEPTH} levels")));
    }
    if let Some(count) = count {
        return (0..count).map(|_| read(input, depth + 1)).collect();
    }
    let mut all = Vec::new();
    while input.datatype()? != Type::Break {
        all.push(read(input, depth + 1)?);
    }
    input.set_position(input.position() + 1);
    Ok(all)
}
