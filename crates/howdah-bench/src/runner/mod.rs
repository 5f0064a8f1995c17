//! Runs cells: in turns and in random order, each on a fresh server, every run a line of `raw.jsonl`.

mod applied;
mod command;
mod context;
mod prepare;
mod run;
mod server;
mod stream;
mod verify;
mod watch;

use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use context::{Context, RunRows};
use howdah::Control;
use server::{Given, Servers};

use crate::cell::{Cell, Method, Program, Rounds};
use crate::command::Programs;
use crate::contender::{self, Contender};
use crate::continuous::{Buffer, Offer, Peak, RowSchedule};
use crate::dataset::{Checksum, Dataset};
use crate::error::Error;
use crate::input_files::InputFiles;
use crate::raw::RawRuns;
use crate::record::{Outcome, Record};
use crate::rounds::orders;

/// Rows of the first warm-up of a cell that may be slow.
const PROBE: u64 = 100;
/// Seconds of a warm-up from which on it says how fast a method is ...
const TELLING: f64 = 0.5;
/// ... unless that is less than this share of what is allowed: a program's start may be in it, which a longer run dwarfs.
const TELLING_SHARE: f64 = 0.1;
/// A prefix takes so much of the time allowed, so that a slower repetition is not killed.
const MARGIN: f64 = 0.7;
/// Multiple of the time allowed after which a run is killed.
const PATIENCE: f64 = 3.0;
/// A common peak is found over a part of a cell's rows.
const PEAK_SHARE: u64 = 3;
/// The seed of data sets, and of the order of runs, unless another one is asked for: published figures are of the same
/// rows.
pub const SEED: u64 = 1;

/// Settings of the runner.
#[derive(Debug, Clone)]
pub struct Options {
    /// Results go here.
    pub output: PathBuf,
    /// Generated files are kept here.
    pub scratch: PathBuf,
    /// Runs of each cell, the warm-up not counted.
    pub repeat: u32,
    /// If true, there is a warm-up; without one a slow method's first run may be one of several that find out its
    /// speed.
    pub warm_up: bool,
    /// If true, the runs are only to show that everything works, and each record says so.
    pub quick: bool,
    /// Seconds that a run may take; slower methods load a first part of the rows.
    pub max_seconds: f64,
    /// The server; None: a new cluster of our own for each run, or one for all runs of commands.
    pub conninfo: Option<String>,
    /// The postmaster of that server, when it runs on this machine: its CPU time is measured.
    pub server_pid: Option<u32>,
    /// The seed of the data sets and of the order of runs.
    pub seed: u64,
    /// Runs that `raw.jsonl` holds already are not repeated.
    pub resume: bool,
    /// The paths of the programs.
    pub programs: Programs,
}

/// A message of the runner about its progress.
pub enum Event<'a> {
    /// A file of rows is being made.
    Making(Dataset, u64),
    /// A run is over.
    Ran {
        /// The run's record.
        record: &'a Record,
        /// The number of runs that are over.
        done: usize,
        /// The number of all runs.
        of: usize,
        /// The time that the others will take, if they take as long.
        left: Duration,
    },
}

/// Runs all cells; returns every record, those of an earlier run that is resumed included.
///
/// # Errors
/// The harness itself failed: a server or a file could not be made. [`Error::Stopped`] when `control` was cancelled; the
/// runs so far are kept.
pub fn run(
    cells: &[Cell],
    options: &Options,
    control: &Control,
    tell: &mut dyn FnMut(Event),
) -> Result<Vec<Record>, Error> {
    let (raw, mut records) = RawRuns::open(&options.output, options.resume)?;
    // Without them their cells are skipped, each with the reason.
    let contenders = contender::installed(Path::new(contender::AVAILABLE)).map_err(|error| error.to_string());
    let mut runner = Runner {
        options,
        scratch: InputFiles::new(&options.scratch, options.seed)?,
        raw,
        sums: BTreeMap::new(),
        contenders,
        servers: Servers::new(
            options.conninfo.clone().map(|conninfo| Given { conninfo, pid: options.server_pid }),
        ),
        peaks: Vec::new(),
        control,
        tell,
    };
    for cell in cells {
        check(cell, &records)?;
    }
    let known: HashSet<Place> = records.iter().map(Place::of).collect();
    let wanted = |cell: &Cell, repetition| !known.contains(&Place::at(cell, repetition));
    let missing =
        |cell: &Cell| repetitions(cell, options).filter(|repetition| wanted(cell, *repetition)).count();
    let of = cells.iter().map(missing).sum();
    let (clock, mut done) = (Instant::now(), 0);
    for group in cells.chunk_by(|a, b| (a.scenario, a.section) == (b.scenario, b.section)) {
        // The first run finds out how many rows each method can carry in the time allowed.
        let mut rows = vec![None; group.len()];
        // The cells of a section are run equally often.
        let repetitions = repetitions(&group[0], options);
        let turns = orders(group.len(), repetitions.clone().count(), options.seed);
        for (repetition, order) in repetitions.zip(turns) {
            runner.peaks.clear();
            for at in order {
                let cell = &group[at];
                if !wanted(cell, repetition) {
                    continue;
                }
                let mut record = match (repetition, rows[at]) {
                    (1.., Some(rows)) => runner.once(cell, rows)?,
                    _ => {
                        let (record, fit) = runner.probe(cell, &records)?;
                        rows[at] = Some(fit);
                        let is_all = |record: &Record| record.rows == fit || !record.outcome.counts();
                        match record.filter(|record| repetition == 0 || is_all(record)) {
                            Some(record) => record,
                            None => runner.once(cell, fit)?,
                        }
                    }
                };
                record.repetition = repetition;
                record.conditions.quick = options.quick;
                runner.raw.keep(&record)?;
                done += 1;
                let each = clock.elapsed() / u32::try_from(done).unwrap_or(u32::MAX);
                let left = each * u32::try_from(of - done).unwrap_or(u32::MAX);
                (runner.tell)(Event::Ran { record: &record, done, of, left });
                records.push(record);
            }
        }
    }
    Ok(records)
}

/// The numbers of a cell's runs; the warm-up is the one that is numbered 0.
fn repetitions(cell: &Cell, options: &Options) -> RangeInclusive<u32> {
    let usual = Rounds { warm_up: options.warm_up, count: options.repeat };
    let Rounds { warm_up, count } = cell.rounds.unwrap_or(usual);
    u32::from(!warm_up)..=count
}

/// Refuses to go on with results that were measured otherwise.
fn check(cell: &Cell, records: &[Record]) -> Result<(), Error> {
    let other = records.iter().find(|record| {
        let of_cell = Place::of(record) == Place::at(cell, record.repetition);
        let conditions = &record.conditions;
        of_cell && (conditions.rows_asked != cell.rows || conditions.settings != cell.settings_map())
    });
    match other {
        None => Ok(()),
        Some(record) => Err(Error::Usage(format!(
            "{} was measured with {} rows before, and now {} are asked for: use another directory",
            cell.series, record.conditions.rows_asked, cell.rows
        ))),
    }
}

/// Which run of which cell a record is of.
#[derive(PartialEq, Eq, Hash)]
struct Place(String, String, String, Option<u64>, u32);

impl Place {
    fn of(record: &Record) -> Place {
        let Record { scenario, section, series, x, repetition, .. } = record.clone();
        Place(scenario, section, series, x.map(f64::to_bits), repetition)
    }

    fn at(cell: &Cell, repetition: u32) -> Place {
        let Cell { scenario, section, series, x, .. } = cell.clone();
        Place(scenario.to_owned(), section.to_owned(), series, x.map(f64::to_bits), repetition)
    }
}

struct Runner<'a> {
    options: &'a Options,
    scratch: InputFiles,
    raw: RawRuns,
    contenders: Result<Vec<Contender>, String>,
    servers: Servers,
    /// Rows a second that buffers reached in this round of this section.
    peaks: Vec<((Program, Buffer), f64)>,
    sums: BTreeMap<(&'static str, u64, usize, Option<u64>), Checksum>,
    control: &'a Control,
    tell: &'a mut dyn FnMut(Event),
}

impl Runner<'_> {
    /// Runs the cell over `rows` rows; where its rates are shares of a peak, over as many as are due at these rates.
    fn once(&mut self, cell: &Cell, rows: u64) -> Result<Record, Error> {
        let Method::Service { program, buffer, offer } = &cell.method else {
            return self.over(cell, rows, rows);
        };
        let Offer::OfPeak { peak, .. } = offer else {
            return self.over(cell, rows, cell.rows);
        };
        let (whose, found_over) = match peak {
            // It is to be kept up: at first the table is small.
            Peak::Own => ((*program, buffer.clone()), rows),
            Peak::Common => ((Program::Writer, Buffer::default()), rows.div_ceil(PEAK_SHARE)),
        };
        let peak = match self.peaks.iter().find(|(of, _)| *of == whose) {
            Some((_, peak)) => *peak,
            None => {
                let (program, buffer) = whose.clone();
                let method = Method::Service { program, buffer, offer: Offer::Full };
                let record = self.over(&Cell { method, ..cell.clone() }, found_over, rows)?;
                let Some(peak) = record.rows_per_s() else { return Ok(record) };
                self.peaks.push((whose, peak));
                peak
            }
        };
        let Offer::Paced { steps } = offer.at_peak(peak) else {
            return self.over(cell, rows, rows);
        };
        let pace = RowSchedule::new(&steps)?.within(rows);
        let offer = Offer::Paced { steps: pace.steps().to_vec() };
        let method = Method::Service { program: *program, buffer: buffer.clone(), offer };
        let paced = Cell { method, rows: pace.rows(), ..cell.clone() };
        let mut record = self.over(&paced, paced.rows, cell.rows)?;
        // Rates differ from round to round; what was asked for does not.
        record.conditions.rows_asked = cell.rows;
        record.conditions.command = record.conditions.command.replacen(&paced.command(), &cell.command(), 1);
        record.evidence.peak_rows_per_s = Some(peak);
        Ok(record)
    }

    /// Runs the cell over the first `rows` rows of a file of `of`.
    fn over(&mut self, cell: &Cell, rows: u64, of: u64) -> Result<Record, Error> {
        let csv = match cell.method {
            // It makes its rows itself.
            Method::Service { program: Program::Writer, .. } => PathBuf::new(),
            Method::Command(command) if !command::reads_csv(&command) => PathBuf::new(),
            _ => self.csv(cell.dataset, of)?,
        };
        let width = cell.columns().len();
        let spoilt = match &cell.method {
            Method::Command(command) => command::spoilt_every(command),
            _ => None,
        };
        let (generator, seed) = (cell.dataset.generator(rows, self.options.seed), self.options.seed);
        let expected = self.sums.entry((cell.dataset.name(), rows, width, spoilt));
        let expected = *expected.or_insert_with(|| match spoilt {
            None => generator.narrow_checksum(width),
            Some(every) => generator.checksum_without_every(every),
        });
        let context = Context {
            programs: &self.options.programs,
            contenders: self.contenders.as_deref().map_err(String::as_str),
            scratch: &self.scratch,
            limit: Duration::from_secs_f64(self.options.max_seconds * PATIENCE),
            control: self.control,
        };
        let rows = RunRows { count: rows, seed, csv: &csv, checksum: expected };
        run::once(&context, &mut self.servers, cell, rows)
    }

    /// Finds out how many rows the cell carries in the time allowed: runs it over more and more of them, unless a resumed
    /// run has a warm-up. Returns the last of these runs.
    fn probe(&mut self, cell: &Cell, before: &[Record]) -> Result<(Option<Record>, u64), Error> {
        let warm = before.iter().find(|record| Place::of(record) == Place::at(cell, 0));
        if let Some(warm) = warm.filter(|warm| warm.outcome.counts()) {
            return Ok((None, self.fitting(cell, warm)));
        }
        if matches!(&cell.method, Method::Service { offer: Offer::OfPeak { .. }, .. }) {
            return Ok((None, cell.rows)); // the time is set
        }
        if matches!(cell.method, Method::Command(_)) {
            return Ok((None, cell.rows)); // the whole file is what is promised
        }
        let mut rows = cell.rows.min(PROBE);
        loop {
            let record = self.once(cell, rows)?;
            let allowed = self.options.max_seconds;
            let is_telling = record.seconds >= TELLING.min(allowed).max(TELLING_SHARE * allowed);
            if !record.outcome.counts() || rows == cell.rows || is_telling {
                let fit = self.fitting(cell, &record);
                return Ok((Some(record), fit));
            }
            // All of them at once, where that is sure to be quick.
            let rate = rows as f64 / record.seconds.max(1e-3);
            let sure = cell.rows as f64 / rate < self.options.max_seconds * MARGIN;
            rows = if sure { cell.rows } else { cell.rows.min(rows * 10) };
        }
    }

    fn fitting(&self, cell: &Cell, record: &Record) -> u64 {
        if !record.outcome.counts() || record.rows == 0 {
            return cell.rows.min(PROBE);
        }
        let most = record.rows as f64 / record.seconds.max(1e-6) * self.options.max_seconds * MARGIN;
        if cell.rows as f64 <= most / MARGIN { cell.rows } else { round_down(most).max(1) }
    }

    fn csv(&mut self, dataset: Dataset, rows: u64) -> Result<PathBuf, Error> {
        if !self.scratch.has_csv(dataset, rows) {
            (self.tell)(Event::Making(dataset, rows));
        }
        let path = self.scratch.csv(dataset, rows)?;
        // A server under another account reads it too.
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(&path, readable)
            .map_err(Error::io(format!("could not share {}", path.display())))?;
        Ok(path)
    }
}

/// To two digits: prefixes of a like size share a file.
#[expect(clippy::cast_possible_truncation, reason = "row counts stay far below 2^53")]
fn round_down(rows: f64) -> u64 {
    let unit = 10_f64.powf((rows.max(1.0).log10().floor() - 1.0).max(0.0));
    ((rows / unit).floor() * unit) as u64
}

/// Returns true if any of the records says that something other than the rows arrived.
#[must_use]
pub fn has_wrong(records: &[Record]) -> bool {
    records.iter().any(|record| record.outcome == Outcome::Wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_never_more_than_what_fits() {
        for (rows, down) in [(1.0, 1), (99.9, 99), (1_234.0, 1_200), (987_654.0, 980_000)] {
            assert_eq!(round_down(rows), down);
        }
    }
}
