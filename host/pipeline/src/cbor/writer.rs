//! Heads and contents of CBOR items, in the shortest form.

use super::tag;

/// Appends items to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

/// The eight kinds of items, as the first three bits of a head.
mod major {
    pub(super) const UNSIGNED: u8 = 0;
    pub(super) const NEGATIVE: u8 = 1 << 5;
    pub(super) const BYTES: u8 = 2 << 5;
    pub(super) const TEXT: u8 = 3 << 5;
    pub(super) const ARRAY: u8 = 4 << 5;
    pub(super) const MAP: u8 = 5 << 5;
    pub(super) const TAG: u8 = 6 << 5;
}

const FALSE: u8 = 0xf4;
const NULL: u8 = 0xf6;
const FLOAT32: u8 = 0xfa;
const FLOAT64: u8 = 0xfb;

/// The one NaN of each width that is written.
const NAN32: u32 = 0x7fc0_0000;
const NAN64: u64 = 0x7ff8_0000_0000_0000;

impl<'a> Writer<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// An item that was written elsewhere.
    pub fn item(&mut self, item: &[u8]) {
        self.out.extend_from_slice(item);
    }

    pub fn null(&mut self) {
        self.out.push(NULL);
    }

    pub fn boolean(&mut self, value: bool) {
        self.out.push(FALSE + u8::from(value));
    }

    pub fn integer(&mut self, value: i64) {
        match u64::try_from(value) {
            Ok(value) => self.head(major::UNSIGNED, value),
            // -1 - n, which is what all bits flipped are.
            Err(_) => self.head(major::NEGATIVE, !value as u64),
        }
    }

    pub fn tagged_int8(&mut self, value: i8) {
        self.head(major::TAG, tag::INT8);
        self.integer(value.into());
    }

    pub fn tagged_int16(&mut self, value: i16) {
        self.head(major::TAG, tag::INT16);
        self.integer(value.into());
    }

    pub fn tagged_int32(&mut self, value: i32) {
        self.head(major::TAG, tag::INT32);
        self.integer(value.into());
    }

    pub fn float32(&mut self, value: f32) {
        let bits = if value.is_nan() { NAN32 } else { value.to_bits() };
        self.out.push(FLOAT32);
        self.out.extend_from_slice(&bits.to_be_bytes());
    }

    pub fn float64(&mut self, value: f64) {
        let bits = if value.is_nan() { NAN64 } else { value.to_bits() };
        self.out.push(FLOAT64);
        self.out.extend_from_slice(&bits.to_be_bytes());
    }

    pub fn text(&mut self, value: &str) {
        self.head(major::TEXT, value.len() as u64);
        self.out.extend_from_slice(value.as_bytes());
    }

    pub fn bytes(&mut self, value: &[u8]) {
        self.head(major::BYTES, value.len() as u64);
        self.out.extend_from_slice(value);
    }

    pub fn array(&mut self, length: usize) {
        self.head(major::ARRAY, length as u64);
    }

    pub fn map(&mut self, length: usize) {
        self.head(major::MAP, length as u64);
    }

    /// Leaves room for the head of a container whose items the caller counts while writing them; to be
    /// closed by [`Self::end_array`] or [`Self::end_map`] with the answer.
    pub fn begin(&mut self) -> usize {
        self.out.push(0);
        self.out.len() - 1
    }

    /// The items since `start` are an array.
    pub fn end_array(&mut self, start: usize, length: usize) {
        self.insert_head(start, major::ARRAY, length);
    }

    /// The items since `start` are a map of so many pairs.
    pub fn end_map(&mut self, start: usize, length: usize) {
        self.insert_head(start, major::MAP, length);
    }

    /// Short heads fit the byte that was left free; for longer ones the content moves.
    fn insert_head(&mut self, start: usize, major: u8, length: usize) {
        if length < 24 {
            self.out[start] = major | length as u8;
            return;
        }
        let content = self.out.len();
        self.head(major, length as u64);
        let head = self.out.len() - content;
        self.out[start + 1..].rotate_right(head);
        self.out.remove(start);
    }

    fn head(&mut self, major: u8, argument: u64) {
        match argument {
            0..24 => self.out.push(major | argument as u8),
            24..=0xff => self.out.extend_from_slice(&[major | 24, argument as u8]),
            0x100..=0xffff => {
                self.out.push(major | 25);
                self.out.extend_from_slice(&(argument as u16).to_be_bytes());
            }
            0x1_0000..=0xffff_ffff => {
                self.out.push(major | 26);
                self.out.extend_from_slice(&(argument as u32).to_be_bytes());
            }
            0x1_0000_0000.. => {
                self.out.push(major | 27);
                self.out.extend_from_slice(&argument.to_be_bytes());
            }
        }
    }
}
