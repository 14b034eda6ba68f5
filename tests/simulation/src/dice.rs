//! Numbers that follow from a seed.

/// A small generator. Each worker, log and schedule has its own, so that leaving out one thing changes
/// little of the rest.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// One that belongs to something: the same seed and owner give the same numbers.
    pub fn of(seed: u64, owner: u64) -> Self {
        let mut dice = Self(seed ^ owner.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        dice.next();
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which isn't 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A number from `least` to `most`.
    pub fn between(&mut self, (least, most): (u64, u64)) -> u64 {
        least + self.below(most.saturating_sub(least) + 1)
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())].clone()
    }

    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("below a usize")
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}
