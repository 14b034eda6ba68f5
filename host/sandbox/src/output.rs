//! A guest's log lines, standard output and standard error, on their way into `tracing`.
//!
//! Guest text is never trusted: it is cut, escaped and held to a rate. The last lines are kept for the
//! trace of a crash.

mod lines;
mod rate;
mod stdio;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bulkhead_model::Instance;

use lines::Lines;
pub(crate) use lines::escaped;
use rate::Rate;
pub(crate) use stdio::Stdio;

/// Longer lines are cut; the WIT package promises this size.
const MAX_LINE: usize = 32 << 10;
/// Lines kept for a crash's trace, and how much of each.
const RECENT_LINES: usize = 10;
const RECENT_LINE: usize = 512;
/// Lines of standard error kept for a crash's trace: a panic's message is among them.
const PANIC_LINES: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// One instance's lines.
pub(crate) struct Output {
    instance: Instance,
    plugin: String,
    dropped: AtomicU64,
    kept: Mutex<Kept>,
}

struct Kept {
    rate: Rate,
    stdout: Lines,
    stderr: Lines,
    /// Dropped since the last line that was let through.
    dropped: u64,
    recent: VecDeque<String>,
    errors: VecDeque<String>,
}

impl Output {
    pub(crate) fn new(instance: Instance, plugin: String, bytes_per_second: u32) -> Self {
        Self {
            instance,
            plugin,
            dropped: AtomicU64::new(0),
            kept: Mutex::new(Kept {
                rate: Rate::new(bytes_per_second, Instant::now()),
                stdout: Lines::default(),
                stderr: Lines::default(),
                dropped: 0,
                recent: VecDeque::new(),
                errors: VecDeque::new(),
            }),
        }
    }

    /// Lines dropped so far.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Takes a line from `logging.log`.
    pub(crate) fn log(&self, level: Level, logger: &str, message: &str, fields: &[(String, String)]) {
        let mut line = escaped(message, MAX_LINE);
        for (key, value) in fields {
            line.push(' ');
            line.push_str(&escaped(key, MAX_LINE));
            line.push('=');
            line.push_str(&escaped(value, MAX_LINE));
        }
        lines::cut(&mut line, MAX_LINE);
        self.keep(&mut self.lock(), level, &escaped(logger, 128), line);
    }

    /// Takes bytes of standard output or standard error; whole lines go on at once.
    pub(crate) fn write(&self, stream: Stream, bytes: &[u8]) {
        let mut kept = self.lock();
        let mut rest = bytes;
        loop {
            let lines = match stream {
                Stream::Stdout => &mut kept.stdout,
                Stream::Stderr => &mut kept.stderr,
            };
            let Some((line, after)) = lines.next(rest) else { break };
            rest = after;
            self.line(&mut kept, stream, line);
        }
    }

    /// Lets go of lines that were never ended; called when the instance is over.
    pub(crate) fn flush(&self) {
        let mut kept = self.lock();
        for stream in [Stream::Stdout, Stream::Stderr] {
            let unfinished = match stream {
                Stream::Stdout => kept.stdout.take(),
                Stream::Stderr => kept.stderr.take(),
            };
            if let Some(line) = unfinished {
                self.line(&mut kept, stream, line);
            }
        }
    }

    /// The last lines, oldest first.
    pub(crate) fn recent(&self) -> Vec<String> {
        self.lock().recent.iter().cloned().collect()
    }

    /// The last lines of standard error, oldest first, whatever the rate was.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.lock().errors.iter().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn line(&self, kept: &mut Kept, stream: Stream, line: String) {
        if line.trim().is_empty() {
            return;
        }
        let (level, logger) = match stream {
            Stream::Stdout => (Level::Info, "stdout"),
            Stream::Stderr => (Level::Warn, "stderr"),
        };
        if stream == Stream::Stderr {
            remember(&mut kept.errors, PANIC_LINES, &line);
        }
        self.keep(kept, level, logger, line);
    }

    fn keep(&self, kept: &mut Kept, level: Level, logger: &str, line: String) {
        if !kept.rate.take(line.len(), Instant::now()) {
            kept.dropped += 1;
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if kept.dropped > 0 {
            let note = format!("{} lines dropped (`sandbox.log.bytes.per.second`)", kept.dropped);
            kept.dropped = 0;
            self.emit(Level::Warn, "bulkhead", &note);
        }
        self.emit(level, logger, &line);
        remember(&mut kept.recent, RECENT_LINES, &format!("{level:?} {logger}: {line}"));
    }

    fn emit(&self, level: Level, logger: &str, message: &str) {
        let connector = self.instance.connector().as_str();
        let task = self.instance.task_number();
        let plugin = self.plugin.as_str();
        macro_rules! emit {
            ($level:ident) => {
                tracing::event!(target: "bulkhead::plugin", tracing::Level::$level, connector, task, plugin, logger, "{message}")
            };
        }
        match level {
            Level::Trace => emit!(TRACE),
            Level::Debug => emit!(DEBUG),
            Level::Info => emit!(INFO),
            Level::Warn => emit!(WARN),
            Level::Error => emit!(ERROR),
        }
    }
}

/// Whether a line of this level would be looked at by anybody.
pub(crate) fn enabled(level: Level) -> bool {
    macro_rules! enabled {
        ($level:ident) => {
            tracing::enabled!(target: "bulkhead::plugin", tracing::Level::$level)
        };
    }
    match level {
        Level::Trace => enabled!(TRACE),
        Level::Debug => enabled!(DEBUG),
        Level::Info => enabled!(INFO),
        Level::Warn => enabled!(WARN),
        Level::Error => enabled!(ERROR),
    }
}

fn remember(lines: &mut VecDeque<String>, most: usize, line: &str) {
    if lines.len() == most {
        lines.pop_front();
    }
    let mut line = line.to_owned();
    lines::cut(&mut line, RECENT_LINE);
    lines.push_back(line);
}

#[cfg(test)]
mod tests {
    use bulkhead_model::ConnectorName;

    use super::*;

    fn output(rate: u32) -> Output {
        Output::new(Instance::Task(ConnectorName::new("c").task(0)), "p".to_owned(), rate)
    }

    #[test]
    fn bytes_become_lines() {
        let output = output(1000);
        output.write(Stream::Stderr, b"one\ntw");
        output.write(Stream::Stderr, b"o\n\nthr");
        output.write(Stream::Stdout, b"out\n");
        output.flush();
        assert_eq!(output.errors(), ["one", "two", "thr"]);
        assert_eq!(output.recent(), ["Warn stderr: one", "Warn stderr: two", "Info stdout: out", "Warn stderr: thr"]);
    }

    #[test]
    fn lines_over_the_rate_are_dropped_and_counted() {
        let output = output(10);
        for _ in 0..5 {
            output.log(Level::Info, "l", "12345", &[]);
        }
        assert_eq!(output.dropped(), 3);
        assert_eq!(output.recent().len(), 2);
    }

    #[test]
    fn fields_follow_the_message_and_nothing_can_forge_a_line() {
        let output = output(1000);
        output.log(Level::Info, "l", "a\nINFO forged", &[("k".to_owned(), "\u{1b}[31m".to_owned())]);
        assert_eq!(output.recent(), [r"Info l: a\nINFO forged k=\u{1b}[31m"]);
    }
}
