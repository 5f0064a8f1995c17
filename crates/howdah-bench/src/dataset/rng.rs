//! Random numbers that are the same on every machine and with every version of the random number crates.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng};

/// A seeded stream of small integers. Only the cipher itself comes from outside: how a seed becomes a key and how a
/// word becomes a number in a range is fixed here.
pub(super) struct Rng(ChaCha8Rng);

impl Rng {
    /// `purpose` keeps the streams of different data sets apart under the same seed.
    pub(super) fn new(seed: u64, purpose: &[u8; 8]) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(purpose);
        Rng(ChaCha8Rng::from_seed(key))
    }

    /// A number in `0..limit`. The bias of multiply-and-shift is below one in a thousand for limits under four million.
    pub(super) fn below(&mut self, limit: u32) -> u32 {
        scale(self.0.next_u32(), limit)
    }

    /// A number in `low..=high`.
    pub(super) fn between(&mut self, low: i32, high: i32) -> i32 {
        low.wrapping_add_unsigned(self.below(high.abs_diff(low) + 1))
    }

    /// A number in `0..limit` that is more often small: few users and repositories make most of the events.
    pub(super) fn skewed(&mut self, limit: u32) -> u32 {
        let word = self.0.next_u32();
        scale(scale(word, word), limit)
    }

    /// True `times` in `of`.
    pub(super) fn chance(&mut self, times: u32, of: u32) -> bool {
        self.below(of) < times
    }

    /// One of `choices`.
    pub(super) fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        let index = self.below(u32::try_from(choices.len()).expect("there are few choices"));
        choices[index as usize]
    }

    /// A number in 0.0..1.0 with all the digits that a float8 has.
    pub(super) fn fraction(&mut self) -> f64 {
        // 53 bits are exact as a float8, and so is their quotient by a power of two.
        let bits = self.word() >> 11;
        bits as f64 / 9_007_199_254_740_992.0
    }

    /// A random uuid, version 4.
    pub(super) fn uuid(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.word().to_le_bytes());
        bytes[8..].copy_from_slice(&self.word().to_le_bytes());
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        bytes
    }

    /// 64 random bits.
    pub(super) fn word(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// `word / 2^32 * limit`, rounded down.
fn scale(word: u32, limit: u32) -> u32 {
    let [.., a, b, c, d] = ((u64::from(word) * u64::from(limit)) >> 32).to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}
