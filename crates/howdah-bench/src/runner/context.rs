//! What a run is given, and how it can end without a figure.

use std::path::Path;
use std::time::{Duration, Instant};

use howdah::Control;

use crate::command::Programs;
use crate::contender::Contender;
use crate::dataset::Checksum;
use crate::error::Error;
use crate::input_files::InputFiles;
use crate::record::Record;

/// What a run needs besides its cell.
pub(super) struct Context<'a> {
    /// The programs that are ours.
    pub(super) programs: &'a Programs,
    /// Other people's programs.
    pub(super) contenders: Result<&'a [Contender], &'a str>,
    /// The generated files.
    pub(super) scratch: &'a InputFiles,
    /// When the program is killed.
    pub(super) limit: Duration,
    /// Where a stop is asked for, which kills the program too.
    pub(super) control: &'a Control,
}

/// The rows of a run.
#[derive(Clone, Copy)]
pub(super) struct RunRows<'a> {
    /// How many, from the data set's first.
    pub(super) count: u64,
    /// From which seed.
    pub(super) seed: u64,
    /// The file that holds them. It may hold more, for methods that are told how many to read; it is empty for methods
    /// that read no file.
    pub(super) csv: &'a Path,
    /// Their checksum.
    pub(super) checksum: Checksum,
}

/// Why there is no figure: the method failed, or cannot run here.
pub(super) enum NoFigure {
    Failed(String),
    Skipped(String),
}

impl From<Error> for NoFigure {
    fn from(error: Error) -> Self {
        match error {
            // Where our own program lies says nothing.
            Error::Program { status, stderr, .. } => {
                NoFigure::Failed([status, stderr].join(": ").trim_end_matches([':', ' ']).to_owned())
            }
            other => NoFigure::Failed(other.to_string()),
        }
    }
}

/// Measures one phase after the other.
pub(super) struct Laps {
    pub(super) clock: Instant,
}

impl Laps {
    pub(super) fn end(&mut self, name: &str, record: &mut Record) -> f64 {
        let seconds = self.clock.elapsed().as_secs_f64();
        record.phases.push((name.to_owned(), seconds));
        self.clock = Instant::now();
        seconds
    }
}
