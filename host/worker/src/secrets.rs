//! All values that references ever stood for, to keep them out of the log.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

use bulkhead_model::config::{Mask, Resolution};

/// When there are more, rotated away most of them, remembering begins anew.
const MOST: usize = 10_000;

/// Shared by the worker, which learns secrets, and by whoever writes its log.
#[derive(Clone, Debug, Default)]
pub struct Secrets(Arc<RwLock<Mask>>);

impl Secrets {
    /// Values too short to be told from ordinary text are left out.
    pub fn remember(&self, resolution: &Resolution) {
        let mut mask = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut grown = if mask.len() > MOST { Mask::default() } else { std::mem::take(&mut *mask) };
        for (reference, value) in resolution.values() {
            grown.add(value, reference);
        }
        *mask = grown.without_short_ones();
    }

    /// The text with references where it has their values.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).apply(text)
    }
}
