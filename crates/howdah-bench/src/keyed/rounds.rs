//! The rounds of the trials: every way once in each, in random order; every run is a line of `raw.jsonl`.

use std::path::PathBuf;
use std::time::Instant;

use howdah::Control;

use super::grid;
use super::orders::Orders;
use super::run::{Howdahs, SETTINGS, Server};
use super::section::{NAME, Trial, trials};
use super::way::Way;
use crate::error::Error;
use crate::raw::RawRuns;
use crate::record::{Conditions, Durability, Evidence, Outcome, Record};
use crate::rounds::orders;
use crate::runner::Event;

/// Settings of the trial.
#[derive(Debug, Clone)]
pub struct KeyedOptions {
    /// Results go here.
    pub output: PathBuf,
    /// The howdah to measure.
    pub howdah: PathBuf,
    /// Another howdah, which has a turn in every round.
    pub beside: Option<PathBuf>,
    /// Sections to measure, by name; empty for all.
    pub only: Vec<String>,
    /// Rounds, the warm-up not counted; some sections have a limit of their own.
    pub rounds: u32,
    /// Few rows: shows that everything works.
    pub quick: bool,
    /// The seed of the order of runs.
    pub seed: u64,
    /// Runs that `raw.jsonl` holds already are not repeated.
    pub resume: bool,
}

/// Runs every way of every section; returns all records, those of an earlier run that is resumed included.
///
/// # Errors
/// The harness itself failed; [`Error::Stopped`] when `control` was cancelled: the runs so far are kept.
pub fn measure(
    options: &KeyedOptions,
    control: &Control,
    tell: &mut dyn FnMut(Event),
) -> Result<Vec<Record>, Error> {
    let (mut raw, mut records) = RawRuns::open(&options.output, options.resume)?;
    // All but the grids, unless they are named.
    let is_named = |it: &Trial| options.only.iter().any(|name| name == it.name);
    let wanted: Vec<Trial> = if options.only.is_empty() {
        trials(options.quick)
    } else {
        trials(options.quick).into_iter().chain(grid::settings(options.quick)).filter(is_named).collect()
    };
    // The warm-up is the round that is numbered 0.
    let rounds = |it: &Trial| u32::from(!it.warm_up)..=options.rounds.min(it.most_rounds);
    let ways = |it: &Trial| -> Vec<(&'static str, Way)> {
        it.ways.iter().copied().filter(|(_, way)| options.beside.is_some() || !way.is_beside()).collect()
    };
    let all = |it: &Trial| ways(it).len() * rounds(it).count();
    let of: usize = wanted.iter().map(all).sum();
    let (server, clock, mut done) = (Server::start()?, Instant::now(), 0);
    for trial in &wanted {
        let known = |record: &Record, series: &str, round: u32| {
            record.section == trial.section && record.series == series && record.repetition == round
        };
        let is_missing = |records: &[Record], series: &str, round: u32| {
            !records.iter().any(|record| known(record, series, round))
        };
        let (ways, rounds) = (ways(trial), rounds(trial));
        let any =
            rounds.clone().any(|round| ways.iter().any(|(series, _)| is_missing(&records, series, round)));
        if !any {
            done += all(trial);
            continue;
        }
        let prepared = server.prepare(&trial.orders)?;
        let beside = options.beside.as_ref().unwrap_or(&options.howdah);
        let howdahs = Howdahs { howdah: &options.howdah, beside };
        let orders = orders(ways.len(), rounds.clone().count(), options.seed);
        for (round, order) in rounds.zip(orders) {
            for (series, way) in order.into_iter().map(|at| ways[at]) {
                done += 1;
                if !is_missing(&records, series, round) {
                    continue;
                }
                let mut record = empty(trial, series, way, options.quick);
                record.repetition = round;
                prepared.once(trial, way, &howdahs, control, &mut record)?;
                raw.keep(&record)?;
                let each = clock.elapsed() / u32::try_from(done).unwrap_or(u32::MAX);
                let left = each * u32::try_from(of - done).unwrap_or(u32::MAX);
                tell(Event::Ran { record: &record, done, of, left });
                records.push(record);
            }
        }
    }
    Ok(records)
}

/// The record of a run that has not begun.
fn empty(trial: &Trial, series: &str, way: Way, quick: bool) -> Record {
    let Orders { brought, .. } = trial.orders;
    Record {
        scenario: NAME.to_owned(),
        section: trial.section.clone(),
        series: series.to_owned(),
        x: None,
        repetition: 0,
        outcome: Outcome::Skipped,
        reason: None,
        conditions: Conditions {
            dataset: "orders".to_owned(),
            rows_asked: brought,
            connections: 0,
            rows_per_statement: None,
            table: trial.orders.in_words(),
            settings: SETTINGS
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            durability: Durability::Durable,
            latency_ms: 0.0,
            latency_target_ms: None,
            fresh: "database copied from a template, checkpoint".to_owned(),
            command: way.in_words(),
            version: None,
            quick,
        },
        rows: 0,
        seconds: 0.0,
        phases: Vec::new(),
        evidence: Evidence::default(),
    }
}
