//! So many bytes a second.

use std::time::Instant;

/// A bucket that holds one second's worth and fills steadily.
pub(super) struct Rate {
    per_second: f64,
    left: f64,
    at: Instant,
}

impl Rate {
    pub(super) fn new(per_second: u32, now: Instant) -> Self {
        let per_second = f64::from(per_second);
        Self { per_second, left: per_second, at: now }
    }

    /// Whether so many bytes may pass now. A line larger than the whole bucket passes when it is full.
    pub(super) fn take(&mut self, bytes: usize, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * self.per_second).min(self.per_second);
        self.at = now;
        let cost = (bytes as f64).min(self.per_second);
        if cost > self.left {
            return false;
        }
        self.left -= cost;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_full_second_may_pass_at_once_and_then_so_much_each_second() {
        let start = Instant::now();
        let mut rate = Rate::new(100, start);
        assert!(rate.take(100, start));
        assert!(!rate.take(1, start));
        let later = start + Duration::from_millis(500);
        assert!(rate.take(50, later));
        assert!(!rate.take(1, later));
        assert!(rate.take(1_000_000, later + Duration::from_secs(1)), "a huge line passes alone");
    }
}
