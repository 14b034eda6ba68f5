//! Samples, what is printed of them, and limits.

use anyhow::bail;

/// Measurements of one thing.
pub(crate) struct Samples {
    sorted: Vec<f64>,
}

/// What was printed, and what of it is over its limit.
#[derive(Default)]
pub(crate) struct Report {
    over: Vec<String>,
}

impl Samples {
    pub(crate) fn new(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        Self { sorted: samples }
    }

    /// The round with the lowest median: what else the machine does can only slow a round down.
    pub(crate) fn quietest(rounds: impl IntoIterator<Item = Vec<f64>>) -> Self {
        let rounds = rounds.into_iter().map(Self::new);
        rounds.min_by(|a, b| a.median().total_cmp(&b.median())).unwrap_or_else(|| Self::new(Vec::new()))
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    fn quantile(&self, part: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1);
        self.sorted.get((last as f64 * part) as usize).copied().unwrap_or(f64::NAN)
    }
}

impl Report {
    /// Prints median and 90th percentile.
    pub(crate) fn samples(&mut self, what: &str, unit: &str, samples: &Samples, limit: Option<f64>) {
        let p90 = samples.quantile(0.9);
        self.line(what, unit, samples.median(), &format!(", p90 {p90:.1}"), limit);
    }

    /// Prints one figure.
    pub(crate) fn figure(&mut self, what: &str, unit: &str, value: f64, limit: Option<f64>) {
        self.line(what, unit, value, "", limit);
    }

    fn line(&mut self, what: &str, unit: &str, value: f64, more: &str, limit: Option<f64>) {
        let bound = limit.map(|limit| format!(" (limit {limit})")).unwrap_or_default();
        println!("{what:<46} {value:>9.1} {unit}{more}{bound}");
        if limit.is_some_and(|limit| value > limit) {
            self.over.push(format!("{what}: {value:.1} {unit}{bound}"));
        }
    }

    /// Fails if a figure was over its limit.
    pub(crate) fn check(self) -> anyhow::Result<()> {
        if self.over.is_empty() {
            return Ok(());
        }
        bail!("over the limit:\n{}", self.over.join("\n"))
    }
}
