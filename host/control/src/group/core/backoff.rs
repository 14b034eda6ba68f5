//! How long to wait before something is tried again (KIP-580, without its jitter: each member asks on its own clock).

use super::Millis;

#[derive(Clone, Debug)]
pub(super) struct Backoff {
    first: Millis,
    most: Millis,
    failures: u32,
    until: Millis,
}

impl Backoff {
    pub(super) fn new(first: Millis, most: Millis) -> Self {
        Self { first, most, failures: 0, until: 0 }
    }

    pub(super) fn failed(&mut self, now: Millis) {
        let pause = self.first.saturating_mul(1 << self.failures.min(20)).min(self.most.max(self.first));
        self.failures += 1;
        self.until = now + pause;
    }

    pub(super) fn reset(&mut self) {
        self.failures = 0;
        self.until = 0;
    }

    pub(super) fn until(&self) -> Millis {
        self.until
    }

    pub(super) fn is_over(&self, now: Millis) -> bool {
        now >= self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_most() {
        let mut backoff = Backoff::new(100, 1000);
        let pauses: Vec<_> = (0..6)
            .map(|_| {
                backoff.failed(5);
                backoff.until() - 5
            })
            .collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1000, 1000]);
        backoff.reset();
        assert!(backoff.is_over(0));
    }
}
