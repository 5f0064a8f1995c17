//! The positions of up to four byte values in a buffer, in order. As in simdjson, vectors find them in a pass of its own
//! that writes plain numbers, so that the loop over fields has neither vectors nor bit tricks in it.

use wide::u8x16;

const BLOCK: usize = 64;

/// Bytes looked at in one go: small enough that the positions stay in the first-level cache.
const STRIDE: usize = 4096;

/// The positions, found a stride ahead of their use.
pub(crate) struct Structurals<'a> {
    bytes: &'a [u8],
    wanted: [u8x16; 4],
    /// Everything before this offset is in `found` or was returned.
    looked_to: usize,
    found: Vec<u32>,
    len: usize,
    next: usize,
}

impl<'a> Structurals<'a> {
    /// Positions of any of `wanted` in `bytes` (less than 4 GiB); repeat a value when there are fewer than four.
    pub(crate) fn new(bytes: &'a [u8], wanted: [u8; 4]) -> Self {
        // One block more than can be found: positions are written eight at a time.
        let found = vec![0; STRIDE.min(bytes.len()) + BLOCK];
        Structurals { bytes, wanted: wanted.map(u8x16::splat), looked_to: 0, found, len: 0, next: 0 }
    }

    /// The next position.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<usize> {
        let at = self.peek()?;
        self.next += 1;
        Some(at)
    }

    /// The next position, which is not taken.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<usize> {
        while self.next == self.len {
            if !self.look_further() {
                return None;
            }
        }
        Some(self.found[self.next] as usize)
    }

    /// The positions that are known and not yet returned; possibly none, even where more follow.
    #[inline]
    pub(crate) fn ahead(&self) -> &[u32] {
        &self.found[self.next..self.len]
    }

    /// Takes the first `count` positions of [`Structurals::ahead`] as returned.
    #[inline]
    pub(crate) fn skip(&mut self, count: usize) {
        self.next += count;
    }

    /// Looks at the next stride, once all known positions were returned; `false` when there is none.
    #[inline(never)]
    pub(crate) fn look_further(&mut self) -> bool {
        if self.looked_to >= self.bytes.len() {
            return false;
        }
        let stride = &self.bytes[self.looked_to..(self.looked_to + STRIDE).min(self.bytes.len())];
        let (blocks, rest) = stride.as_chunks::<BLOCK>();
        let mut base = offset(self.looked_to);
        self.len = 0;
        self.next = 0;
        for block in blocks {
            self.note(base, self.mask(block));
            base += offset(BLOCK);
        }
        if !rest.is_empty() {
            // Padded with a byte that nobody can want: inputs hold no 0xFF (not UTF-8).
            let mut padded = [0xFF; BLOCK];
            padded[..rest.len()].copy_from_slice(rest);
            self.note(base, self.mask(&padded));
        }
        self.looked_to += stride.len();
        true
    }

    #[inline]
    fn mask(&self, block: &[u8; BLOCK]) -> u64 {
        let [a, b, c, d] = self.wanted;
        let mut mask = 0;
        // Sixteen at a time: SSE2 is what every x86-64 has.
        let (lanes, _) = block.as_chunks::<16>();
        for (n, lane) in lanes.iter().enumerate() {
            let lane = u8x16::new(*lane);
            let hit = lane.simd_eq(a) | lane.simd_eq(b) | lane.simd_eq(c) | lane.simd_eq(d);
            mask |= u64::from(hit.to_bitmask()) << (16 * n);
        }
        mask
    }

    /// Writes the positions of the bits of `mask`, eight at a time whether there are so many or not: how many there are
    /// cannot be predicted, whether there are more than eight mostly can.
    #[inline]
    fn note(&mut self, base: u32, mask: u64) {
        let count = mask.count_ones() as usize;
        let mut left = mask;
        for group in self.found[self.len..].chunks_exact_mut(8).take(count.div_ceil(8)) {
            for position in group {
                *position = base + left.trailing_zeros();
                left &= left.wrapping_sub(1);
            }
        }
        self.len += count;
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the cutter holds pieces below 2^31 bytes")]
fn offset(at: usize) -> u32 {
    at as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_position_is_missed_at_block_edges() {
        for len in [0, 1, 63, 64, 65, 127, 128, 129, 300, 4095, 4096, 4097, 9000] {
            for step in [1, 2, 3, 7, 63, 64, 65] {
                let mut bytes = vec![b'x'; len];
                let mut expected = Vec::new();
                for (n, at) in (0..len).step_by(step).enumerate() {
                    bytes[at] = b",\n\r\""[n % 4];
                    expected.push(at);
                }
                let mut found = Structurals::new(&bytes, *b",\n\r\"");
                let found: Vec<_> = std::iter::from_fn(|| found.next()).collect();
                assert_eq!(found, expected, "len {len} step {step}");
            }
        }
    }
}
