//! Ways to die.

use std::hint::black_box;

/// One step of the greedy.
const STEP: usize = 4 << 20;

/// Takes memory until there is none, and uses it.
pub(crate) fn out_of_memory() -> ! {
    let mut hoard = Vec::new();
    loop {
        hoard.push(vec![1_u8; STEP]);
        black_box(&hoard);
    }
}

/// Calls itself until the stack is used up.
pub(crate) fn recursion() {
    deeper(0);
}

#[allow(unconditional_recursion)]
fn deeper(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    black_box(deeper(depth + 1)).wrapping_add(frame[1])
}

/// Ends the "process".
pub(crate) fn exit() -> ! {
    std::process::exit(7)
}

/// Runs into WebAssembly's own trap.
pub(crate) fn unreachable() -> ! {
    #[cfg(target_family = "wasm")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_family = "wasm"))]
    std::process::abort()
}
