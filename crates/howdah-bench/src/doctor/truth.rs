//! What the runs come to: of each state what the doctor said and what is true, of a healthy server what it found, of the grid what
//! it prescribed.

use howdah_doctor::statistics::Spread;
use serde::Serialize;
use serde_json::Value;

use super::course::DOCTOR;
use super::grid::Configuration;
use super::judge::{self, Share, Standing};
use super::parts::{GRID, HEALTHY};
use super::slowdown::{Claim, Slowdown};
use super::states;
use crate::record::Record;

/// The names of the series of loads.
pub(super) const AS_IT_IS: &str = "as it is";
pub(super) const REMEDIED: &str = "remedied";

/// Everything that was measured so far.
#[derive(Debug, Clone, Default)]
pub struct Truths {
    pub(super) states: Vec<StateTruth>,
    pub(super) healthy: Vec<HealthyLook>,
    pub(super) grid: Option<GridTruth>,
}

/// A state: what was said, and what is so.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct StateTruth {
    pub(super) state: &'static str,
    pub(super) says: &'static str,
    /// The finding that has to come first.
    pub(super) finding: &'static str,
    /// Its place; None: it is not there.
    pub(super) rank: Option<usize>,
    pub(super) is_first: bool,
    /// The finding that does come first.
    pub(super) first: Option<String>,
    /// The share of a load's time of which the doctor says that it goes with the remedy.
    pub(super) claimed: Option<Share>,
    /// Whether it is to say one.
    pub(super) has_claim: bool,
    /// What does go, by loads in turns.
    pub(super) gained: Option<Share>,
    pub(super) rounds: usize,
    pub(super) standing: Option<Standing>,
    /// Seconds that it says a load takes, and the median of what it takes.
    pub(super) predicted_s: Option<f64>,
    pub(super) real_s: Option<f64>,
    /// Seconds that it took.
    pub(super) doctor_s: f64,
    /// Runs that came to nothing.
    pub(super) failed: usize,
}

impl StateTruth {
    /// The predicted time over the real one.
    pub(super) fn ratio(&self) -> Option<f64> {
        Some(self.predicted_s? / self.real_s.filter(|real| *real > 0.0)?)
    }

    fn of(state: &'static Slowdown, records: &[Record]) -> Option<StateTruth> {
        let part = || records.iter().filter(|record| record.section == state.name);
        let doctor = part().find(|record| record.series == DOCTOR)?;
        let nothing = Value::Null;
        let report = doctor.evidence.report.as_ref().unwrap_or(&nothing);
        let seconds = |series: &'static str, round: u32| {
            let mut runs = part().filter(|record| record.series == series && record.repetition == round);
            runs.find(|record| record.outcome.counts()).map(|record| record.seconds)
        };
        let last = part().map(|record| record.repetition).max().unwrap_or_default();
        let rounds = || 1..=last;
        let pairs: Vec<(f64, f64)> = rounds()
            .filter_map(|round| Some((seconds(AS_IT_IS, round)?, seconds(REMEDIED, round)?)))
            .collect();
        let rank = judge::rank(report, state.finding, state.about);
        let claimed = judge::claimed(report, state.claim, rank);
        let gained = Share::gained(&pairs);
        let real = Spread::of(rounds().filter_map(|round| seconds(AS_IT_IS, round)));
        Some(StateTruth {
            state: state.name,
            says: state.says,
            finding: state.finding,
            rank,
            is_first: rank.is_some_and(|rank| judge::is_first(report, rank)),
            first: judge::first(report).map(ToOwned::to_owned),
            claimed,
            has_claim: state.claim != Claim::Nothing,
            gained,
            rounds: pairs.len(),
            standing: gained.zip(claimed).map(|(gained, claimed)| Standing::of(gained, claimed)),
            predicted_s: judge::predicted(report),
            real_s: real.map(|real| real.median),
            doctor_s: doctor.seconds,
            failed: part().filter(|record| !record.outcome.counts()).count(),
        })
    }
}

/// One look at a server that is well.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct HealthyLook {
    pub(super) round: u32,
    pub(super) false_alarms: Vec<String>,
    pub(super) doctor_s: f64,
}

/// Configurations, and the one that was prescribed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct GridTruth {
    /// Names and median seconds, the fastest first.
    pub(super) all: Vec<(String, f64)>,
    pub(super) rounds: usize,
    pub(super) prescribed: String,
    /// How much longer it takes than the fastest, as a share.
    pub(super) regret: Option<f64>,
}

impl GridTruth {
    fn of(records: &[Record], by_itself: usize) -> Option<GridTruth> {
        let part = || records.iter().filter(|record| record.section == GRID);
        let report = part().find(|record| record.series == DOCTOR)?.evidence.report.as_ref()?;
        let prescribed = Configuration::prescribed(report, by_itself).in_words();
        let mut all: Vec<(String, f64)> = Vec::new();
        let loads = || part().filter(|record| record.series != DOCTOR && record.outcome.counts());
        for load in loads() {
            if all.iter().any(|(name, _)| *name == load.series) {
                continue;
            }
            let seconds = loads().filter(|other| other.series == load.series).map(|other| other.seconds);
            all.extend(Spread::of(seconds).map(|spread| (load.series.clone(), spread.median)));
        }
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        let times: Vec<f64> = all.iter().map(|(_, seconds)| *seconds).collect();
        let of_prescribed = all.iter().find(|(name, _)| *name == prescribed).map(|(_, seconds)| *seconds);
        let regret = of_prescribed.and_then(|seconds| judge::regret(seconds, &times));
        let rounds = loads().map(|load| load.repetition).max().unwrap_or_default() as usize;
        Some(GridTruth { all, rounds, prescribed, regret })
    }
}

impl Truths {
    /// What `records` come to.
    pub(super) fn of(records: &[Record]) -> Truths {
        let healthy = records.iter().filter(|record| record.section == HEALTHY && record.outcome.counts());
        let look = |record: &Record| {
            let false_alarms = judge::false_alarms(record.evidence.report.as_ref()?);
            Some(HealthyLook { round: record.repetition, false_alarms, doctor_s: record.seconds })
        };
        Truths {
            states: states::all().filter_map(|state| StateTruth::of(state, records)).collect(),
            healthy: healthy.filter_map(look).collect(),
            grid: GridTruth::of(records, Configuration::by_itself()),
        }
    }
}
