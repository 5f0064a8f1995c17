//! From copies of the table to the load that is to come: it begins, its rows come to those that are there, and indexes grow.

use howdah::facts::{FRESH_BYTE_S, Facts, IndexFacts, IndexMemory, TableFacts, load_start_s};

use crate::attachment::Attachment;
use crate::case::Ask;
use crate::measured::Measured;
use crate::rules::{comes_in_random_order, sorted_by};
use crate::trials::{NetworkTrial, TableTrial, Trials};

/// What copies that begin empty leave out of a load. Seconds are those of a row, over one connection.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scale {
    /// A row of a copy.
    copied: Measured,
    /// What is added since there are more rows.
    added: Measured,
    /// What is added since nothing that the load fills was filled before.
    fresh: f64,
    /// Rows that come: none, where nobody said how many.
    brought: f64,
    /// Seconds of the load beside its rows.
    pub(crate) start_s: f64,
    /// The indexes, and the part of what is added that each of them has.
    parts: Vec<(Attachment, f64)>,
}

const NOTHING: Measured = Measured { median: 0.0, low: 0.0, high: 0.0, rounds: 0 };

impl Scale {
    /// For a load that is to come, or for one row more where nobody said how large it is.
    pub(crate) fn of(facts: &Facts, ask: &Ask, trials: &Trials) -> Option<Scale> {
        let trial = trials.table.as_ref()?;
        let table = facts.table.as_ref()?;
        let rate = trial.rate()?;
        let copied =
            Measured { median: 1.0 / rate.median, low: 1.0 / rate.high, high: 1.0 / rate.low, ..rate };
        let (held, brought) = (table.rows.unwrap_or(0.0).max(0.0), ask.rows_to_come().unwrap_or(0) as f64);
        let fresh = FRESH_BYTE_S * trial.bytes as f64 / trial.rows.max(1) as f64;
        let parts = parts(trial);
        let grown = match parts.is_empty() {
            true => NOTHING,
            false => grown(trial, copied.median, fresh, held, brought),
        };
        let missing = memory(facts, table).map_or(0.0, |memory| memory.missing_s(held, brought));
        let added = Measured {
            median: grown.median + missing,
            low: grown.low,
            // How long a page takes that is not there was measured elsewhere.
            high: grown.high + 2.0 * missing,
            rounds: grown.rounds,
        };
        let round_trip = trials.network.as_ref().and_then(NetworkTrial::round_trip).unwrap_or(0.0);
        Some(Scale { copied, added, fresh, brought, start_s: load_start_s(round_trip), parts })
    }

    /// Rows a second without the beginning, of a table that has all.
    pub(crate) fn rate(&self) -> Measured {
        self.rate_without(&[], NOTHING)
    }

    /// The same of one that lacks `attachments`, with which a `share` of the time goes in copies.
    pub(crate) fn rate_without(&self, attachments: &[Attachment], share: Measured) -> Measured {
        let left = 1.0 - self.part(attachments);
        let at = |copied: f64, share: f64, added: f64| {
            1.0 / (copied * (1.0 - share) + added * left + self.fresh).max(f64::MIN_POSITIVE)
        };
        Measured {
            median: at(self.copied.median, share.median, self.added.median),
            low: at(self.copied.high, share.low, self.added.high),
            high: at(self.copied.low, share.high, self.added.low),
            rounds: self.copied.rounds,
        }
    }

    /// The share of the load's time that goes without `attachments`, with which a `share` goes in copies. The interval holds both:
    /// what was measured, and what follows from it for more rows.
    pub(crate) fn share(&self, attachments: &[Attachment], share: Measured) -> Measured {
        let part = self.part(attachments);
        let copied = self.copied.median;
        let start = if self.brought > 0.0 { self.start_s / self.brought } else { 0.0 };
        let at = |share: f64, added: f64, fresh: f64| {
            (share * copied + part * added) / (copied + added + fresh + start)
        };
        let mut ends = vec![share.low, share.high];
        for added in [self.added.low, self.added.median, self.added.high] {
            for fresh in [0.0, self.fresh] {
                ends.extend([at(share.low, added, fresh), at(share.high, added, fresh)]);
            }
        }
        Measured {
            median: at(share.median, self.added.median, self.fresh),
            low: ends.iter().copied().fold(f64::INFINITY, f64::min),
            high: ends.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            rounds: share.rounds,
        }
    }

    /// Seconds that a row takes, and that it takes in a copy, if that is much less.
    pub(crate) fn slower(&self) -> Option<(f64, f64)> {
        let grown = self.copied.median + self.added.median;
        (self.added.median > self.copied.median * 0.1).then_some((grown, self.copied.median))
    }

    fn part(&self, attachments: &[Attachment]) -> f64 {
        let parts = self.parts.iter().filter(|(attachment, _)| attachments.contains(attachment));
        parts.map(|(_, part)| part).sum()
    }
}

/// Seconds that a row takes more among many rows. What the copy that grew fills is `fresh` too; it has neither foreign keys nor
/// triggers, which take as long as they took in other copies.
fn grown(trial: &TableTrial, copied: f64, fresh: f64, held: f64, brought: f64) -> Measured {
    let growth = trial.growth.as_ref().filter(|_| held + brought > trial.rows as f64);
    let Some(row) = growth.and_then(|growth| growth.row_s(held, brought)) else { return NOTHING };
    let is_lacking = |it: &Attachment| matches!(it, Attachment::ForeignKey(_) | Attachment::Trigger(_));
    let lacking = trial.attachments().into_iter().filter(is_lacking);
    let costs = lacking.filter_map(|it| trial.cost(&it)).map(|cost| cost.median.max(0.0));
    let known = copied * (1.0 - costs.sum::<f64>().min(1.0)) + fresh;
    let added = |row: f64| (row - known).max(0.0);
    Measured { median: added(row.median), low: added(row.low), high: added(row.high), rounds: row.rounds }
}

/// What is added is the indexes' doing, each as far as it costs anything: nobody measured them one by one among many rows.
fn parts(trial: &TableTrial) -> Vec<(Attachment, f64)> {
    let indexes = trial.attachments().into_iter().filter(|it| matches!(it, Attachment::Index(_)));
    let costs: Vec<(Attachment, f64)> =
        indexes.filter_map(|index| trial.cost(&index).map(|cost| (index, cost.median.max(0.0)))).collect();
    let all: f64 = costs.iter().map(|(_, cost)| cost).sum();
    if all <= 0.0 { Vec::new() } else { costs.into_iter().map(|(index, cost)| (index, cost / all)).collect() }
}

/// How much larger an index gets that is filled in random order than one that was built from all rows.
const LOOSE: f64 = 1.3;

/// The indexes whose entries come in random order, which those of a GIN index always do. A load sorts by the largest of the others,
/// so that a row needs hardly a page of that one; pages of those that are smaller than others are needed more often, and stay.
fn memory(facts: &Facts, table: &TableFacts) -> Option<IndexMemory> {
    let rows = table.rows.filter(|rows| *rows > 0.0)?;
    let room = facts.setting("shared_buffers")?.bytes()?;
    let is_random = |index: &&IndexFacts| index.method == "gin" || comes_in_random_order(table, index);
    let random = || table.indexes.seen().into_iter().flatten().filter(is_random);
    let sorted_by = sorted_by(table).map(|index| &index.name);
    let others = || random().filter(|index| Some(&index.name) != sorted_by).map(|index| index.bytes);
    let largest = others().fold(0.0, f64::max);
    let bytes_per_row = random().map(|index| index.bytes).sum::<f64>() * LOOSE / rows;
    let pages_per_row = others().sum::<f64>() / largest;
    (largest > 0.0).then_some(IndexMemory { bytes_per_row, pages_per_row, room })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::InputEstimate;
    use crate::testing::{healthy, index, seen, set, table, trial};
    use crate::trials::{GrowthTrial, Piece};

    fn of(name: &str) -> Attachment {
        Attachment::Index(name.into())
    }

    /// Of a copy's row, which takes 100 µs, one index has a third of what indexes cost and the other two thirds; a row takes
    /// another 10 µs whenever rows double.
    fn measured() -> Trials {
        let mut copies = trial(&[(of("short"), 0.1), (of("long"), 0.2), (Attachment::Checks, 0.3)]);
        let piece = |at: u32| {
            let (first, last) = (f64::from(at) * 1e4, f64::from(at + 1) * 1e4);
            let log = |rows: f64| if rows > 0.0 { rows * rows.log2() } else { 0.0 };
            Piece { rows: 10_000, seconds: 1.0 + ((log(last) - log(first)) / 1e4 - 1e4_f64.log2()) * 0.1 }
        };
        copies.growth = Some(GrowthTrial { pieces: (0..50).map(piece).collect(), ..GrowthTrial::default() });
        Trials { table: Some(copies), ..Trials::default() }
    }

    fn scale(rows: Option<u64>, change: impl FnOnce(&mut Facts)) -> Scale {
        let mut facts = healthy();
        set(&mut facts, "shared_buffers", "1310720");
        change(&mut facts);
        Scale::of(&facts, &Ask { rows, ..Ask::default() }, &measured()).unwrap()
    }

    fn share(median: f64) -> Measured {
        Measured { median, low: median, high: median, rounds: 7 }
    }

    #[test]
    fn what_indexes_cost_more_of_among_more_rows_is_theirs_and_the_rest_of_the_time_is_longer() {
        // Ten million rows are there, which is ten doublings more than ten thousand, and 1.44 for those that came first.
        let scale = scale(None, |_| ());
        assert!((scale.added.median - 114e-6).abs() < 2e-6, "{scale:?}");
        let cost =
            |attachment: &Attachment, of: f64| scale.share(std::slice::from_ref(attachment), share(of));
        let (long, checks) = (cost(&of("long"), 0.2), cost(&Attachment::Checks, 0.3));
        assert_eq!(long.percent(), "45 % (20 to 45)");
        assert_eq!(checks.percent(), "14 % (14 to 30)");
        let both = scale.share(&[of("long"), of("short")], share(0.3));
        assert_eq!(both.percent(), "67 % (30 to 67)");
        assert_eq!(scale.rate().median.round(), 4671.0);
        assert_eq!(scale.rate_without(&[of("long"), of("short")], share(0.3)).median.round(), 14_286.0);
        let (row, copied) = scale.slower().unwrap();
        assert!(row > copied * 2.0);
    }

    #[test]
    fn a_load_of_few_rows_is_mostly_its_beginning() {
        let few = scale(Some(100), |_| ()).share(&[Attachment::Checks], share(0.3));
        let many = scale(Some(10_000_000), |_| ()).share(&[Attachment::Checks], share(0.3));
        assert!(few.median < many.median / 1.5, "{few:?} {many:?}");
    }

    #[test]
    fn indexes_in_random_order_that_do_not_fit_the_servers_memory_cost_more() {
        let random = |facts: &mut Facts, room: &str| {
            seen(&mut table(facts).columns)[0].correlation = Some(0.0);
            // A load sorts by one of the two.
            seen(&mut table(facts).indexes).push(index("long", "id"));
            set(facts, "shared_buffers", room);
        };
        let fits = scale(None, |facts| random(facts, "1310720"));
        let does_not = scale(None, |facts| random(facts, "1024"));
        assert_eq!(fits.added.median, scale(None, |_| ()).added.median);
        assert!(does_not.added.median > fits.added.median + 5e-6, "{does_not:?}");
    }

    #[test]
    fn nothing_is_added_where_nothing_was_measured_of_it_or_all_rows_were() {
        let facts = healthy();
        let mut trials = measured();
        let ask = Ask { input: Some(InputEstimate { rows: 5, is_counted: true }), ..Ask::default() };
        trials.table.as_mut().unwrap().growth = None;
        let scale = Scale::of(&facts, &ask, &trials).unwrap();
        assert_eq!((scale.added.median, scale.slower()), (0.0, None));
        let mut facts = healthy();
        table(&mut facts).rows = Some(100.0);
        assert_eq!(Scale::of(&facts, &ask, &measured()).unwrap().added.median, 0.0);
    }
}
