//! What a report of the doctor's says, and whether it is right: pure functions over reports and times.

use std::fmt::{Display, Formatter};

use howdah_doctor::statistics::{Interval, Spread};
use serde::Serialize;
use serde_json::Value;

use super::slowdown::Claim;

/// A share of a load's time, with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Share {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Share {
    /// That of the doctor's JSON.
    fn of(value: &Value) -> Option<Share> {
        let of = |name: &str| value[name].as_f64();
        Some(Share { median: of("median")?, low: of("low")?, high: of("high")? })
    }

    /// What goes of the time, by loads in turns: their seconds as it is, and with the remedy.
    pub(super) fn gained(pairs: &[(f64, f64)]) -> Option<Share> {
        let shares = || pairs.iter().map(|(as_it_is, remedied)| 1.0 - remedied / as_it_is);
        let Spread { median, min, max } = Spread::of(shares())?;
        let (low, high) = Interval::of_median(shares()).map_or((min, max), |it| (it.low, it.high));
        Some(Share { median, low, high })
    }
}

impl Display for Share {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let [median, low, high] = [self.median, self.low, self.high].map(whole);
        write!(f, "{median:.0} % ({low:.0} to {high:.0})")
    }
}

/// As whole per cent, in which shares are printed. There is no minus nothing.
fn whole(share: f64) -> f64 {
    (share * 100.0).round() + 0.0
}

/// Where a real gain lies beside an interval that was printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Standing {
    /// In it.
    In,
    /// Beside it, but the two intervals have a part in common.
    Near,
    /// Away from it.
    Out,
}

impl Standing {
    /// Where `real` lies beside `claimed`, both as they are printed.
    pub(super) fn of(real: Share, claimed: Share) -> Standing {
        let (low, high) = (whole(claimed.low), whole(claimed.high));
        if (low..=high).contains(&whole(real.median)) {
            Standing::In
        } else if whole(real.low) <= high && whole(real.high) >= low {
            Standing::Near
        } else {
            Standing::Out
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Standing::In => "in",
            Standing::Near => "near",
            Standing::Out => "**out**",
        }
    }
}

/// The findings of a report.
fn findings(report: &Value) -> &[Value] {
    report["findings"].as_array().map_or(&[], Vec::as_slice)
}

/// The place of a finding, counted from 1; `about` has to be in its title.
pub(super) fn rank(report: &Value, id: &str, about: &str) -> Option<usize> {
    let is_it = |finding: &Value| {
        finding["id"] == id && finding["title"].as_str().is_some_and(|title| title.contains(about))
    };
    findings(report).iter().position(is_it).map(|at| at + 1)
}

/// Whether the finding comes first; where several will fail a load, it is one of these.
pub(super) fn is_first(report: &Value, rank: usize) -> bool {
    rank == 1 || findings(report).get(rank - 1).is_some_and(|finding| finding["severity"] == "fails")
}

/// The name of the first finding.
pub(super) fn first(report: &Value) -> Option<&str> {
    findings(report).first()?["id"].as_str()
}

/// The share that the report says goes with the remedy.
pub(super) fn claimed(report: &Value, claim: Claim, rank: Option<usize>) -> Option<Share> {
    match claim {
        Claim::Nothing => None,
        Claim::Finding => Share::of(&findings(report).get(rank? - 1)?["cost"]),
        Claim::Together => Share::of(&report["prescription"]["saved"]),
    }
}

/// The seconds that the report says the load takes as things are: none, where it says that it takes longer since something could
/// not be measured.
pub(super) fn predicted(report: &Value) -> Option<f64> {
    let prediction = &report["prediction"];
    prediction["without"].is_null().then(|| prediction["now"]["median"].as_f64())?
}

/// A share of a load's time below which nothing is a finding.
const LEAST: f64 = 0.05;

/// What is true of every table whose rows are logged, so that it is no false alarm on a server that is well. Whether its share is
/// right is held against loads.
const TRUE_OF_ALL: &str = "wal.unlogged";

/// Findings of a report on a server that is well.
pub(super) fn false_alarms(report: &Value) -> Vec<String> {
    let is_alarm = |finding: &&Value| {
        let share = finding["cost"]["median"].as_f64();
        let costs = finding["severity"] == "costs" && share.is_none_or(|share| share > LEAST);
        (finding["severity"] == "fails" || costs) && finding["id"] != TRUE_OF_ALL
    };
    let alarms = findings(report).iter().filter(is_alarm);
    alarms.filter_map(|finding| finding["id"].as_str()).map(ToOwned::to_owned).collect()
}

/// How much longer than the best the prescribed takes, as a share of the best, by the medians of both.
pub(super) fn regret(prescribed: f64, all: &[f64]) -> Option<f64> {
    let best = all.iter().copied().min_by(f64::total_cmp).filter(|best| *best > 0.0)?;
    Some(prescribed / best - 1.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn share(median: f64, low: f64, high: f64) -> Share {
        Share { median, low, high }
    }

    #[test]
    fn a_finding_is_first_or_among_those_that_fail_a_load() {
        let finding = |id: &str, severity: &str| json!({"id": id, "severity": severity, "title": format!("it is {id}")});
        let report = json!({"findings": [finding("a", "fails"), finding("b", "fails"), finding("c", "costs"), finding("d", "notice")]});
        let place = |id| rank(&report, id, "").map(|rank| (rank, is_first(&report, rank)));
        assert_eq!(
            ["a", "b", "c", "d", "e"].map(place),
            [Some((1, true)), Some((2, true)), Some((3, false)), Some((4, false)), None]
        );
        assert_eq!(rank(&report, "a", "it is a"), Some(1));
        assert_eq!(rank(&report, "a", "it is b"), None);
        assert_eq!((first(&report), first(&json!({}))), (Some("a"), None));
        let notice = json!({"findings": [finding("d", "notice")]});
        assert!(is_first(&notice, 1));
    }

    #[test]
    fn what_is_claimed_is_the_finding_s_share_or_that_of_all_together() {
        let cost = json!({"median": 0.3, "low": 0.2, "high": 0.4, "rounds": 8});
        let report = json!({"findings": [{"id": "a"}, {"id": "b", "cost": cost}], "prescription": {"saved": {"median": 0.6, "low": 0.5, "high": 0.7}}});
        assert_eq!(claimed(&report, Claim::Finding, Some(2)), Some(share(0.3, 0.2, 0.4)));
        assert_eq!(claimed(&report, Claim::Finding, Some(1)), None);
        assert_eq!(claimed(&report, Claim::Finding, None), None);
        assert_eq!(claimed(&report, Claim::Together, None), Some(share(0.6, 0.5, 0.7)));
        assert_eq!(claimed(&report, Claim::Nothing, Some(2)), None);
    }

    #[test]
    fn a_gain_is_the_median_of_pairs_and_lies_in_what_was_printed_or_not() {
        let real = Share::gained(&[(10.0, 5.0), (20.0, 8.0), (10.0, 7.0)]).unwrap();
        assert_eq!((real.median, real.to_string().as_str()), (0.5, "50 % (30 to 60)"));
        assert_eq!(Share::gained(&[]), None);
        assert_eq!(Share::gained(&[(2.0, 1.0)]), Some(share(0.5, 0.5, 0.5)));
        for (low, high, standing) in [
            (0.4, 0.5, Standing::In),
            // It is printed as 50.
            (0.5049, 0.6, Standing::In),
            (0.2, 0.31, Standing::Near),
            (0.605, 0.7, Standing::Out),
            (0.604, 0.7, Standing::Near),
            (0.0, 0.2, Standing::Out),
        ] {
            assert_eq!(Standing::of(real, share(0.0, low, high)), standing, "{low} to {high}");
        }
    }

    #[test]
    fn what_costs_little_or_is_good_to_know_is_no_alarm() {
        let finding = |id: &str, severity: &str, share: f64| json!({"id": id, "severity": severity, "cost": {"median": share}});
        let report = json!({"findings": [
            {"id": "repl.slots", "severity": "fails"},
            finding("wal.unlogged", "costs", 0.2), finding("index.cost", "costs", 0.051), finding("column.generated", "costs", 0.05),
            finding("load.connections", "notice", 0.5), {"id": "commit.delay", "severity": "costs"},
        ]});
        assert_eq!(false_alarms(&report), ["repl.slots", "index.cost", "commit.delay"]);
        assert_eq!(false_alarms(&json!({"findings": []})), Vec::<String>::new());
    }

    #[test]
    fn regret_is_what_the_best_takes_less() {
        assert!((regret(11.0, &[12.0, 10.0, 11.0]).unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(regret(10.0, &[10.0]), Some(0.0));
        assert_eq!(regret(10.0, &[]), None);
    }
}
