//! What was measured on a user's server: every run, so that what is made of them can be made again from a saved report.

mod batches;
mod client;
mod connections;
mod growth;
mod log;

use serde::{Deserialize, Serialize};

use crate::attachment::{Attachment, Variant};
use crate::measured::Measured;
use crate::statistics::{Interval, Spread};

pub(crate) use batches::Line;
pub use batches::{BatchPath, BatchRun, BatchTrial};
pub use client::ClientTrial;
pub use connections::{ConnectionsRun, ConnectionsTrial};
pub use growth::{GrowthTrial, Piece};
pub use log::{LogFile, LogTrial};

/// Everything that was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trials {
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The way to the server.
    pub network: Option<NetworkTrial>,
    /// What a commit waits for.
    pub commit: Option<CommitTrial>,
    /// How long whoever writes waits for new files of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogTrial>,
    /// What each part of the table costs.
    pub table: Option<TableTrial>,
    /// How fast rows are read and encoded here.
    pub client: Option<ClientTrial>,
    /// What more connections than one are worth.
    pub connections: Option<ConnectionsTrial>,
    /// How long statements of several sizes take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batches: Option<BatchTrial>,
    /// What could not be measured.
    pub not_measured: Vec<NotMeasured>,
}

impl Trials {
    /// Says that something could not be measured.
    pub(crate) fn leave_out(&mut self, what: &str, why: String) {
        self.not_measured.push(NotMeasured { what: what.to_owned(), why });
    }
}

/// Something that could not be measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NotMeasured {
    /// What it is.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// The way to the server and back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkTrial {
    /// Seconds of statements that do nothing, one after the other.
    pub round_trips: Vec<f64>,
    /// Bytes a second that went to the server, the best of a few times; `None`: not measured.
    pub upload: Option<f64>,
}

impl NetworkTrial {
    /// Seconds of a round trip.
    pub fn round_trip(&self) -> Option<f64> {
        Spread::of(self.round_trips.iter().copied()).map(|spread| spread.median)
    }
}

/// Commits of a small message to the log, under each of the settings in turns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommitTrial {
    /// Seconds of a commit that waits for nothing.
    pub off: Vec<f64>,
    /// Seconds of a commit that waits for this server's disk.
    pub local: Vec<f64>,
    /// Seconds of a commit that waits for standbys too; none where no standby is to be waited for.
    pub standby: Vec<f64>,
}

impl CommitTrial {
    /// Seconds that a commit waits for the disk: never less than nothing.
    pub fn flush(&self) -> Option<f64> {
        Some((median(&self.local)? - median(&self.off)?).max(0.0))
    }

    /// Seconds of a commit that waits for all that is to be waited for.
    pub(crate) fn commit(&self) -> Option<f64> {
        median(&self.standby).or(median(&self.local))
    }

    /// Seconds that a commit waits for standbys, after the disk.
    pub fn standby_wait(&self) -> Option<f64> {
        Some((median(&self.standby)? - median(&self.local)?).max(0.0))
    }
}

fn median(seconds: &[f64]) -> Option<f64> {
    Spread::of(seconds.iter().copied()).map(|spread| spread.median)
}

/// One run: rows went into a fresh copy by COPY, and were rolled back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The round; round 0 warms up and counts for nothing.
    pub round: u32,
    /// The copy.
    pub variant: Variant,
    /// Seconds of the COPY.
    pub seconds: f64,
    /// Bytes that were written to the log meanwhile, by whomever.
    pub log: f64,
}

/// Rows of the table, led into copies of it that begin empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableTrial {
    /// Rows of a run.
    pub rows: u64,
    /// Bytes of a run as they are sent.
    pub bytes: u64,
    /// What was left out together.
    pub prescribed: Vec<Attachment>,
    /// The findings whose remedies somebody wanted tried by that; none: it was left out since it costs time for sure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<String>,
    /// Every run.
    pub runs: Vec<Run>,
    /// How the time of a row grows with the rows that are there; none: the table has no index, or few rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<GrowthTrial>,
}

impl TableTrial {
    /// Seconds of `variant` in each round that has the whole table twice, with the mean of these two.
    fn paired(&self, variant: &Variant) -> Vec<(f64, f64)> {
        self.paired_before(u32::MAX, variant)
    }

    /// The same, of rounds before `end`.
    fn paired_before(&self, end: u32, variant: &Variant) -> Vec<(f64, f64)> {
        let of = |round: u32, variant: &Variant| {
            let run = self.runs.iter().find(|run| run.round == round && run.variant == *variant);
            run.map(|run| run.seconds).filter(|seconds| *seconds > 0.0)
        };
        let mut rounds: Vec<u32> =
            self.runs.iter().map(|run| run.round).filter(|round| (1..end).contains(round)).collect();
        rounds.dedup();
        let pair = |round: u32| {
            let whole = f64::midpoint(of(round, &Variant::Whole)?, of(round, &Variant::WholeAgain)?);
            Some((of(round, variant)?, whole))
        };
        rounds.into_iter().filter_map(pair).collect()
    }

    /// The share of the time that goes when `variant` stands for the whole table; `None`: there are too few rounds.
    fn saved(&self, variant: &Variant) -> Option<Measured> {
        Measured::of(self.paired(variant).into_iter().map(|(without, whole)| 1.0 - without / whole))
    }

    /// The share of the time that goes without `attachment` alone. Such shares overlap: they must not be added.
    pub fn cost(&self, attachment: &Attachment) -> Option<Measured> {
        self.saved(&match attachment {
            Attachment::Log => Variant::Unlogged,
            other => Variant::Without(other.clone()),
        })
    }

    /// Everything whose cost was measured.
    pub(crate) fn attachments(&self) -> Vec<Attachment> {
        let mut attachments: Vec<Attachment> = Vec::new();
        for run in &self.runs {
            if let Variant::Without(attachment) = &run.variant
                && !attachments.contains(attachment)
            {
                attachments.push(attachment.clone());
            }
        }
        attachments
    }

    /// The share of the time that goes without the log.
    pub fn log_cost(&self) -> Option<Measured> {
        self.cost(&Attachment::Log)
    }

    /// The copy that lacks what is left out together: the bare one, where that is all there is.
    fn prescription(&self) -> Option<Variant> {
        let variant = match is_all(&self.attachments(), &self.prescribed) {
            true => Variant::Bare,
            false => Variant::Prescribed,
        };
        (!self.prescribed.is_empty()).then_some(variant)
    }

    /// The share of the time that goes without all that is left out together.
    pub fn prescription_saved(&self) -> Option<Measured> {
        self.saved(&self.prescription()?)
    }

    /// The share of the time that goes when rows come in `form` instead of in binary.
    pub fn saved_by_form(&self, form: &Variant) -> Option<Measured> {
        self.saved(form)
    }

    /// The share of the time that goes when rows come in binary instead of in `form`.
    pub fn saved_by_binary(&self, form: &Variant) -> Option<Measured> {
        Measured::of(self.paired(form).into_iter().map(|(seconds, whole)| 1.0 - whole / seconds))
    }

    /// How far apart two runs of the same table are, as a share: in the rounds of single things, after which it was decided what is
    /// left out together, and stays so.
    pub fn noise(&self) -> Option<f64> {
        let together = self.runs.iter().find(|run| run.variant == Variant::Prescribed).map(|run| run.round);
        let runs = self.paired_before(together.unwrap_or(u32::MAX), &Variant::WholeAgain);
        let apart = runs.into_iter().map(|(again, whole)| ((again - whole) / whole).abs() * 2.0);
        Spread::of(apart).map(|spread| spread.median)
    }

    /// Whether a share is more than nothing, and more than this machine's noise.
    pub fn is_clear(&self, share: Measured) -> bool {
        share.is_clear(self.noise())
    }

    /// Rows a second that the whole table takes over one connection.
    pub fn rate(&self) -> Option<Measured> {
        self.rate_of(&Variant::Whole)
    }

    fn has_columns_only(&self) -> bool {
        self.attachments().iter().all(Attachment::is_storage)
    }

    /// The copy that has columns and nothing else: the whole one, where a table has no more.
    fn columns(&self) -> Variant {
        if self.has_columns_only() { Variant::Whole } else { Variant::Bare }
    }

    /// Rows a second that the columns alone take.
    pub(crate) fn columns_rate(&self) -> Option<Measured> {
        self.rate_of(&self.columns())
    }

    /// The share of the time that goes with all that the table has beside columns: none, where it has nothing.
    pub(crate) fn attachments_cost(&self) -> Option<Measured> {
        match self.has_columns_only() {
            true => Some(Measured { median: 0.0, low: 0.0, high: 0.0, rounds: self.rounds() }),
            false => self.saved(&Variant::Bare),
        }
    }

    fn rate_of(&self, variant: &Variant) -> Option<Measured> {
        let runs = self.runs.iter().filter(|run| run.round > 0 && run.variant == *variant);
        let rate = Measured::of(runs.map(|run| self.rows as f64 / run.seconds))?;
        // A report that somebody wrote by hand may hold anything.
        (rate.low * LONGEST_ROW_S > 1.0 && rate.high.is_finite()).then_some(rate)
    }

    /// Whether nobody knows how its indexes slow rows down where so many are `there`.
    pub(crate) fn lacks_growth(&self, there: f64) -> bool {
        let row_s = |growth: &GrowthTrial| growth.row_s(there, 0.0);
        let has_index = self.attachments().iter().any(|it| matches!(it, Attachment::Index(_)));
        has_index && there > self.rows as f64 && self.growth.as_ref().and_then(row_s).is_none()
    }

    /// Bytes of the log that a row of the whole table brings, its indexes' entries with it.
    pub fn log_per_row(&self) -> Option<f64> {
        let runs = self.runs.iter().filter(|run| run.round > 0 && run.variant == Variant::Whole);
        let log = Spread::of(runs.map(|run| run.log))?;
        (self.rows > 0).then(|| log.median / self.rows as f64)
    }

    /// Whole rounds, without the one that warms up.
    pub fn rounds(&self) -> usize {
        self.paired(&Variant::Whole).len()
    }
}

/// Whether a copy without `left_out` is a bare one, which is logged and stores values as the table does.
pub(crate) fn is_all(attachments: &[Attachment], left_out: &[Attachment]) -> bool {
    let is_bare = !left_out.iter().any(|it| it.is_storage() || *it == Attachment::Log);
    is_bare && attachments.iter().all(|it| it.is_storage() || left_out.contains(it))
}

/// Seconds: no row takes longer.
const LONGEST_ROW_S: f64 = 86_400.0;

/// The interval around a median needs more than a few runs.
pub(crate) const FEWEST_ROUNDS: usize = 3;

impl Measured {
    /// The median of paired runs, with its interval.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Measured> {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        if values.len() < FEWEST_ROUNDS {
            return None;
        }
        let interval = Interval::of_median(values.iter().copied())?;
        let median = Spread::of(values.iter().copied())?.median;
        Some(Measured { median, low: interval.low, high: interval.high, rounds: values.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds in which `variant` takes `without` seconds and the whole table `first` and `last`.
    fn trial(variant: &Variant, rounds: &[(f64, f64, f64)]) -> TableTrial {
        let run = |round: usize, variant: &Variant, seconds: f64| Run {
            round: u32::try_from(round).unwrap(),
            variant: variant.clone(),
            seconds,
            log: 2000.0,
        };
        let mut runs = Vec::new();
        for (round, (first, without, last)) in rounds.iter().enumerate() {
            runs.push(run(round, &Variant::Whole, *first));
            runs.push(run(round, variant, *without));
            runs.push(run(round, &Variant::WholeAgain, *last));
        }
        TableTrial { rows: 1000, bytes: 8000, runs, ..TableTrial::default() }
    }

    #[test]
    fn a_cost_is_what_goes_without_the_thing_and_the_first_round_counts_for_nothing() {
        let attachment = Attachment::Index("i".into());
        let variant = Variant::Without(attachment.clone());
        let measured = trial(&variant, &[(9.0, 9.0, 9.0), (1.0, 0.5, 1.0), (1.1, 0.5, 0.9), (1.0, 0.6, 1.0)]);
        let share = measured.cost(&attachment).unwrap();
        assert_eq!((share.median, share.rounds), (0.5, 3));
        assert!((share.low - 0.4).abs() < 1e-9 && share.high == 0.5, "{share:?}");
        assert!(measured.is_clear(share));
        assert_eq!(measured.log_per_row(), Some(2.0));
        assert_eq!(measured.cost(&Attachment::Checks), None);
        assert_eq!(measured.rounds(), 3);
    }

    #[test]
    fn rounds_of_several_things_together_change_nothing_of_what_was_clear() {
        let attachment = Attachment::Index("i".into());
        let mut measured = trial(&Variant::Without(attachment.clone()), &[(1.0, 0.7, 1.0); 5]);
        let loud = trial(&Variant::Prescribed, &[(1.0, 0.7, 3.0); 9]);
        measured.runs.extend(loud.runs.into_iter().map(|run| Run { round: run.round + 5, ..run }));
        assert_eq!(measured.noise(), Some(0.0));
        assert!(measured.is_clear(measured.cost(&attachment).unwrap()));
    }

    #[test]
    fn what_is_within_the_noise_or_maybe_nothing_is_not_measured() {
        let attachment = Attachment::Checks;
        let variant = Variant::Without(attachment.clone());
        // Ten per cent each time, on a machine that wavers by thirty.
        let noisy =
            trial(&variant, &[(1.0, 1.0, 1.0), (0.85, 0.9, 1.15), (1.15, 0.9, 0.85), (0.85, 0.9, 1.15)]);
        assert!(!noisy.is_clear(noisy.cost(&attachment).unwrap()));
        // Once it was slower without.
        let doubtful = trial(&variant, &[(1.0, 1.0, 1.0), (1.0, 0.8, 1.0), (1.0, 1.1, 1.0), (1.0, 0.8, 1.0)]);
        assert!(!doubtful.is_clear(doubtful.cost(&attachment).unwrap()));
        // Four per cent, surely: not worth a remedy.
        let small = trial(&variant, &[(1.0, 1.0, 1.0), (1.0, 0.96, 1.0), (1.0, 0.96, 1.0), (1.0, 0.96, 1.0)]);
        assert!(!small.is_clear(small.cost(&attachment).unwrap()));
        let few = trial(&variant, &[(1.0, 1.0, 1.0), (1.0, 0.5, 1.0), (1.0, 0.5, 1.0)]);
        assert_eq!(few.cost(&attachment), None);
    }

    #[test]
    fn a_commit_waits_for_the_disk_beyond_the_way_there() {
        let commit =
            CommitTrial { off: vec![1.0, 2.0, 3.0], local: vec![5.0, 4.0, 6.0], standby: Vec::new() };
        assert_eq!((commit.flush(), commit.standby_wait()), (Some(3.0), None));
        assert_eq!(CommitTrial { off: vec![2.0], local: vec![1.0], standby: vec![4.0] }.flush(), Some(0.0));
    }
}
