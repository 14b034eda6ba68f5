//! More than anybody wants to read.

use bulkhead_sdk::prelude::*;

const LINES: usize = 10_000;

/// A few megabytes of log lines.
pub(crate) fn log() {
    let line = "log flood ".repeat(30);
    (0..LINES).for_each(|number| info!("{number} {line}"));
}

/// A few megabytes on standard output, and as much on standard error.
pub(crate) fn stdout() {
    let line = "stdout flood ".repeat(30);
    for number in 0..LINES {
        println!("{number} {line}");
        eprintln!("{number} {line}");
    }
}

/// Schemas until the worker refuses one; then fails with its answer.
pub(crate) fn schemas() -> Result<()> {
    (0..u64::MAX).try_for_each(|number| Schema::text().name(format!("flood.{number}")).register())
}
