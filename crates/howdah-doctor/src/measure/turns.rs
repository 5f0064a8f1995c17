//! In which order variants take turns, and when it is enough.

use std::time::Instant;

use crate::attachment::{Attachment, Variant};

/// The rounds that count for something, and the one that warms up.
pub(super) const FEWEST_IN_ALL: u32 = 4;
/// Rounds that are to fit.
pub(super) const ROUNDS: f64 = 8.0;
/// How many times as long it may take where the fewest rounds take that.
const PATIENCE: f64 = 3.0;
/// After so many rounds an interval is as narrow as it needs to be.
const MOST_ROUNDS: u32 = 15;

/// All variants of a table with these attachments, and with rows in these `forms`. What is not logged cannot be compared where
/// nothing is logged.
pub(super) fn variants(attachments: &[Attachment], is_logged: bool, forms: Vec<Variant>) -> Vec<Variant> {
    let mut variants: Vec<Variant> = attachments.iter().cloned().map(Variant::Without).collect();
    if !attachments.iter().all(Attachment::is_storage) {
        variants.push(Variant::Bare);
    }
    if is_logged {
        variants.push(Variant::Unlogged);
    }
    variants.extend(forms);
    variants
}

/// A round: the whole table first and last, the others between them in an order of the round's own.
pub(super) fn round(variants: &[Variant]) -> Vec<Variant> {
    let mut between = variants.to_vec();
    fastrand::shuffle(&mut between);
    let mut turns = vec![Variant::Whole];
    turns.append(&mut between);
    turns.push(Variant::WholeAgain);
    turns
}

/// What is left of time and of room in the log.
pub(super) struct Budget {
    began: Instant,
    seconds: f64,
    bytes: f64,
    spent: f64,
}

impl Budget {
    pub(super) fn new(seconds: f64, bytes: f64) -> Budget {
        Budget { began: Instant::now(), seconds, bytes, spent: 0.0 }
    }

    /// Bytes went to the log.
    pub(super) fn spend(&mut self, bytes: f64) {
        self.spent += bytes.max(0.0);
    }

    /// No round is to be begun after `rounds` of them: one more takes as much as these did on average. Fewer than `fewest`
    /// would be for nothing, so that they may take longer.
    pub(super) fn is_over(&self, rounds: u32, fewest: u32) -> bool {
        let next = 1.0 + 1.0 / f64::from(rounds.max(1));
        let is_late = rounds >= fewest && self.elapsed() * next > self.seconds;
        rounds >= MOST_ROUNDS || is_late || self.is_exceeded() || self.spent * next > self.bytes
    }

    /// Too much time went by, or the room is used up: what is under way ends.
    pub(super) fn is_exceeded(&self) -> bool {
        self.elapsed() > self.seconds * PATIENCE || self.spent > self.bytes
    }

    /// Seconds that there are.
    pub(super) fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Seconds since the beginning.
    pub(super) fn elapsed(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_round_has_each_variant_once_and_the_whole_table_at_both_ends() {
        let variants =
            variants(&[Attachment::Checks, Attachment::Index("i".into())], true, vec![Variant::Csv]);
        assert_eq!(variants.len(), 5);
        let mut orders = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let round = round(&variants);
            assert_eq!((round.first(), round.last()), (Some(&Variant::Whole), Some(&Variant::WholeAgain)));
            assert!(variants.iter().all(|variant| round.contains(variant)));
            assert_eq!(round.len(), 7);
            orders.insert(format!("{round:?}"));
        }
        assert!(orders.len() > 12, "{}", orders.len());
        assert_eq!(super::variants(&[], true, Vec::new()), [Variant::Unlogged]);
        assert_eq!(super::variants(&[], false, Vec::new()), []);
    }

    #[test]
    fn a_round_is_begun_only_where_it_fits() {
        let mut budget = Budget::new(3600.0, 100.0);
        assert!(!budget.is_over(0, 4));
        budget.spend(30.0);
        assert!(!budget.is_over(1, 4) && !budget.is_exceeded());
        // Two took 80, so a third would need 40.
        budget.spend(50.0);
        assert!(budget.is_over(2, 4) && !budget.is_exceeded());
        budget.spend(21.0);
        assert!(budget.is_exceeded());
        assert!(Budget::new(3600.0, 1e9).is_over(MOST_ROUNDS, 4));
        // Of a minute 50 seconds are over: where four rounds are made, a fifth would not fit.
        let now = Instant::now();
        let late =
            Budget { began: now.checked_sub(Duration::from_secs(50)).unwrap(), ..Budget::new(60.0, 1e9) };
        assert!(late.is_over(4, 4) && !late.is_over(3, 4) && !late.is_exceeded());
        let later =
            Budget { began: now.checked_sub(Duration::from_secs(181)).unwrap(), ..Budget::new(60.0, 1e9) };
        assert!(later.is_over(3, 4) && later.is_exceeded());
    }
}
