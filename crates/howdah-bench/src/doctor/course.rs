//! The course of a measurement: every run of howdah is a line of `raw.jsonl`, and none is repeated that is there already.

use std::path::{Path, PathBuf};
use std::time::Instant;

use howdah::Control;
use howdah_server::Template;

use super::amount::Amount;
use super::call;
use super::files::{Files, RowsToCome};
use super::parts::NAME;
use super::slowdown::{Around, Look};
use super::stand::Stand;
use crate::error::Error;
use crate::raw::RawRuns;
use crate::record::{Conditions, Durability, Evidence, Outcome, Record};
use crate::runner::Event;

/// The name of the series of the doctor's runs.
pub(super) const DOCTOR: &str = "howdah doctor";

/// What all parts of a measurement share.
pub(super) struct Course<'a> {
    pub(super) howdah: PathBuf,
    pub(super) amount: Amount,
    pub(super) quick: bool,
    pub(super) rounds: u32,
    pub(super) seed: u64,
    pub(super) clusters: Template,
    pub(super) files: Files,
    pub(super) raw: RawRuns,
    pub(super) records: Vec<Record>,
    /// Runs that are wanted in all, and those of them that are there.
    pub(super) of: usize,
    pub(super) done: usize,
    pub(super) began: Instant,
    pub(super) control: &'a Control,
    pub(super) tell: &'a mut dyn FnMut(Event),
}

/// One run of howdah.
#[derive(Debug, Clone, Copy)]
pub(super) struct OneRun<'a> {
    /// The part that it belongs to.
    pub(super) part: &'a str,
    pub(super) series: &'a str,
    pub(super) round: u32,
    /// What was built, in words.
    pub(super) says: &'a str,
}

impl Course<'_> {
    /// Whether a run is still to be made.
    pub(super) fn is_missing(&self, run: OneRun) -> bool {
        !self.records.iter().any(|record| {
            record.section == run.part && record.series == run.series && record.repetition == run.round
        })
    }

    /// Counts a run that is there from before.
    pub(super) fn skip(&mut self) {
        self.done += 1;
    }

    /// Runs the doctor.
    pub(super) fn look(
        &mut self,
        run: OneRun,
        stand: &Stand,
        around: Around,
        look: Look,
    ) -> Result<(), Error> {
        let file = stand.rows().map(|rows| rows.path.clone());
        let mut record = self.empty(run, stand.rows());
        stand.amid(around, |conninfo| {
            let process = call::doctor(&self.howdah, conninfo, file.as_deref(), look, &self.amount);
            record.conditions.command = shown(&process, conninfo);
            stand.look(process, self.control, &mut record)
        })?;
        self.keep(record)
    }

    /// Runs a load into a fresh copy that is there already.
    pub(super) fn load(&mut self, run: OneRun, stand: &Stand, told: &[&str]) -> Result<(), Error> {
        let Some(rows) = stand.rows() else { return Ok(()) };
        let mut record = self.empty(run, Some(rows));
        let conninfo = stand.conninfo();
        let process = call::load(&self.howdah, &conninfo, &rows.path, told);
        record.conditions.command = shown(&process, &conninfo);
        stand.load(process, self.control, &mut record)?;
        self.keep(record)
    }

    fn keep(&mut self, record: Record) -> Result<(), Error> {
        self.raw.keep(&record)?;
        self.done += 1;
        let each = self.began.elapsed() / u32::try_from(self.done).unwrap_or(u32::MAX);
        let left = each * u32::try_from(self.of.saturating_sub(self.done)).unwrap_or(u32::MAX);
        (self.tell)(Event::Ran { record: &record, done: self.done, of: self.of, left });
        self.records.push(record);
        Ok(())
    }

    /// The record of a run that has not begun.
    fn empty(&self, run: OneRun, rows: Option<&RowsToCome>) -> Record {
        Record {
            scenario: NAME.to_owned(),
            section: run.part.to_owned(),
            series: run.series.to_owned(),
            x: None,
            repetition: run.round,
            outcome: Outcome::Skipped,
            reason: None,
            conditions: Conditions {
                dataset: rows.map_or_else(String::new, |rows| rows.columns.names().to_owned()),
                rows_asked: rows.map_or(0, |rows| rows.brought),
                connections: 0,
                rows_per_statement: None,
                table: run.says.to_owned(),
                settings: std::collections::BTreeMap::new(),
                durability: Durability::Durable,
                latency_ms: 0.0,
                latency_target_ms: None,
                fresh: "database copied from a template, checkpoint".to_owned(),
                command: String::new(),
                version: None,
                quick: self.quick,
            },
            rows: 0,
            seconds: 0.0,
            phases: Vec::new(),
            evidence: Evidence::default(),
        }
    }
}

/// The command without its connection, which has a password, and without the folders of this machine.
fn shown(process: &std::process::Command, conninfo: &str) -> String {
    let program = Path::new(process.get_program()).file_name().unwrap_or_default();
    let mut words = vec![program.to_string_lossy().into_owned()];
    for word in process.get_args().map(|word| word.to_string_lossy()) {
        words.push(match word {
            word if word == conninfo => "…".to_owned(),
            word if word.starts_with('/') => "rows.csv".to_owned(),
            word => word.into_owned(),
        });
    }
    words.join(" ")
}
