//! Migrations: a project's MIGRATE blocks applied to a database, once each and in their order.
//!
//! A database remembers them in a table of its own, which generated runners share. Each step is a transaction together
//! with its row, so a run that is killed leaves both or neither; only steps that cannot be in a transaction are remembered as
//! begun first. A lock lets one runner of a project work at a time.

mod apply;
mod compare;
mod files;
mod session;
mod table;

pub use crate::bookkeeping::FORMAT;
pub use crate::project::migration::MigrationStep;
pub use compare::{Entry, Recorded, StepState, compare};

use std::time::Duration;

use howdah_connect::Target;
use serde::Serialize;

use crate::check::Checked;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::project::server_error::ServerError;
use apply::Run;
use session::Session;

/// The steps of a project, in order.
#[derive(Debug, Clone)]
pub struct History {
    /// Under which name a database remembers them.
    pub project: String,
    /// The steps.
    pub steps: Vec<MigrationStep>,
    /// The texts, to show lines of them.
    texts: Diagnostics,
}

/// What a run is asked to do.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Apply nothing: try it, and take it back.
    pub dry_run: bool,
    /// How long a wait for a lock may last; `None`: for ever.
    pub lock_timeout: Option<Duration>,
    /// What would be an error.
    pub allowed: Allowed,
}

/// What the user knows better than the table.
#[derive(Debug, Clone, Default)]
pub struct Allowed {
    /// Steps that are there as the files have them: remembered as applied, and not run.
    pub accept: Vec<String>,
    /// Steps without a transaction that were begun, and are to run again.
    pub retry: Vec<String>,
    /// The database may have steps behind all of these.
    pub newer: bool,
}

/// Who starts a run, watches it and can stop it.
pub trait FrontEnd {
    /// Whether somebody said stop.
    fn is_stopped(&self) -> bool;
    /// Something happened.
    fn notify(&self, event: Event<'_>);
}

/// What happens in a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'e> {
    /// So many rows of SQG's were taken over.
    Adopted(u64),
    /// A step is remembered as applied, as the user said.
    Accepted(&'e MigrationStep),
    /// These are to run.
    Pending(&'e [&'e MigrationStep]),
    /// A step is committed.
    Applied(&'e MigrationStep, Duration),
    /// A step would do.
    Tried(&'e MigrationStep, Duration),
    /// A step was not tried: it cannot be taken back, or it stands behind such a one.
    Skipped(&'e MigrationStep),
    /// A lock is waited for.
    Waiting(&'e str),
}

/// What came of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Steps were applied, and now all are.
    Applied,
    /// Nothing was to do.
    UpToDate,
    /// Steps are pending: nothing was applied.
    Pending,
    /// Pending steps were tried and taken back.
    Tried,
    /// Files and database do not fit together.
    Drift,
    /// It failed; steps before the failure may be applied.
    #[default]
    Failed,
    /// Somebody said stop.
    Stopped,
    /// The answer to a COMMIT is lost.
    Unknown,
}

/// A step of a dry run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DryRunStep {
    /// Its place among the steps, from 0.
    pub index: usize,
    /// How long it took; `None`: it was skipped.
    pub duration_ms: Option<i64>,
}

/// How all steps stand at the end, and what was done.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// What came of it.
    pub outcome: Outcome,
    /// The files' steps, and what only the database has. Empty if the database could not be asked.
    pub entries: Vec<Entry>,
    /// Steps that this run applied, each with its milliseconds.
    pub applied: Vec<(usize, i64)>,
    /// What a dry run did.
    pub tried: Vec<DryRunStep>,
}

impl Report {
    fn applied(&mut self, index: usize, milliseconds: i64) {
        self.applied.push((index, milliseconds));
    }
}

/// Why a run did not come to its end.
#[derive(Debug)]
pub enum MigrateError {
    /// There is no connection.
    Connect(howdah_connect::Error),
    /// The request names what is not there.
    Usage(Vec<Diagnostic>),
    /// Files and database do not fit together.
    Drift(Vec<Diagnostic>),
    /// The server refused.
    Refused(Vec<Diagnostic>),
    /// Somebody said stop; what is to be known of it.
    Stopped(Vec<Diagnostic>),
    /// Whether a step is applied is not known.
    Unknown(Vec<Diagnostic>),
}

impl History {
    /// The history of checked files, under a project's name.
    ///
    /// # Errors
    ///
    /// There is none or more than one, or steps have statements that no step may have.
    pub fn of(checked: &Checked, project: String) -> Result<Self, Diagnostics> {
        let steps = files::of_project(checked)?;
        let mut texts = checked.diagnostics.clone();
        texts.messages.clear();
        if project.is_empty() || project.contains('\0') {
            let error = ServerError::of("the project has no name".to_owned(), Some("--project names it"));
            let error = Diagnostic { code: Code::ConfigValidationError, ..*error.0 };
            texts.extend(vec![error]);
            return Err(texts);
        }
        Ok(Self { project, steps, texts })
    }

    /// Messages about the history, with its texts.
    #[must_use]
    pub fn diagnostics(&self, messages: Vec<Diagnostic>) -> Diagnostics {
        let mut all = self.texts.clone();
        all.extend(messages);
        all
    }

    /// Where a step stands, as one names it from the current folder: `db/shop.sql:5`.
    #[must_use]
    pub fn place(&self, step: &MigrationStep) -> String {
        format!("{}:{}", self.texts.shown(&step.migration.file), step.migration.line)
    }

    /// Applies what is pending.
    pub fn apply(
        &self,
        target: &Target,
        settings: &Settings,
        front_end: &dyn FrontEnd,
    ) -> (Report, Option<MigrateError>) {
        self.run(target, settings, front_end, true)
    }

    /// Says how the steps stand, and changes nothing.
    pub fn status(
        &self,
        target: &Target,
        settings: &Settings,
        front_end: &dyn FrontEnd,
    ) -> (Report, Option<MigrateError>) {
        self.run(target, settings, front_end, false)
    }

    fn run(
        &self,
        target: &Target,
        settings: &Settings,
        front_end: &dyn FrontEnd,
        applies: bool,
    ) -> (Report, Option<MigrateError>) {
        let mut report = Report::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let done = match runtime {
            Ok(runtime) => runtime.block_on(async {
                let opened = Session::open(target, &self.project, settings.lock_timeout, front_end).await;
                let session = opened.map_err(MigrateError::Connect)?;
                let run = Run { history: self, session: &session, settings };
                if applies { run.apply(&mut report).await } else { run.status(&mut report).await }
            }),
            Err(error) => {
                let error = ServerError::of(format!("there is no runtime: {error}"), None);
                Err(MigrateError::Refused(vec![*error.0]))
            }
        };
        report.outcome = match &done {
            Ok(()) if !applies && !report.pending().is_empty() => Outcome::Pending,
            Ok(()) if !report.tried.is_empty() => Outcome::Tried,
            Ok(()) if !report.applied.is_empty() => Outcome::Applied,
            Ok(()) => Outcome::UpToDate,
            Err(MigrateError::Stopped(_)) => Outcome::Stopped,
            Err(MigrateError::Unknown(_)) => Outcome::Unknown,
            Err(MigrateError::Drift(_)) => Outcome::Drift,
            Err(_) => Outcome::Failed,
        };
        (report, done.err())
    }
}
