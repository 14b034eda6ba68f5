use bulkhead_sdk::prelude::*;

/// One sequence of numbers. Of all streams together each number from 0 on comes exactly once: stream 2 of 8 has 2, 10, 18
/// and so on.
#[derive(Debug)]
pub struct Stream {
    /// Its source partition.
    pub source: Partition,
    first: u64,
    step: u64,
    /// How many of its numbers were given out.
    given: u64,
    end: Option<u64>,
}

impl Stream {
    /// Stream `number` of `all`, of which `given` numbers were given out before; `count` is the end of all together.
    pub fn new(number: u32, all: u32, given: u64, count: Option<u64>) -> Self {
        let (first, step) = (u64::from(number), u64::from(all));
        let source = Self::partition(number);
        Self { source, first, step, given, end: count.map(|count| count.saturating_sub(first).div_ceil(step)) }
    }

    /// The source partition of a stream.
    pub fn partition(number: u32) -> Partition {
        Partition::new([("stream", number)])
    }

    /// The next number and the offset behind it; none at the end.
    pub fn advance(&mut self) -> Option<(u64, u64)> {
        if self.is_over() {
            return None;
        }
        let number = self.first + self.given * self.step;
        self.given += 1;
        Some((number, self.given))
    }

    /// True once all its numbers were given out.
    pub fn is_over(&self) -> bool {
        self.end.is_some_and(|end| self.given >= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_streams_together_give_each_number_once() {
        let mut numbers: Vec<u64> = (0..8)
            .flat_map(|number| {
                let mut stream = Stream::new(number, 8, 0, Some(21));
                std::iter::from_fn(move || stream.advance()).map(|(number, _)| number)
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..21).collect::<Vec<_>>());
    }

    #[test]
    fn a_stream_goes_on_where_it_was() {
        assert_eq!(Stream::new(2, 8, 3, None).advance(), Some((26, 4)));
    }
}
