//! What guests print reaches the log: marked, escaped, and held to a rate.

use std::io;
use std::sync::{Arc, Mutex};

use bulkhead_pipeline::ports::SourceTask;
use tracing_subscriber::fmt::MakeWriter;

use crate::{Bench, POLL};

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    fn lines(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.0.lock().unwrap()).lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_flood_of_lines_is_dropped_and_counted() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).finish();
    // Guests run on threads of their own, so the whole process has to listen.
    tracing::subscriber::set_global_default(subscriber).expect("nobody else listens in this process");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let rate = 32 << 10;
        let properties = [("sandbox.log.bytes.per.second", "32768"), ("sandbox.cpu.burst.ms", "20000")];
        let bench = Bench::open(&["bulkhead_test_guests"], &properties).await;
        for (mode, what) in [("log-flood", "log flood"), ("stdout-flood", "stdout flood")] {
            let before = log.lines().len();
            let begun = std::time::Instant::now();
            let source = bench.hostile(mode, mode, &[]).await.unwrap();
            source.poll(POLL).await.unwrap();
            let seconds = begun.elapsed().as_secs() as usize + 1;
            let lines = log.lines().split_off(before);
            let flood: Vec<_> = lines.iter().filter(|line| line.contains(what)).collect();
            assert!(!flood.is_empty(), "{mode}: nothing got through");
            let bytes: usize = flood.iter().map(|line| line.len()).sum();
            assert!(bytes < 2 * rate * (seconds + 1), "{mode}: {bytes} bytes in {seconds} s");
            for line in flood {
                assert!(line.contains(&format!("connector=\"{mode}\" task=0")), "{line}");
                assert!(line.contains("plugin=\"io.bulkhead.test.Hostile\""), "{line}");
            }
            let stats = &bench.sandbox.instances()[0];
            assert!(stats.dropped_log_lines > 5_000, "{mode}: {stats:?}");
            source.stop().await.unwrap();
        }
    });
}
