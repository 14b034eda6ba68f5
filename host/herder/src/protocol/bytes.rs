//! Kafka's primitive types, big endian.

use super::MAX_STRING;

/// Bytes of another worker that are no metadata or assignment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("the bytes end at {at}, where {wanted} more are due")]
    Short { at: usize, wanted: usize },
    #[error("{length} at byte {at} is no length")]
    Length { at: usize, length: i64 },
    #[error("the text at byte {at} is not UTF-8")]
    Text { at: usize },
    #[error("version {version} is negative")]
    Version { version: i16 },
    #[error("connector `{connector}` can't have a task {number}")]
    Task { connector: String, number: i32 },
}

/// Something that the group protocol has no room for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error("{what} has {length} bytes, more than the {MAX_STRING} that the group protocol can carry")]
    TooLong { what: String, length: usize },
    #[error("{what} are {count}, more than the group protocol can carry")]
    TooMany { what: &'static str, count: usize },
}

/// Reads from the front.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.remaining() == 0
    }

    fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..count).ok_or_else(|| DecodeError::Short { at: self.at, wanted: count - rest.len() })?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn i16(&mut self) -> Result<i16, DecodeError> {
        self.array().map(i16::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, DecodeError> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, DecodeError> {
        self.array().map(i64::from_be_bytes)
    }

    pub(super) fn version(&mut self) -> Result<i16, DecodeError> {
        let version = self.i16()?;
        if version < 0 { Err(DecodeError::Version { version }) } else { Ok(version) }
    }

    pub(super) fn string(&mut self) -> Result<&'a str, DecodeError> {
        let at = self.at;
        let length = self.i16()?;
        let length = usize::try_from(length).map_err(|_| DecodeError::Length { at, length: length.into() })?;
        std::str::from_utf8(self.take(length)?).map_err(|_| DecodeError::Text { at })
    }

    pub(super) fn nullable_bytes(&mut self) -> Result<Option<&'a [u8]>, DecodeError> {
        let length = self.i32()?;
        usize::try_from(length).ok().map(|length| self.take(length)).transpose()
    }

    /// The number of elements; none for a null array. Every element takes at least one byte.
    pub(super) fn nullable_count(&mut self) -> Result<Option<usize>, DecodeError> {
        let at = self.at;
        let length = self.i32()?;
        let Ok(count) = usize::try_from(length) else { return Ok(None) };
        if count > self.remaining() {
            return Err(DecodeError::Length { at, length: length.into() });
        }
        Ok(Some(count))
    }

    pub(super) fn count(&mut self) -> Result<usize, DecodeError> {
        let at = self.at;
        self.nullable_count()?.ok_or(DecodeError::Length { at, length: -1 })
    }
}

/// Writes at the end.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn i16(&mut self, value: i16) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn i32(&mut self, value: i32) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn i64(&mut self, value: i64) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn string(&mut self, what: &str, text: &str) -> Result<(), EncodeError> {
        let length = text.len();
        let short = i16::try_from(length).map_err(|_| EncodeError::TooLong { what: what.to_owned(), length })?;
        self.i16(short);
        self.0.extend(text.as_bytes());
        Ok(())
    }

    pub(super) fn count(&mut self, what: &'static str, count: usize) -> Result<(), EncodeError> {
        self.i32(i32::try_from(count).map_err(|_| EncodeError::TooMany { what, count })?);
        Ok(())
    }

    pub(super) fn nullable_bytes(&mut self, bytes: Option<&[u8]>) -> Result<(), EncodeError> {
        match bytes {
            None => self.i32(-1),
            Some(bytes) => {
                self.count("bytes of an allocation", bytes.len())?;
                self.0.extend(bytes);
            }
        }
        Ok(())
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
