//! Random numbers that a seed repeats: SplitMix64 (Steele, Lea, Flood, 2014), which passes for chance in tests.

use std::ops::Range;
use std::time::Duration;

/// A source of random numbers; the same seed gives the same ones on every machine.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that fall as `seed` says.
    pub fn new(seed: u64) -> Self {
        Dice(seed)
    }

    /// Any number.
    pub fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number of the range, which is not empty. (That small numbers are a little likelier does not matter in tests.)
    pub fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.throw() % (range.end - range.start)
    }

    /// Whether something happens that happens once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.within(0..times) == 0
    }

    /// One of several.
    pub fn one_of<T: Copy>(&mut self, several: &[T]) -> T {
        let index = self.within(0..several.len() as u64);
        several[usize::try_from(index).unwrap()]
    }

    /// A time up to `most`, in whole microseconds.
    pub fn up_to(&mut self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_micros()).unwrap();
        Duration::from_micros(self.within(0..most + 1))
    }
}
