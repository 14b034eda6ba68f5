//! What a status shows of a crash below its cause.

use std::fmt;

use wasmtime::WasmBacktrace;

use crate::output::escaped;

/// Frames shown: the innermost ones say what happened.
const MAX_FRAMES: usize = 16;
/// Longest name of a function.
const MAX_NAME: usize = 200;
/// Calls of one function, of the frames there are, that look like a recursion.
const RECURSION: usize = 5;

/// Functions that are of no help: those of the languages' libraries and of the bindings.
const NOISE: &[&str] = &[
    "std::",
    "core::",
    "alloc::",
    "<alloc::",
    "<core::",
    "<std::",
    "<&mut core::",
    "__rust",
    "_RNvC",
    "rust_",
    "rustc",
    "panic",
    "wit_bindgen",
    "<wit_bindgen",
    "dlmalloc",
    "abort",
    "__wasm_call",
    "[async-lift]",
    "[callback]",
];

/// The same of the C library, by their whole names.
const LIBC: &[&str] = &["malloc", "calloc", "realloc", "free", "sbrk", "exit", "_Exit", "exit_exit"];

/// The guest's functions at the time of a trap, innermost first.
pub(super) struct Frames {
    all: Vec<String>,
}

impl Frames {
    pub(super) fn of(error: &wasmtime::Error) -> Self {
        let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else {
            return Self { all: Vec::new() };
        };
        // The text form has the names demangled, and file and line if the guest has them.
        let text = backtrace.to_string();
        Self { all: frames(&text) }
    }

    /// The functions of the plugin's own code.
    fn own(&self) -> impl Iterator<Item = &String> {
        let noise = |name: &str| LIBC.contains(&name) || NOISE.iter().any(|prefix| name.starts_with(prefix));
        self.all.iter().filter(move |frame| !noise(frame))
    }

    pub(super) fn recursive(&self) -> bool {
        let name = |frame: &str| frame.split(" at ").next().unwrap_or(frame).to_owned();
        let own: Vec<_> = self.all.iter().map(|frame| name(frame)).collect();
        own.iter().any(|one| own.iter().filter(|other| *other == one).count() >= RECURSION)
    }

    pub(super) fn aborted(&self) -> bool {
        let innermost = self.all.iter().take(4);
        innermost.clone().any(|frame| frame.starts_with("abort") || frame.contains("process::abort"))
    }
}

/// Reads lines such as `    0:   0x1b2c - guest.wasm!demo::poll` and, below, `    at src/lib.rs:3:5`.
fn frames(text: &str) -> Vec<String> {
    let mut frames: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if let Some(place) = line.strip_prefix("at ") {
            if let Some(last) = frames.last_mut() {
                last.push_str(" at ");
                last.push_str(&escaped(place, MAX_NAME));
            }
        } else if let Some((_, name)) = line.split_once('!').or_else(|| line.split_once(" - ")) {
            frames.push(plain(name));
        }
    }
    frames
}

/// A function's name without what compilers add to tell equal names apart: `::h0123456789abcdef` at the
/// end, `[0123456789abcdef]` after a crate.
fn plain(name: &str) -> String {
    let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let name = match name.rsplit_once("::h") {
        Some((before, hash)) if is_hash(hash) => before,
        Some(_) | None => name,
    };
    let mut plain = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('[') {
        plain.push_str(before);
        rest = match after.split_once(']') {
            Some((hash, after)) if is_hash(hash) => after,
            Some(_) | None => {
                plain.push('[');
                after
            }
        };
    }
    plain.push_str(rest);
    escaped(&plain, MAX_NAME)
}

/// The message of a Rust panic in the last lines of standard error: `src/lib.rs:1:2: text`.
pub(super) fn panic_message(errors: &[String]) -> Option<String> {
    let at = errors.iter().rposition(|line| line.contains("panicked at"))?;
    let place = errors[at].split("panicked at").nth(1)?.trim().trim_end_matches(':');
    let message = errors.get(at + 1).filter(|line| !line.starts_with("note:"));
    Some(match message {
        Some(message) => format!("{place}: {message}"),
        None => place.to_owned(),
    })
}

/// The whole text of a status.
pub(super) struct Trace<'a> {
    pub(super) cause: &'a str,
    pub(super) frames: Option<&'a Frames>,
    pub(super) errors: Vec<String>,
    pub(super) recent: Vec<String>,
    pub(super) dropped: u64,
    pub(super) memory: String,
}

impl fmt::Display for Trace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.cause)?;
        if let Some(frames) = self.frames {
            let own: Vec<_> = frames.own().collect();
            for same in own.chunk_by(|a, b| a == b).take(MAX_FRAMES) {
                write!(f, "\n    at {}", same[0])?;
                if same.len() > 1 {
                    write!(f, " ({} times and more)", same.len())?;
                }
            }
        }
        section(f, "standard error", &self.errors)?;
        section(f, "last log lines", &self.recent)?;
        if self.dropped > 0 {
            write!(f, "\n{} log lines were dropped", self.dropped)?;
        }
        write!(f, "\nmemory limit: {}", self.memory)
    }
}

fn section(f: &mut fmt::Formatter<'_>, title: &str, lines: &[String]) -> fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    write!(f, "\n{title}:")?;
    lines.iter().try_for_each(|line| write!(f, "\n    {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_libraries_are_left_out() {
        let text = "error while executing at wasm backtrace:\n    \
            0:   0x1b2c - guest.wasm!core::panicking::panic\n    \
            1:   0x1b30 - guest.wasm!hostile::poll\n                    at src/lib.rs:21:38\n    \
            2:   0x1b31 - guest.wasm!wit_bindgen::rt::poll";
        let frames = Frames { all: frames(text) };
        let own: Vec<_> = frames.own().collect();
        assert_eq!(own, ["hostile::poll at src/lib.rs:21:38"]);
    }

    #[test]
    fn names_lose_what_only_compilers_need() {
        for (name, expected) in [
            ("guest::spin::h36cb5cc5bcf6af81", "guest::spin"),
            ("std[d123b7a1a2ed1472]::process::abort", "std::process::abort"),
            ("<[u8] as guest::Look>::look", "<[u8] as guest::Look>::look"),
            ("main", "main"),
        ] {
            assert_eq!(plain(name), expected);
        }
    }

    #[test]
    fn a_panic_is_found_among_the_lines_of_standard_error() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let errors = lines("hello\nthread '<unnamed>' panicked at src/lib.rs:62:43:\ndatabase gone\nnote: run with");
        assert_eq!(panic_message(&errors).unwrap(), "src/lib.rs:62:43: database gone");
        assert_eq!(panic_message(&lines("nothing")), None);
    }

    #[test]
    fn a_function_that_calls_itself_over_and_over_is_recursive() {
        let frames = |names: &[&str]| Frames { all: names.iter().map(|name| (*name).to_owned()).collect() };
        assert!(frames(&["deep", "deep", "deep", "deep", "deep", "poll"]).recursive());
        assert!(!frames(&["a", "b", "c", "d", "e"]).recursive());
    }
}
