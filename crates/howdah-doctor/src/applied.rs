//! What became of settings that were applied: runs under the old values and the new ones in turns, and whether the new ones stay.

use serde::Serialize;

use crate::change::{Change, Purpose};
use crate::figures::rate;
use crate::measured::Measured;
use crate::statistics::Spread;
use crate::trials::NotMeasured;

/// How the server was set when it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// As before.
    Before,
    /// As it is to be.
    After,
    /// As before, once more: that shows how much the machine wavers.
    BeforeAgain,
}

/// What one look at the server's speed came to, in seconds each; none: it was not measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Speed {
    /// An INSERT of a row into a temporary table.
    pub statement: Option<f64>,
    /// A commit that waits for the disk.
    pub commit: Option<f64>,
    /// Such a commit where several connections commit at once.
    pub commit_together: Option<f64>,
    /// COPY of the sample into a copy of the table.
    pub copy: Option<f64>,
}

/// One look, and when.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SpeedRun {
    /// The round; round 0 warms up and counts for nothing.
    pub round: u32,
    /// How the server was set.
    pub turn: Turn,
    /// What it came to.
    #[serde(flatten)]
    pub speed: Speed,
}

/// What is compared: its name, what of a look it is, and how much of it there is in that time.
type Kind = (&'static str, fn(&Speed) -> Option<f64>, f64);

/// Something that was measured under both settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpeedFigure {
    /// What it is: `commits`, `rows`, ….
    pub what: &'static str,
    /// So many a second before.
    pub before: Measured,
    /// So many a second after.
    pub after: Measured,
    /// The share of the time that went: below 0, it takes longer.
    pub saved: Measured,
    /// How far apart two looks at the same settings are, as a share.
    pub noise: f64,
    /// Whether the gain is more than nothing, more than 5 % and more than the noise.
    pub is_faster: bool,
    /// Whether the loss is.
    pub is_slower: bool,
}

/// Settings stay or go by intervals of 95 %, which need so many rounds.
const FEWEST: usize = 6;

impl SpeedFigure {
    /// `None`: it was not measured, or there are too few rounds.
    fn of(runs: &[SpeedRun], (what, seconds, amount): Kind) -> Option<SpeedFigure> {
        let of = |round: u32, turn: Turn| {
            let run = runs.iter().find(|run| run.round == round && run.turn == turn)?;
            seconds(&run.speed).filter(|seconds| *seconds > 0.0)
        };
        let rounds = 1..=runs.iter().map(|run| run.round).max()?;
        let whole: Vec<[f64; 3]> = rounds
            .filter_map(|round| {
                Some([of(round, Turn::Before)?, of(round, Turn::After)?, of(round, Turn::BeforeAgain)?])
            })
            .collect();
        if whole.len() < FEWEST {
            return None;
        }
        let measured = |value: fn(f64, f64) -> f64| {
            Measured::of(whole.iter().map(|[first, after, last]| value(f64::midpoint(*first, *last), *after)))
        };
        let saved = measured(|before, after| 1.0 - after / before)?;
        let lost = measured(|before, after| 1.0 - before / after)?;
        let apart = whole.iter().map(|[first, _, last]| (first - last).abs() / f64::midpoint(*first, *last));
        let noise = Spread::of(apart)?.median;
        let a_second = |value: fn(f64, f64) -> f64| {
            let each = whole.iter().map(|[first, after, last]| value(f64::midpoint(*first, *last), *after));
            Measured::of(each.map(|seconds| amount / seconds))
        };
        Some(SpeedFigure {
            what,
            before: a_second(|before, _| before)?,
            after: a_second(|_, after| after)?,
            saved,
            noise,
            is_faster: saved.is_clear(Some(noise)),
            is_slower: lost.is_clear(Some(noise)),
        })
    }

    /// In a line.
    pub fn said(&self) -> String {
        let span = |of: Measured| format!("{} ({} to {})", rate(of.median), rate(of.low), rate(of.high));
        let off = format!("{} of the time off", self.saved.percent());
        let became = match (self.is_faster, self.is_slower) {
            (true, _) => off,
            (_, true) => format!("{:.1} times as long", 1.0 - self.saved.median),
            _ => format!("{off}, no difference that could be told from none"),
        };
        format!("{} a second: {} → {}, {became}", self.what, span(self.before), span(self.after))
    }
}

/// A setting that was applied, and its values as SHOW has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AppliedSetting {
    /// Its name.
    pub name: String,
    /// Its value before.
    pub before: String,
    /// The value that was tried.
    pub after: String,
}

/// What became of the settings of one finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Applied {
    /// The finding.
    pub id: String,
    /// What the change is for.
    pub purpose: Purpose,
    /// The settings.
    pub settings: Vec<AppliedSetting>,
    /// Whether they stay. Else they are as they were.
    pub is_kept: bool,
    /// Why.
    pub why: String,
    /// What was measured.
    pub figures: Vec<SpeedFigure>,
    /// The statements that take it back.
    pub undo: Vec<String>,
    /// Whether they take effect when the server is started again.
    pub is_restart: bool,
    /// What could not be measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<NotMeasured>,
    /// Every look.
    pub runs: Vec<SpeedRun>,
}

impl Applied {
    /// Judges what was measured of `change`; `rows` went into each copy of the table.
    pub(crate) fn judged(
        change: &Change,
        settings: Vec<AppliedSetting>,
        undo: Vec<String>,
        rows: u64,
        runs: Vec<SpeedRun>,
    ) -> Applied {
        let kinds: [Kind; 4] = [
            ("statements", |speed| speed.statement, 1.0),
            ("commits", |speed| speed.commit, 1.0),
            ("commits of eight connections", |speed| speed.commit_together, 1.0),
            ("rows", |speed| speed.copy, rows as f64),
        ];
        let figures: Vec<SpeedFigure> =
            kinds.into_iter().filter_map(|kind| SpeedFigure::of(&runs, kind)).collect();
        let has_effect = settings.iter().any(|setting| setting.before != setting.after);
        let (is_kept, why) = match has_effect {
            true => verdict(change.purpose, &figures),
            false => (false, "it has no effect: something else than the server's files sets it".to_owned()),
        };
        let (id, purpose, is_restart) = (change.id.clone(), change.purpose, change.is_restart);
        let not_measured = Vec::new();
        Applied { id, purpose, settings, is_kept, why, figures, undo, is_restart, not_measured, runs }
    }

    /// In a line, without what was measured.
    pub fn said(&self) -> String {
        let settings: Vec<String> = self
            .settings
            .iter()
            .map(|setting| format!("{} {} → {}", setting.name, shown(&setting.before), shown(&setting.after)))
            .collect();
        let became = if self.is_kept { "kept" } else { "put back" };
        format!("{}: {}: {became}, since {}", self.id, settings.join(", "), self.why)
    }
}

/// A value in a sentence.
fn shown(value: &str) -> &str {
    if value.is_empty() { "''" } else { value }
}

/// Whether settings for such a purpose stay, and why.
fn verdict(purpose: Purpose, figures: &[SpeedFigure]) -> (bool, String) {
    let named = |is: fn(&SpeedFigure) -> bool| {
        let names: Vec<&str> = figures.iter().filter(|figure| is(figure)).map(|figure| figure.what).collect();
        (!names.is_empty()).then(|| names.join(" and "))
    };
    let (faster, slower) = (named(|figure| figure.is_faster), named(|figure| figure.is_slower));
    match (purpose, faster, slower) {
        (Purpose::Safety, _, Some(slower)) => {
            (true, format!("it is not about speed, though it costs some: {slower}"))
        }
        (Purpose::Safety, ..) => (true, "it is not about speed, and costs none that was measured".to_owned()),
        (_, Some(faster), None) => (true, format!("it is faster: {faster}")),
        (_, Some(faster), Some(slower)) => (false, format!("{faster} are faster, but {slower} are slower")),
        (_, None, Some(slower)) => (false, format!("it is slower: {slower}")),
        (Purpose::Estimate, None, None) => (
            true,
            "nothing that was measured is slower; what it is for takes longer than a measurement, and its gain is an estimate"
                .to_owned(),
        ),
        (Purpose::Time, None, None) if figures.is_empty() => {
            (false, "there was no room for as many rounds as are needed".to_owned())
        }
        (Purpose::Time, None, None) => (false, "nothing that was measured is faster".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seven rounds in which a commit takes `before` and `after` seconds, and a statement always one.
    fn runs(before: f64, after: f64) -> Vec<SpeedRun> {
        let run = |round, turn, commit| SpeedRun {
            round,
            turn,
            speed: Speed { statement: Some(1.0), commit: Some(commit), ..Speed::default() },
        };
        let round = |round| {
            [
                run(round, Turn::Before, before),
                run(round, Turn::After, if round == 0 { 99.0 } else { after }),
                run(round, Turn::BeforeAgain, before),
            ]
        };
        (0..8).flat_map(round).collect()
    }

    fn applied(purpose: Purpose, before: f64, after: f64) -> Applied {
        let change = Change {
            id: "commit.delay".into(),
            purpose,
            is_restart: false,
            settings: vec![("commit_delay".into(), "0".into())],
        };
        let setting =
            AppliedSetting { name: "commit_delay".into(), before: "20000".into(), after: "0".into() };
        Applied::judged(&change, vec![setting], Vec::new(), 10, runs(before, after))
    }

    #[test]
    fn what_is_for_time_stays_only_if_something_is_faster_and_nothing_slower() {
        let faster = applied(Purpose::Time, 0.02, 0.001);
        assert_eq!(faster.said(), "commit.delay: commit_delay 20000 → 0: kept, since it is faster: commits");
        assert_eq!(
            faster.figures[1].said(),
            "commits a second: 50 (50 to 50) → 1,000 (1,000 to 1,000), 95 % (95 to 95) of the time off"
        );
        assert_eq!(faster.figures[1].saved.rounds, 7);
        let same = applied(Purpose::Time, 0.02, 0.0195);
        assert_eq!((same.is_kept, same.why.as_str()), (false, "nothing that was measured is faster"));
        assert!(same.figures[0].said().ends_with(", no difference that could be told from none"));
        let slower = applied(Purpose::Time, 0.02, 0.03);
        assert_eq!((slower.is_kept, slower.why.as_str()), (false, "it is slower: commits"));
        assert!(slower.figures[1].said().ends_with(" → 33 (33 to 33), 1.5 times as long"));
        let mut mixed = runs(0.02, 0.001);
        mixed
            .iter_mut()
            .filter(|run| run.turn == Turn::After)
            .for_each(|run| run.speed.statement = Some(2.0));
        let figures: Vec<SpeedFigure> = [("statements", 0), ("commits", 1)]
            .into_iter()
            .filter_map(|(what, at)| {
                let seconds: fn(&Speed) -> Option<f64> =
                    if at == 0 { |speed| speed.statement } else { |speed| speed.commit };
                SpeedFigure::of(&mixed, (what, seconds, 1.0))
            })
            .collect();
        let (kept, why) = verdict(Purpose::Time, &figures);
        assert_eq!((kept, why.as_str()), (false, "commits are faster, but statements are slower"));
    }

    #[test]
    fn an_estimate_stays_unless_something_is_slower_and_safety_whatever_it_costs() {
        assert!(applied(Purpose::Estimate, 0.02, 0.02).is_kept);
        assert!(applied(Purpose::Estimate, 0.02, 0.01).is_kept);
        assert!(!applied(Purpose::Estimate, 0.02, 0.03).is_kept);
        let safe = applied(Purpose::Safety, 0.001, 0.03);
        assert_eq!(safe.why, "it is not about speed, though it costs some: commits");
        assert!(safe.is_kept);
    }

    #[test]
    fn too_few_rounds_and_a_setting_without_effect_keep_nothing() {
        assert_eq!(
            verdict(Purpose::Time, &[]),
            (false, "there was no room for as many rounds as are needed".to_owned())
        );
        assert_eq!(SpeedFigure::of(&runs(1.0, 0.5)[..18], ("commits", |speed| speed.commit, 1.0)), None);
        let change = Change {
            id: "wal.unsafe".into(),
            purpose: Purpose::Safety,
            is_restart: false,
            settings: vec![("fsync".into(), "on".into())],
        };
        let setting = AppliedSetting { name: "fsync".into(), before: "off".into(), after: "off".into() };
        let applied = Applied::judged(&change, vec![setting], Vec::new(), 10, runs(1.0, 0.1));
        assert!(!applied.is_kept && applied.why.starts_with("it has no effect"), "{}", applied.why);
    }
}
