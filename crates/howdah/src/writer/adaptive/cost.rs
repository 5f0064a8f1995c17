//! What a flush costs: a fixed part and a part a row, learned from flushes as they end, and how far these are spread.

/// Flushes that the price of a row is averaged over: a moment, so that a server which slows down is noticed at once.
const RECENT: f64 = 64.0;

/// Flushes that tell the fixed part from the price of a row: many, since the two are told apart by the few flushes that
/// are much smaller than the others, and since the fixed part, counted in rows, is a trait of server and network.
const LONG: f64 = 512.0;

/// As many empty flushes, and as many large ones, confirm the fixed part that was held so far; fewer in the beginning, when
/// it is a guess.
const HELD: f64 = 8.0;

/// A flush counts as at most so many times what was expected: a checkpoint's stall says nothing about the next flush.
const OUTLIER: f64 = 3.0;

/// So many outliers in a row are none: the server has become slower. More than the connections that one stall can hold up.
const NO_OUTLIERS: u32 = 8;

/// From so many flushes on it is known what to expect.
const KNOWN: u32 = 8;

/// The fixed part, in rows, is believed up to so many times the rows of usual flushes: small flushes all cost alike, and
/// do not tell what a large one would.
const FAR_FETCHED: f64 = 32.0;

/// The line `seconds = price x (fixed + rows)`, fitted to flushes whose weights fade.
///
/// The line has two speeds. `price` follows the last flushes; `fixed`, the number of rows that take as long as an empty
/// flush, follows many. When a server slows down as a whole only `price` has to move.
#[derive(Debug, Clone)]
pub(super) struct Cost {
    fixed: f64,
    recent: Recent,
    long: Long,
    flushes: u32,
    outliers: u32,
}

/// Sums over the last flushes.
#[derive(Debug, Clone, Copy)]
struct Recent {
    flushes: f64,
    rows: f64,
    seconds: f64,
}

/// Sums of least squares. Each flush weighs by the inverse square of what was expected of it, because the error of a flush
/// grows with the flush: small ones tell the fixed part exactly.
#[derive(Debug, Clone, Copy, Default)]
struct Long {
    w: f64,
    wn: f64,
    wnn: f64,
    wt: f64,
    wnt: f64,
}

impl Cost {
    /// A guess, which the first flush corrects.
    pub(super) fn guess(fixed: f64, price: f64) -> Cost {
        Cost::with_weight(fixed, price, 0.01)
    }

    /// What is expected where nothing is known but this.
    pub(super) fn anew(&self) -> Cost {
        Cost::with_weight(self.fixed, self.price(), 0.5)
    }

    /// As though so many flushes had shown it, each half fixed part and half rows.
    fn with_weight(fixed: f64, price: f64, flushes: f64) -> Cost {
        let rows = fixed * flushes;
        let recent = Recent { flushes, rows, seconds: price * 2.0 * rows };
        Cost { fixed, recent, long: Long::default(), flushes: 0, outliers: 0 }
    }

    /// How many rows take as long as an empty flush.
    pub(super) fn fixed_rows(&self) -> f64 {
        self.fixed
    }

    /// Seconds a row.
    pub(super) fn price(&self) -> f64 {
        self.recent.seconds / (self.recent.rows + self.fixed * self.recent.flushes)
    }

    /// What a flush of so many rows is expected to take.
    pub(super) fn seconds(&self, rows: f64) -> f64 {
        self.price() * (self.fixed + rows)
    }

    /// How many rows a flush of so many seconds has; less than nothing where an empty one takes longer.
    pub(super) fn rows(&self, seconds: f64) -> f64 {
        seconds / self.price() - self.fixed
    }

    /// Rows of the flushes that were seen lately.
    pub(super) fn usual_rows(&self) -> f64 {
        self.recent.rows / self.recent.flushes
    }

    /// Flushes seen.
    pub(super) fn flushes(&self) -> u32 {
        self.flushes
    }

    /// Learns from a flush. How many times what was expected it took.
    pub(super) fn observe(&mut self, rows: f64, seconds: f64) -> f64 {
        // A null connection takes no time at all, by which nothing can be divided.
        let seconds = seconds.max(1e-7);
        let expected = self.seconds(rows);
        let ratio = seconds / expected;
        let is_outlier = self.flushes >= KNOWN && ratio > OUTLIER;
        self.outliers = if is_outlier { self.outliers + 1 } else { 0 };
        let seconds = if is_outlier && self.outliers < NO_OUTLIERS { OUTLIER * expected } else { seconds };
        self.flushes = self.flushes.saturating_add(1);
        self.recent.add(rows, seconds);
        self.long.add(rows, seconds, self.fixed);
        let most = FAR_FETCHED * self.usual_rows();
        self.fixed = self.long.fixed_rows(self.fixed, self.flushes).clamp(1.0, most.max(1.0));
        ratio
    }
}

impl Recent {
    fn add(&mut self, rows: f64, seconds: f64) {
        let keep = 1.0 - 1.0 / RECENT;
        self.flushes = self.flushes * keep + 1.0;
        self.rows = self.rows * keep + rows;
        self.seconds = self.seconds * keep + seconds;
    }
}

impl Long {
    fn add(&mut self, rows: f64, seconds: f64, fixed: f64) {
        let keep = 1.0 - 1.0 / LONG;
        for sum in [&mut self.w, &mut self.wn, &mut self.wnn, &mut self.wt, &mut self.wnt] {
            *sum *= keep;
        }
        self.weigh(rows, seconds, (fixed + rows).powi(-2));
    }

    fn weigh(&mut self, rows: f64, seconds: f64, weight: f64) {
        self.w += weight;
        self.wn += weight * rows;
        self.wnn += weight * rows * rows;
        self.wt += weight * seconds;
        self.wnt += weight * rows * seconds;
    }

    /// The fixed part of the line through all flushes, in rows. What was held until now counts as some more of them,
    /// empty and large ones, so that it stays where all flushes are alike and tell nothing.
    fn fixed_rows(mut self, held: f64, flushes: u32) -> f64 {
        let confirmed = HELD.min(f64::from(flushes) / HELD);
        let price = (held * self.wt + self.wnt) / (held * held * self.w + 2.0 * held * self.wn + self.wnn);
        let large = 20.0 * held;
        self.weigh(0.0, price * held, confirmed * held.powi(-2));
        self.weigh(large, price * (held + large), confirmed * (held + large).powi(-2));
        // Times the determinant, which cancels out.
        let price = self.w * self.wnt - self.wn * self.wt;
        let fixed = self.wnn * self.wt - self.wn * self.wnt;
        if price > 0.0 { fixed / price } else { held }
    }
}

/// Flushes whose spread is looked at.
const LOOK_BACK: usize = 128;

/// Before so many flushes nothing is known about the spread, and after so many more it is looked at again.
const FEW: usize = 16;

/// The share of flushes that takes no longer than what [`Spread::high`] says: with the wait before it, which is rarely the
/// longest too, it makes the 99th percentile; and a stall that holds up a few connections at once is not taken for the rule.
const SHARE: f64 = 0.95;

/// How many times what was expected flushes take: the last ones.
#[derive(Debug, Clone)]
pub(super) struct Spread {
    ratios: Vec<f64>,
    next: usize,
    high: f64,
}

impl Default for Spread {
    fn default() -> Self {
        Spread { ratios: Vec::with_capacity(LOOK_BACK), next: 0, high: 1.5 }
    }
}

impl Spread {
    pub(super) fn observe(&mut self, ratio: f64) {
        match self.ratios.get_mut(self.next) {
            Some(oldest) => *oldest = ratio,
            None => self.ratios.push(ratio),
        }
        self.next = (self.next + 1) % LOOK_BACK;
        if self.next.is_multiple_of(FEW) {
            let mut ratios = self.ratios.clone();
            let at = whole(ratios.len() as f64 * SHARE).min(ratios.len() - 1);
            let (_, high, _) = ratios.select_nth_unstable_by(at, f64::total_cmp);
            self.high = high.clamp(1.1, OUTLIER);
        }
    }

    /// The 95th percentile, within reason.
    pub(super) fn high(&self) -> f64 {
        self.high
    }
}

/// The whole part of a number that counts something.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the fraction is meant to go; `as` saturates, and makes 0 of NaN"
)]
pub(super) fn whole(count: f64) -> usize {
    count as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: f64 = 16e-6;

    /// Flushes of a server with a fixed part of forty rows; `noise` from -1 to 1, without a pattern.
    fn learn(cost: &mut Cost, flushes: u32, rows: impl Fn(u32) -> f64, noise: f64) {
        for flush in 0..flushes {
            let swing = 1.0 + noise * (f64::from(flush.wrapping_mul(2_654_435_761) >> 8) / 8_388_608.0 - 1.0);
            cost.observe(rows(flush), PRICE * (40.0 + rows(flush)) * swing);
        }
    }

    #[test]
    fn the_fixed_part_is_told_from_the_rows_by_a_few_small_flushes() {
        for (guess, small) in [(10.0, 80.0), (400.0, 80.0), (32.0, 1.0)] {
            let mut cost = Cost::guess(guess, 1.0);
            learn(&mut cost, 512, |flush| if flush % 8 == 0 { small } else { 640.0 }, 0.3);
            assert!((30.0..50.0).contains(&cost.fixed_rows()), "{guess}, {small}: {}", cost.fixed_rows());
            let expected = PRICE * 680.0;
            assert!((cost.seconds(640.0) / expected - 1.0).abs() < 0.1, "{}", cost.seconds(640.0));
            assert!((cost.rows(expected) / 640.0 - 1.0).abs() < 0.1, "{}", cost.rows(expected));
        }
    }

    #[test]
    fn flushes_that_are_all_alike_do_not_let_the_fixed_part_wander() {
        let mut cost = Cost::guess(40.0, PRICE);
        learn(&mut cost, 20_000, |_| 640.0, 0.3);
        assert!((30.0..54.0).contains(&cost.fixed_rows()), "{}", cost.fixed_rows());
    }

    #[test]
    fn a_stall_changes_little_and_a_slower_server_is_noticed() {
        let mut cost = Cost::guess(40.0, PRICE);
        learn(&mut cost, 200, |flush| f64::from(flush % 100), 0.1);
        let before = cost.seconds(100.0);
        for _ in 0..4 {
            assert!(cost.observe(100.0, 0.5) > 50.0);
        }
        assert!(cost.seconds(100.0) < 1.4 * before, "{before} to {}", cost.seconds(100.0));
        for _ in 0..16 {
            cost.observe(100.0, 50.0 * before);
        }
        assert!(cost.seconds(100.0) > 5.0 * before, "{before} to {}", cost.seconds(100.0));
    }

    #[test]
    fn a_few_stalls_are_not_taken_for_the_spread() {
        let mut spread = Spread::default();
        assert!(spread.high() > 1.0);
        for flush in 0..1_000 {
            spread.observe(if flush % 50 == 0 { 40.0 } else { 0.9 + f64::from(flush % 10) * 0.03 });
        }
        assert!((1.1..1.2).contains(&spread.high()), "{}", spread.high());
    }
}
