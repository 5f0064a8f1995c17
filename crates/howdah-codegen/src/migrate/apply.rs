//! A run: what is pending is applied, each step in a transaction together with its row of the table.

use std::time::Instant;

use super::compare::{StepState, compare, drift};
use super::session::{Session, SessionError};
use super::table::MigrationsTable;
use super::{DryRunStep, Event, History, MigrateError, Report, Settings};
use crate::bookkeeping::{REMEMBER, RESTORE};
use crate::diagnostic::{Code, Diagnostic};
use crate::project::block_text::{BlockText, refused};
use crate::project::migration::MigrationStep;
use crate::project::server_error::ServerError;

/// One run of a history on a database.
pub(super) struct Run<'r> {
    pub(super) history: &'r History,
    pub(super) session: &'r Session<'r>,
    pub(super) settings: &'r Settings,
}

impl Run<'_> {
    /// Applies what is pending, or tries it.
    pub(super) async fn apply(&self, report: &mut Report) -> Result<(), MigrateError> {
        self.named()?;
        self.begin().await?;
        let table = self.prepare(report).await?;
        let pending = report.pending();
        let steps = pending.iter().filter_map(|index| self.history.steps.get(*index)).collect::<Vec<_>>();
        self.session.notify(Event::Pending(&steps));
        if self.settings.dry_run {
            let tried = self.rehearse(&table, &pending, report).await;
            self.execute("ROLLBACK").await?;
            return tried;
        }
        self.commit().await?;
        // Another runner may be as busy as this one: what is next is asked each time.
        loop {
            self.begin().await?;
            let table = self.find().await?;
            self.compare(&table, report).await?;
            let Some(index) = report.pending().first().copied() else {
                self.execute("ROLLBACK").await?;
                return Ok(());
            };
            let Some(step) = self.history.steps.get(index) else { return Ok(()) };
            let since = Instant::now();
            if step.migration.no_transaction {
                self.alone(&table, (index, step)).await?;
            } else {
                self.statements(step).await?;
                self.record(&table, (index, step), Some(milliseconds(since))).await?;
                self.commit_step(step).await?;
            }
            report.applied(index, milliseconds(since));
            self.session.notify(Event::Applied(step, since.elapsed()));
        }
    }

    /// How the steps stand; nothing is changed and nobody is kept waiting.
    pub(super) async fn status(&self, report: &mut Report) -> Result<(), MigrateError> {
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let table = self.find().await?;
        let rows = table.history(self.session, &self.history.steps).await.map_err(|f| self.failed(f))?;
        self.execute("ROLLBACK").await?;
        report.entries = compare(&self.history.steps, &rows);
        let diagnostics = drift(&self.history.steps, &report.entries, &self.settings.allowed);
        if diagnostics.is_empty() { Ok(()) } else { Err(MigrateError::Drift(diagnostics)) }
    }

    /// Whether the settings name steps that are there.
    fn named(&self) -> Result<(), MigrateError> {
        let allowed = &self.settings.allowed;
        let unknown = allowed.accept.iter().chain(&allowed.retry).find(|id| self.step(id).is_none());
        let Some(id) = unknown else { return Ok(()) };
        let known = self.history.steps.iter().map(MigrationStep::id).collect::<Vec<_>>().join(", ");
        let error =
            ServerError::of(format!("there is no MIGRATE `{id}`"), Some(&format!("there are {known}")));
        Err(MigrateError::Usage(vec![*error.0]))
    }

    fn step(&self, id: &str) -> Option<(usize, &MigrationStep)> {
        self.history.steps.iter().enumerate().find(|(_, step)| step.id() == id)
    }

    /// Makes the table, takes SQG's rows and what the user says, and compares.
    async fn prepare(&self, report: &mut Report) -> Result<MigrationsTable, MigrateError> {
        let mut table = self.find().await?;
        let steps = &self.history.steps;
        let adopted = table.prepare(self.session, steps).await.map_err(|fault| self.failed(fault))?;
        let allowed = &self.settings.allowed;
        let accepted = allowed.accept.iter().filter_map(|id| self.step(id)).collect::<Vec<_>>();
        for (index, step) in &accepted {
            table.accept(self.session, (*index, step)).await.map_err(|fault| self.failed(fault))?;
        }
        for (_, step) in allowed.retry.iter().filter_map(|id| self.step(id)) {
            if table.forget(self.session, step).await.map_err(|fault| self.failed(fault))? == 0 {
                let error = step.error(Code::MigrationDrift, "it was not begun, or it came to its end");
                return Err(MigrateError::Usage(vec![error.help("leave --retry out")]));
            }
        }
        self.compare(&table, report).await?;
        if adopted > 0 {
            self.session.notify(Event::Adopted(adopted));
        }
        for (_, step) in accepted {
            self.session.notify(Event::Accepted(step));
        }
        Ok(table)
    }

    async fn find(&self) -> Result<MigrationsTable, MigrateError> {
        let project = &self.history.project;
        MigrationsTable::find(self.session, project).await.map_err(|fault| self.failed(fault))
    }

    async fn compare(&self, table: &MigrationsTable, report: &mut Report) -> Result<(), MigrateError> {
        let steps = &self.history.steps;
        let rows = table.history(self.session, steps).await.map_err(|fault| self.failed(fault))?;
        report.entries = compare(steps, &rows);
        let diagnostics = drift(steps, &report.entries, &self.settings.allowed);
        if diagnostics.is_empty() { Ok(()) } else { Err(MigrateError::Drift(diagnostics)) }
    }

    /// Tries steps in the open transaction, up to the first that cannot be in one.
    async fn rehearse(
        &self,
        table: &MigrationsTable,
        pending: &[usize],
        report: &mut Report,
    ) -> Result<(), MigrateError> {
        let alone =
            |index: &usize| self.history.steps.get(*index).is_some_and(|step| step.migration.no_transaction);
        let end = pending.iter().position(alone).unwrap_or(pending.len());
        let (tried, skipped) = pending.split_at(end);
        for index in tried {
            let Some(step) = self.history.steps.get(*index) else { continue };
            let since = Instant::now();
            self.statements(step).await?;
            self.record(table, (*index, step), Some(milliseconds(since))).await?;
            report.tried.push(DryRunStep { index: *index, duration_ms: Some(milliseconds(since)) });
            self.session.notify(Event::Tried(step, since.elapsed()));
        }
        for index in skipped {
            report.tried.push(DryRunStep { index: *index, duration_ms: None });
            if let Some(step) = self.history.steps.get(*index) {
                self.session.notify(Event::Skipped(step));
            }
        }
        Ok(())
    }

    /// Runs a step outside of a transaction: before it is remembered as begun, afterwards as done.
    async fn alone(
        &self,
        table: &MigrationsTable,
        (index, step): (usize, &MigrationStep),
    ) -> Result<(), MigrateError> {
        self.session.keep_lock().await.map_err(|fault| self.failed(fault))?;
        self.record(table, (index, step), None).await?;
        self.commit().await?;
        let since = Instant::now();
        self.statements(step).await.map_err(|failure| failure.interrupting(step))?;
        self.record(table, (index, step), Some(milliseconds(since)))
            .await
            .map_err(|failure| failure.interrupting(step))?;
        self.session.let_go().await.map_err(|fault| self.failed(fault))
    }

    /// Runs the statements of a step, and takes back what they set for those behind them.
    async fn statements(&self, step: &MigrationStep) -> Result<(), MigrateError> {
        let client = self.session.client();
        let rows = self.asked(client.query_typed(REMEMBER, &[])).await?;
        for pieces in step.block.statements() {
            let text = BlockText::new(&pieces, &[]);
            match self.session.run(client.execute(&text.sql, &[])).await {
                Ok(_) => {}
                Err(SessionError::Stopped) => return Err(MigrateError::Stopped(vec![])),
                Err(SessionError::Server(error)) => {
                    let mut error = text.refused(error, &step.block);
                    if error.suggestion.is_none() {
                        error.suggestion = advice(&error);
                    }
                    return Err(MigrateError::Refused(vec![error]));
                }
                Err(SessionError::Locked { lock, holders }) => {
                    let place = pieces.first().map_or_else(|| step.place(), |piece| piece.place_of(0));
                    let error = Diagnostic { place: Some(place), ..self.locked(step, &lock, &holders) };
                    return Err(MigrateError::Refused(vec![error]));
                }
            }
        }
        let Some(row) = rows.first() else { return Ok(()) };
        let text = |column| row.try_get::<_, String>(column).map_err(|error| self.failed(error.into()));
        let (role, path) = (text(0)?, text(1)?);
        let types = tokio_postgres::types::Type::TEXT;
        self.asked(client.query_typed(RESTORE, &[(&role, types.clone()), (&path, types)])).await.map(drop)
    }

    fn locked(&self, step: &MigrationStep, lock: &str, holders: &str) -> Diagnostic {
        let error = step.error(Code::SqlExecutionError, self.late(lock)).help(holders);
        Diagnostic { sqlstate: Some("55P03".to_owned()), ..error }
    }

    fn late(&self, lock: &str) -> String {
        let limit = self.settings.lock_timeout.unwrap_or_default().as_secs_f64();
        format!("{lock} was not to be had within {limit} s (--lock-timeout)")
    }

    async fn record(
        &self,
        table: &MigrationsTable,
        step: (usize, &MigrationStep),
        done: Option<i64>,
    ) -> Result<(), MigrateError> {
        table.record(self.session, step, done).await.map_err(|fault| match fault {
            SessionError::Server(error) => {
                MigrateError::Refused(vec![refused(error, step.1.place(), &step.1.block)])
            }
            fault => self.failed(fault),
        })
    }

    async fn begin(&self) -> Result<(), MigrateError> {
        self.session.begin().await.map_err(|fault| self.failed(fault))
    }

    async fn execute(&self, sql: &str) -> Result<(), MigrateError> {
        self.asked(self.session.client().batch_execute(sql)).await
    }

    async fn asked<T>(
        &self,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, MigrateError> {
        self.session.run(asked).await.map_err(|fault| self.failed(fault))
    }

    async fn commit(&self) -> Result<(), MigrateError> {
        // Not to be stopped: whoever gives a COMMIT up does not know what became of it.
        let done = self.session.client().batch_execute("COMMIT").await;
        done.map_err(|error| self.failed(error.into()))
    }

    /// Commits a step with its row. Constraints that were put off speak up only now.
    async fn commit_step(&self, step: &MigrationStep) -> Result<(), MigrateError> {
        let Err(error) = self.session.client().batch_execute("COMMIT").await else { return Ok(()) };
        if error.as_db_error().is_some() {
            return Err(MigrateError::Refused(vec![refused(error.into(), step.place(), &step.block)]));
        }
        let message = "whether it is applied is not known: the answer to COMMIT is lost";
        let error = step.error(Code::DatabaseError, message);
        Err(MigrateError::Unknown(vec![
            error.help("`howdah migrate status` says it as soon as the server answers"),
        ]))
    }

    /// What is not about a step.
    fn failed(&self, fault: SessionError) -> MigrateError {
        match fault {
            SessionError::Stopped => MigrateError::Stopped(vec![]),
            SessionError::Server(error) => MigrateError::Refused(vec![*ServerError::from(error).0]),
            SessionError::Locked { lock, holders } => {
                let mut error = ServerError::of(self.late(&lock), Some(&holders));
                error.0.sqlstate = Some("55P03".to_owned());
                MigrateError::Refused(vec![*error.0])
            }
        }
    }
}

impl MigrateError {
    /// What is to be known of a step without a transaction that was begun, and did not come to its end.
    fn interrupting(self, step: &MigrationStep) -> Self {
        let id = step.id();
        let message = "it has no transaction: what of it was done, stays, and it counts as begun";
        let help = format!(
            "look what of it is there (an invalid index?); take that back and --retry {id}, or --accept {id}"
        );
        let error = step.error(Code::MigrationDrift, message).help(help);
        match self {
            Self::Refused(mut all) => {
                all.push(error);
                Self::Refused(all)
            }
            Self::Stopped(mut all) => {
                all.push(error);
                Self::Stopped(all)
            }
            other => other,
        }
    }
}

/// What the server does not say about some refusals.
fn advice(error: &Diagnostic) -> Option<String> {
    (error.sqlstate.as_deref() == Some("25001"))
        .then(|| "write `:no_transaction` behind the step's name, and nothing else into the step".to_owned())
}

fn milliseconds(since: Instant) -> i64 {
    i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX)
}

impl Report {
    /// The steps that are to run, in order.
    pub(super) fn pending(&self) -> Vec<usize> {
        let pending = self.entries.iter().filter(|entry| entry.state == StepState::Pending);
        pending.filter_map(|entry| entry.step).collect()
    }
}
