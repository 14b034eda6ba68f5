//! Encoding 3: CBOR under the profile that the contract's README writes down.

mod read;
mod write;

#[cfg(test)]
mod vectors;

pub(crate) use read::decode;
pub(crate) use write::encode;

use minicbor::data::Tag;

/// Tags of schemaless integers that are narrower than an int64: 47000 plus the width in bits.
const INT8: Tag = Tag::new(47_008);
const INT16: Tag = Tag::new(47_016);
const INT32: Tag = Tag::new(47_032);

/// Deepest nesting of arrays and maps, so that no value can exhaust a reader's stack.
const MAX_DEPTH: u32 = 128;
