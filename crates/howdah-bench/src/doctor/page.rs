//! What people and programs read: `doctor.md`, and a line of JSON for each state, look and grid in `doctor.jsonl`.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde::Serialize;

use super::judge::{Share, Standing};
use super::truth::{GridTruth, StateTruth, Truths};
use crate::error::Error;
use crate::table::Table;

/// What a predicted time may be of the real one.
const RATIO: (f64, f64) = (0.75, 1.33);
/// How many of ten have to be right.
const NINE_OF_TEN: f64 = 0.9;
/// So many shares at least have to be held against loads.
const SHARES: usize = 15;
const MOST_REGRET: f64 = 0.1;

/// Writes both.
pub(super) fn write(directory: &Path, truths: &Truths, environment: &str) -> Result<(), Error> {
    for (name, text) in [("doctor.md", truths.page(environment)), ("doctor.jsonl", truths.lines())] {
        let path = directory.join(name);
        fs::write(&path, text).map_err(Error::io(format!("could not write {}", path.display())))?;
    }
    Ok(())
}

impl Truths {
    /// What was promised, and what is so, as a Markdown table; None where nothing was measured.
    #[must_use]
    pub fn summary(&self) -> Option<String> {
        let goals: Vec<Goal> = self.goals();
        if goals.is_empty() {
            return None;
        }
        let mut table = Table::new(["promise", "found", "held"]);
        for Goal { promise, found, held } in goals {
            table.row([promise, found.as_str(), if held { "yes" } else { "**no**" }]);
        }
        Some(table.render())
    }

    fn goals(&self) -> Vec<Goal> {
        let mut goals = Vec::new();
        if !self.states.is_empty() {
            let first = self.states.iter().filter(|state| state.is_first).count();
            goals.push(Goal {
                promise: "the finding comes first, in all states",
                found: format!("{first} of {}", self.states.len()),
                held: first == self.states.len(),
            });
        }
        let claims: Vec<&StateTruth> =
            self.states.iter().filter(|state| state.has_claim && state.gained.is_some()).collect();
        if !claims.is_empty() {
            let count = |standing| claims.iter().filter(|state| state.standing == Some(standing)).count();
            let (inside, near) = (count(Standing::In), count(Standing::Near));
            goals.push(Goal {
                promise: "what goes with a remedy lies in the printed interval, in 9 of 10 of at least 15",
                found: format!("{inside} of {}; {near} more overlap", claims.len()),
                held: claims.len() >= SHARES && is_most(inside, claims.len()),
            });
        }
        let ratios: Vec<f64> = self.states.iter().filter_map(StateTruth::ratio).collect();
        if !ratios.is_empty() {
            let right = ratios.iter().filter(|ratio| (RATIO.0..=RATIO.1).contains(*ratio)).count();
            goals.push(Goal {
                promise: "predicted ÷ real time is 0.75 to 1.33, in 9 of 10",
                found: format!("{right} of {}", ratios.len()),
                held: is_most(right, ratios.len()),
            });
        }
        if let Some(GridTruth { all, prescribed, regret, .. }) = &self.grid
            && let Some((best, _)) = all.first()
        {
            let found = regret.map_or_else(
                || format!("`{prescribed}` came to nothing"),
                |regret| format!("{:.0} % (`{prescribed}`; the best: `{best}`)", regret * 100.0),
            );
            goals.push(Goal {
                promise: "what is prescribed takes at most 10 % longer than the best of the grid",
                found,
                held: regret.is_some_and(|regret| regret <= MOST_REGRET),
            });
        }
        if !self.healthy.is_empty() {
            let alarms: usize = self.healthy.iter().map(|look| look.false_alarms.len()).sum();
            goals.push(Goal {
                promise: "no finding above 5 % on a healthy server",
                found: format!("{alarms} in {} looks", self.healthy.len()),
                held: alarms == 0,
            });
        }
        goals
    }

    /// All of it, for a reader.
    fn page(&self, environment: &str) -> String {
        let mut text = String::from("# Is the doctor right?\n\n");
        text += &self.summary().unwrap_or_default();
        if !self.states.is_empty() {
            let mut table = Table::new([
                "state",
                "finding",
                "rank",
                "doctor: goes with the remedy",
                "loads: goes",
                "rounds",
                "in it",
                "predicted, s",
                "real, s",
                "predicted ÷ real",
                "doctor, s",
            ]);
            self.states.iter().for_each(|state| table.row(state.cells()));
            text += "\n## States\n\n";
            text += &table.render();
            text += "\nShares are of a load's time, over one connection and with indexes kept: median and interval. \
                     *Near*: the two intervals have a part in common.\n";
        }
        if let Some(GridTruth { all, rounds, prescribed, .. }) = &self.grid {
            let mut table = Table::new(["configuration", "s", ""]);
            for (name, seconds) in all {
                let mark = if name == prescribed { "prescribed" } else { "" };
                table.row([name.as_str(), &format!("{seconds:.2}"), mark]);
            }
            let _ = write!(text, "\n## Configurations, {rounds} rounds\n\n{}", table.render());
        }
        if !self.healthy.is_empty() {
            text += "\n## A healthy server\n\n";
            for look in &self.healthy {
                let said = if look.false_alarms.is_empty() {
                    "nothing".to_owned()
                } else {
                    look.false_alarms.join(", ")
                };
                let _ = writeln!(text, "{}. {said} ({:.1} s)", look.round, look.doctor_s);
            }
        }
        let _ = write!(text, "\n{environment}");
        text
    }

    /// The same for programs.
    fn lines(&self) -> String {
        let states = self.states.iter().map(line);
        let healthy = self.healthy.iter().map(line);
        let lines: Vec<String> = states.chain(healthy).chain(self.grid.iter().map(line)).collect();
        lines.concat()
    }
}

fn line(data: &impl Serialize) -> String {
    serde_json::to_string(data).unwrap_or_default() + "\n"
}

fn is_most(right: usize, all: usize) -> bool {
    right as f64 >= NINE_OF_TEN * all as f64
}

/// A promise, and whether it was held.
struct Goal {
    promise: &'static str,
    found: String,
    held: bool,
}

impl StateTruth {
    fn cells(&self) -> [String; 11] {
        let or_nothing = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
        let share = |share: Option<Share>| or_nothing(share.map(|share| share.to_string()));
        let number = |number: Option<f64>| or_nothing(number.map(|number| format!("{number:.2}")));
        let rank = match (self.rank, &self.first) {
            (Some(rank), _) if self.is_first => rank.to_string(),
            (rank, first) => {
                let rank = rank.map_or_else(|| "none".to_owned(), |rank| rank.to_string());
                format!("**{rank}**, behind {}", first.as_deref().unwrap_or("nothing"))
            }
        };
        let claimed =
            if self.has_claim || self.claimed.is_some() { share(self.claimed) } else { String::new() };
        let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
        [
            format!("{}: {}", self.state, self.says),
            self.finding.to_owned(),
            rank,
            claimed,
            share(self.gained),
            format!("{}{failed}", self.rounds),
            or_nothing(self.standing.map(|standing| standing.word().to_owned())),
            number(self.predicted_s),
            number(self.real_s),
            number(self.ratio()),
            format!("{:.1}", self.doctor_s),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(standing: Option<Standing>, is_first: bool, real_s: f64) -> StateTruth {
        let share = Some(Share { median: 0.4, low: 0.3, high: 0.5 });
        StateTruth {
            state: "foreign-key",
            says: "a foreign key",
            finding: "fk.cost",
            rank: Some(if is_first { 1 } else { 2 }),
            is_first,
            first: Some("wal.unlogged".to_owned()),
            claimed: share,
            has_claim: true,
            gained: share,
            rounds: 7,
            standing,
            predicted_s: Some(10.0),
            real_s: Some(real_s),
            doctor_s: 60.0,
            failed: 0,
        }
    }

    #[test]
    fn promises_are_held_by_nine_of_ten_of_enough_states() {
        let mut states: Vec<StateTruth> = (0..18).map(|_| state(Some(Standing::In), true, 10.0)).collect();
        states.extend([state(Some(Standing::Near), true, 13.3), state(Some(Standing::Out), true, 13.4)]);
        let truths = Truths { states, ..Truths::default() };
        let held = |truths: &Truths| truths.goals().iter().map(|goal| goal.held).collect::<Vec<_>>();
        assert_eq!(held(&truths), [true, true, true]);
        let few = Truths { states: truths.states[..14].to_vec(), ..Truths::default() };
        assert_eq!(held(&few), [true, false, true], "they are too few");
        let mut worse = truths.clone();
        worse.states.extend([state(None, false, 20.0), state(None, false, 20.0)]);
        assert_eq!(held(&worse), [false, false, false]);
        let page = worse.page("# Environment\n");
        for part in
            ["20 of 22", "**2**, behind wal.unlogged", "40 % (30 to 50)", "| **out**", "# Environment"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(worse.lines().lines().count(), 22);
    }

    #[test]
    fn the_grid_and_a_healthy_server_have_their_promises() {
        let all = vec![("a".to_owned(), 10.0), ("b".to_owned(), 11.2)];
        let grid = |prescribed: &str, regret| GridTruth {
            all: all.clone(),
            rounds: 3,
            prescribed: prescribed.to_owned(),
            regret,
        };
        let truths = Truths { grid: Some(grid("b", Some(0.12))), ..Truths::default() };
        assert!(truths.summary().unwrap().contains("12 % (`b`; the best: `a`)"));
        assert!(!truths.goals()[0].held);
        assert!(Truths { grid: Some(grid("a", Some(0.0))), ..Truths::default() }.goals()[0].held);
        assert!(Truths::default().summary().is_none());
        let look = |false_alarms| super::super::truth::HealthyLook { round: 1, false_alarms, doctor_s: 60.0 };
        let healthy =
            Truths { healthy: vec![look(vec![]), look(vec!["index.cost".to_owned()])], ..Truths::default() };
        assert!(healthy.summary().unwrap().contains("1 in 2 looks"));
    }
}
