//! What it costs that indexes grow larger than the server's memory for pages: an estimate from sizes alone.

/// Microseconds of a page that is not there: it is read from the operating system's memory, and another is written to make room.
/// From entries in random order led into an index of 128 to 260 MB, with shared_buffers of 128 MB, on two shared cores.
const MISS: f64 = 7.0;

/// The indexes of a table whose entries come in random order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IndexMemory {
    /// Bytes of all of them for a row of the table: they share the room.
    pub bytes_per_row: f64,
    /// Pages that a row needs of them, each of which may not be there.
    pub pages_per_row: f64,
    /// Bytes that the server has for pages.
    pub room: f64,
}

impl IndexMemory {
    /// Seconds that a row takes for pages that are not there, on average, while `brought` rows come to `held`.
    #[must_use]
    pub fn missing_s(&self, held: f64, brought: f64) -> f64 {
        let fitting = self.room / self.bytes_per_row.max(f64::MIN_POSITIVE);
        let (first, last) = (held.max(fitting), held + brought);
        let shortage = if brought > 0.0 {
            // The integral of 1 − fitting ÷ rows, where there are more rows than fit.
            if last <= first { 0.0 } else { (last - first - fitting * (last / first).ln()) / brought }
        } else {
            (1.0 - fitting / held.max(f64::MIN_POSITIVE)).max(0.0)
        };
        self.pages_per_row * shortage * MISS / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IndexMemory = IndexMemory { bytes_per_row: 60.0, pages_per_row: 1.0, room: 60e6 };

    #[test]
    fn what_fits_costs_nothing_and_what_is_twice_as_large_misses_half_of_its_pages() {
        assert_eq!(ONE.missing_s(0.0, 1e6), 0.0);
        assert_eq!(ONE.missing_s(5e5, 0.0), 0.0);
        assert!((ONE.missing_s(2e6, 0.0) - 3.5e-6).abs() < 1e-9);
        // The first half of the rows misses nothing, and the second half less than its last row does.
        let growing = ONE.missing_s(0.0, 2e6);
        assert!(growing > 0.5e-6 && growing < 1.75e-6, "{growing}");
        assert!((ONE.missing_s(2e6, 1.0) - 3.5e-6).abs() < 1e-9);
        assert!(IndexMemory { pages_per_row: 2.0, ..ONE }.missing_s(2e6, 0.0) > 6e-6);
    }

    #[test]
    fn indexes_without_entries_cost_nothing() {
        assert_eq!(IndexMemory { bytes_per_row: 0.0, ..ONE }.missing_s(1e9, 1e9), 0.0);
        assert_eq!(ONE.missing_s(0.0, 0.0), 0.0);
    }
}
