//! The binary form of Avro, one value after the other. The bytes come from anybody: nothing is allocated for a length
//! before that many bytes are there.

/// Why bytes are no value of their schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Damaged {
    #[error("the bytes end early")]
    Short,
    #[error("a number at byte {0} is out of range")]
    OutOfRange(usize),
    #[error("a text at byte {0} is not UTF-8")]
    NotUtf8(usize),
    #[error("at byte {0} there is neither true nor false")]
    NotBoolean(usize),
    #[error("the value is nested in more than {} levels", crate::cbor::MAX_DEPTH)]
    TooDeep,
    #[error("the value is much larger than its bytes")]
    TooLarge,
    #[error("the bytes say which type of a union it is: number {0}, which it doesn't have")]
    UnknownMember(i64),
    #[error("the bytes say which symbol of enum `{0}` it is: number {1}, which it doesn't have")]
    UnknownSymbol(String, i32),
    #[error("a map has the key `{0}` twice")]
    DoubleKey(String),
    #[error("a Decimal has no bytes")]
    EmptyDecimal,
    #[error("{0} is no time of a day in milliseconds")]
    NotTime(i32),
}

type Result<T> = std::result::Result<T, Damaged>;

/// Items of no bytes at all that one value may have beyond its own bytes.
const MAX_EMPTY_ITEMS: usize = 10_000;

#[derive(Debug)]
pub(super) struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Items of arrays and maps that may still come.
    items: usize,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, items: bytes.len().saturating_add(MAX_EMPTY_ITEMS) }
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..length).ok_or(Damaged::Short)?;
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// Seven bits of a byte after the other, sign last.
    pub(super) fn long(&mut self) -> Result<i64> {
        let start = self.at;
        let mut number = 0_u64;
        for shift in (0..70).step_by(7) {
            let [byte] = self.array()?;
            if shift == 63 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok((number >> 1) as i64 ^ -((number & 1) as i64));
            }
        }
        Err(Damaged::OutOfRange(start))
    }

    pub(super) fn int(&mut self) -> Result<i32> {
        let start = self.at;
        self.long()?.try_into().map_err(|_| Damaged::OutOfRange(start))
    }

    pub(super) fn boolean(&mut self) -> Result<bool> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [_] => Err(Damaged::NotBoolean(self.at - 1)),
        }
    }

    pub(super) fn float(&mut self) -> Result<f32> {
        self.array().map(f32::from_le_bytes)
    }

    pub(super) fn double(&mut self) -> Result<f64> {
        self.array().map(f64::from_le_bytes)
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let start = self.at;
        let length = self.long()?;
        self.take(length.try_into().map_err(|_| Damaged::OutOfRange(start))?)
    }

    pub(super) fn text(&mut self) -> Result<&'a str> {
        let start = self.at;
        std::str::from_utf8(self.bytes()?).map_err(|_| Damaged::NotUtf8(start))
    }

    /// How many items come next; 0 ends an array or map.
    pub(super) fn block(&mut self) -> Result<usize> {
        let start = self.at;
        let count = self.long()?;
        if count < 0 {
            // The block's length in bytes, for those who skip it.
            self.long()?;
        }
        let count = usize::try_from(count.unsigned_abs()).map_err(|_| Damaged::OutOfRange(start))?;
        self.items = self.items.checked_sub(count).ok_or(Damaged::TooLarge)?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_zigzag_in_groups_of_seven_bits() {
        for (bytes, number) in [
            (&[0][..], 0),
            (&[1], -1),
            (&[2], 1),
            (&[0x7f], -64),
            (&[0x80, 1], 64),
            (&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], i64::MAX),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], i64::MIN),
        ] {
            assert_eq!(Input::new(bytes).long(), Ok(number));
        }
        assert_eq!(Input::new(&[0xff; 11]).long(), Err(Damaged::OutOfRange(0)));
        assert_eq!(Input::new(&[0x80, 0x80, 0x80, 0x80, 0x80, 1]).int(), Err(Damaged::OutOfRange(0)));
        assert_eq!(Input::new(&[0x80]).long(), Err(Damaged::Short));
    }

    #[test]
    fn a_length_is_believed_only_if_the_bytes_are_there() {
        assert_eq!(Input::new(&[8, b'a']).bytes(), Err(Damaged::Short));
        assert_eq!(Input::new(&[1]).bytes(), Err(Damaged::OutOfRange(0)));
        assert_eq!(Input::new(&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).bytes(), Err(Damaged::Short));
        assert_eq!(Input::new(&[4, 0xc3, 0x28]).text(), Err(Damaged::NotUtf8(0)));
    }

    #[test]
    fn items_without_bytes_are_counted() {
        let mut input = Input::new(&[0x80, 0x80, 1, 0x80, 0x80, 1]);
        assert_eq!(input.block(), Ok(8192));
        assert_eq!(input.block(), Err(Damaged::TooLarge));
    }
}
