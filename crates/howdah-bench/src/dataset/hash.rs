//! The hash that PostgreSQL's `hashtextextended` computes: Bob Jenkins's lookup3 with a 64-bit seed.
//!
//! Servers must not change it between versions, as hash partitions are found with it. Big-endian servers compute another.

/// What the three words begin with, besides the length.
const START: u32 = 0x9e37_79b9 + 3_923_095;

/// `hashtextextended(bytes, seed)` of a text in a database with a deterministic collation.
pub(super) fn hash(bytes: &[u8], seed: i64) -> i64 {
    // The length enters modulo 2^32.
    let [a, b, c, d, ..] = (bytes.len() as u64).to_le_bytes();
    let start = START.wrapping_add(u32::from_le_bytes([a, b, c, d]));
    let mut state = State { a: start, b: start, c: start };
    if seed != 0 {
        let [l0, l1, l2, l3, h0, h1, h2, h3] = seed.to_le_bytes();
        state.a = state.a.wrapping_add(u32::from_le_bytes([h0, h1, h2, h3]));
        state.b = state.b.wrapping_add(u32::from_le_bytes([l0, l1, l2, l3]));
        state.mix();
    }
    let (blocks, rest) = bytes.as_chunks::<12>();
    for block in blocks {
        state.add(block);
        state.mix();
    }
    // The rest is padded with zeros; the lowest byte of the last word is left to the length, which is in already.
    let mut last = [0; 12];
    let (front, back) = rest.split_at(rest.len().min(8));
    last[..front.len()].copy_from_slice(front);
    last[9..9 + back.len()].copy_from_slice(back);
    state.add(&last);
    state.finish();
    (i64::from(state.b) << 32) | i64::from(state.c)
}

struct State {
    a: u32,
    b: u32,
    c: u32,
}

impl State {
    fn add(&mut self, block: &[u8; 12]) {
        let [a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3] = *block;
        self.a = self.a.wrapping_add(u32::from_le_bytes([a0, a1, a2, a3]));
        self.b = self.b.wrapping_add(u32::from_le_bytes([b0, b1, b2, b3]));
        self.c = self.c.wrapping_add(u32::from_le_bytes([c0, c1, c2, c3]));
    }

    fn mix(&mut self) {
        let State { a, b, c } = self;
        for [first, second, third] in [[4, 6, 8], [16, 19, 4]] {
            *a = a.wrapping_sub(*c) ^ c.rotate_left(first);
            *c = c.wrapping_add(*b);
            *b = b.wrapping_sub(*a) ^ a.rotate_left(second);
            *a = a.wrapping_add(*c);
            *c = c.wrapping_sub(*b) ^ b.rotate_left(third);
            *b = b.wrapping_add(*a);
        }
    }

    fn finish(&mut self) {
        let State { a, b, c } = self;
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
    }
}
