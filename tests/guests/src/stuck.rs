//! Calls that don't return.

use std::hint::black_box;
use std::time::Duration;

/// Computes for ever.
pub(crate) fn spin() -> ! {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

/// Sleeps for an hour in the host, deaf to `stop`.
pub(crate) fn block() {
    std::thread::sleep(Duration::from_secs(3600));
}
