//! All parts in turn. Of each state: what the doctor says, then loads with and without the remedy, both in every round.

use std::path::PathBuf;
use std::time::Instant;

use howdah::Control;
use howdah_server::Template;

use super::amount::Amount;
use super::course::{Course, DOCTOR, OneRun};
use super::files::Files;
use super::parts::{GRID, HEALTHY, named};
use super::slowdown::Slowdown;
use super::stand::Stand;
use super::states;
use super::truth::{AS_IT_IS, REMEDIED, Truths};
use super::{grid, healthy, page};
use crate::error::Error;
use crate::raw::RawRuns;
use crate::record::Record;
use crate::rounds::orders;
use crate::runner::Event;

/// Settings of the measurement.
#[derive(Debug, Clone)]
pub struct DoctorOptions {
    /// Results go here.
    pub output: PathBuf,
    /// The howdah to measure.
    pub howdah: PathBuf,
    /// Parts to measure, by name; empty for all.
    pub only: Vec<String>,
    /// Rounds of loads.
    pub rounds: u32,
    /// Megabytes of a usual load; where checkpoints or caches are the point it is seven times as large.
    pub megabytes: u64,
    /// Seconds for which the doctor measures.
    pub seconds: u64,
    /// Few rows: shows that everything works.
    pub quick: bool,
    /// The seed of the order of runs.
    pub seed: u64,
    /// Runs that `raw.jsonl` holds already are not repeated.
    pub resume: bool,
}

/// Runs all parts, and writes what they come to. Returns that, and all records, those of an earlier run that is resumed included.
///
/// # Errors
/// The harness itself failed; [`Error::Stopped`] when `control` was cancelled: the runs so far are kept.
pub fn measure(
    options: &DoctorOptions,
    environment: &str,
    control: &Control,
    tell: &mut dyn FnMut(Event),
) -> Result<(Truths, Vec<Record>), Error> {
    let (raw, records) = RawRuns::open(&options.output, options.resume)?;
    let is_wanted =
        |part: &str| options.only.is_empty() || options.only.iter().any(|name| *name == named(part));
    let wanted: Vec<&Slowdown> = states::all().filter(|state| is_wanted(state.name)).collect();
    let mut of: usize = wanted.iter().map(|state| runs_of(state, options.rounds)).sum();
    of += if is_wanted(HEALTHY) { healthy::runs(options.quick) as usize } else { 0 };
    of += if is_wanted(GRID) { grid::runs(options.rounds) } else { 0 };
    let mut course = Course {
        howdah: options.howdah.clone(),
        amount: Amount::new(options.megabytes, options.seconds, options.quick),
        quick: options.quick,
        rounds: options.rounds,
        seed: options.seed,
        clusters: Template::make()?,
        files: Files::start()?,
        raw,
        records,
        of,
        done: 0,
        began: Instant::now(),
        control,
        tell,
    };
    for state in wanted {
        measure_state(&mut course, state)?;
        // What there is so far can be read while the rest goes on.
        page::write(&options.output, &Truths::of(&course.records), environment)?;
    }
    if is_wanted(HEALTHY) {
        healthy::measure(&mut course)?;
    }
    if is_wanted(GRID) {
        grid::measure(&mut course)?;
    }
    let truths = Truths::of(&course.records);
    page::write(&options.output, &truths, environment)?;
    Ok((truths, course.records))
}

fn runs_of(state: &Slowdown, rounds: u32) -> usize {
    1 + if state.remedy.is_some() { 2 * rounds as usize } else { 0 }
}

fn measure_state(course: &mut Course, state: &'static Slowdown) -> Result<(), Error> {
    let run = |series, round| OneRun { part: state.name, series, round, says: state.says };
    let series = [AS_IT_IS, REMEDIED];
    let rounds = if state.remedy.is_some() { course.rounds } else { 0 };
    let loads = || (1..=rounds).flat_map(|round| series.map(|series| run(series, round)));
    if !course.is_missing(run(DOCTOR, 1)) && !loads().any(|load| course.is_missing(load)) {
        (0..runs_of(state, rounds)).for_each(|_| course.skip());
        return Ok(());
    }
    let rows = match state.columns {
        Some(columns) => {
            let (held, brought) =
                (course.amount.held(columns, state.weight), course.amount.brought(columns, state.weight));
            Some(course.files.rows_to_come(columns, held, brought)?)
        }
        None => None,
    };
    let mut stand = Stand::start(&course.clusters, state.settings, rows, state.built, state.role)?;
    if course.is_missing(run(DOCTOR, 1)) {
        stand.copy()?;
        stand.finish(state.last, state.awaits)?;
        course.look(run(DOCTOR, 1), &stand, state.around, state.look)?;
    } else {
        course.skip();
    }
    let Some(remedy) = state.remedy else { return Ok(()) };
    for (round, order) in (1..=rounds).zip(orders(series.len(), rounds as usize, course.seed)) {
        for load in order.into_iter().map(|at| run(series[at], round)) {
            if !course.is_missing(load) {
                course.skip();
                continue;
            }
            let is_remedied = load.series == REMEDIED;
            stand.copy()?;
            if is_remedied {
                stand.change(remedy.sql, remedy.restart)?;
            }
            course.load(load, &stand, if is_remedied { remedy.load } else { &[] })?;
            if is_remedied {
                stand.change(remedy.undo, remedy.restart)?;
            }
        }
    }
    Ok(())
}
