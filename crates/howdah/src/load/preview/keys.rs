//! The keys of JSON records, which take the place of a header: those of the first piece, or of the whole input.

use std::sync::Arc;
use std::time::Instant;

use howdah_message::setting;
use howdah_source::{Dialect, Input};

use crate::catalog::table::{Column, Table};
use crate::control::Phase;
use crate::error::Error;
use crate::infer::json_keys::{self, KeyQuestion, KeyScan};
use crate::load::Load;
use crate::options::{LoadOptions, OnError};
use crate::plan::columns::{are_names, find_column, mapped};
use crate::plan::header::Head;
use crate::plan::keys::SeenKeys;
use crate::plan::mapping::{self};
use crate::read::queue;

impl Load<'_> {
    /// The head with the keys to load. A new table's are those of the whole input, with their types. So are an existing
    /// table's, unless the first piece fills all of its columns: then every other key is a stranger. A stream cannot be
    /// looked at first: there the keys of the first piece count, and columns that are NULL without a value anyway. Columns that
    /// a table is to get are like those of a new one.
    pub(super) async fn scan_keys(
        &mut self,
        inputs: &[Input],
        dialect: &Arc<Dialect>,
        head: Head,
        existing: Option<&Table>,
    ) -> Result<Head, Error> {
        let options = self.options;
        let is_rewindable = inputs.iter().all(Input::is_rewindable);
        let evolves = options.target.evolve && existing.is_some();
        if let Some(columns) =
            options.columns.column_list.as_ref().filter(|_| existing.is_some() && !evolves || !is_rewindable)
        {
            return Ok(head.with_names(columns.clone()));
        }
        // A record with a stranger is then a bad one, and others need not suffer.
        let known = |names: Vec<String>| match existing {
            Some(table) if options.tolerance.on_error == OnError::Ignore && !evolves => {
                known(names, table, options)
            }
            _ => names,
        };
        let names = known(head.first.clone());
        let head = head.with_names(names);
        let unfilled = existing.map(|table| mapping::unfilled(table, &head.first, options));
        match unfilled {
            Some(unfilled) if unfilled.is_empty() && !evolves => Ok(head),
            None if !is_rewindable => Ok(head),
            Some(unfilled) if !is_rewindable => {
                let adds_nulls = options.target.mode.inserts() && !options.target.mode.matches_rows();
                let is_null_anyway = |column: &&&Column| {
                    adds_nulls && !column.not_null && column.not_null_domain.is_none() && !column.has_default
                };
                let more = unfilled.iter().filter(is_null_anyway).map(|column| column.name.clone());
                let names = head.first.iter().cloned().chain(more).collect();
                Ok(head.with_names(names))
            }
            _ => {
                let question = match existing {
                    Some(_) if !evolves => KeyQuestion::about_names(dialect, options, existing, false),
                    _ => KeyQuestion::about_types(dialect, options, existing, head.first.first()),
                };
                let seen = self.look_through(inputs, dialect, &question).await?;
                let is_there = |name: &str| {
                    let name = mapped(name, options);
                    existing
                        .is_some_and(|table| find_column(table, name, options.columns.column_names).is_some())
                };
                let is_unseen = |column: &&String| !seen.names.contains(column) && !is_there(column);
                if let Some(column) = options.columns.column_list.iter().flatten().find(is_unseen) {
                    return Err(Error::usage(message![
                        setting::COLUMNS,
                        " names {column:?}, which no record has"
                    ])
                    .with_hint(message![
                        "keys are spelled as in the input: ",
                        setting::COLUMNS.texts(&["a", "b c"])
                    ]));
                }
                let head = head.with_paths(seen.paths.clone());
                let head = match existing {
                    // Nothing to go by, and nothing to load, or records without a value.
                    Some(table) if seen.names.is_empty() => {
                        let all = mapping::unfilled(table, &[], options);
                        return Ok(head.with_names(all.iter().map(|column| column.name.clone()).collect()));
                    }
                    Some(_) if !evolves => head,
                    _ => head.with_types(seen.clone()),
                };
                let listed = options.columns.column_list.clone().filter(|_| evolves);
                Ok(head.with_names(listed.unwrap_or_else(|| known(seen.names))))
            }
        }
    }

    /// Reads the whole input.
    async fn look_through(
        &mut self,
        inputs: &[Input],
        dialect: &Arc<Dialect>,
        question: &Arc<KeyQuestion>,
    ) -> Result<SeenKeys, Error> {
        let start = Instant::now();
        self.control.enter(Phase::Inferring);
        let peeked = self.control.snapshot().bytes_read;
        self.control.rewind_to(0);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.options.writing.jobs.unwrap_or(cores).clamp(1, cores);
        let parts = (0..threads).map(|_| KeyScan::new(question.clone())).collect();
        let (cutter, control) = (self.cutter(inputs, dialect, false), self.control.clone());
        let work = move || json_keys::conclude(queue::show(cutter, parts, &control, KeyScan::see)?);
        let seen = queue::off_thread(self.control, work).await??;
        self.control.rewind_to(peeked);
        self.control.enter(Phase::Planning);
        self.report.phases.infer_s = start.elapsed().as_secs_f64();
        Ok(seen)
    }
}

/// The names of columns among `names`; where there is none of them, all are wrong.
fn known(names: Vec<String>, table: &Table, options: &LoadOptions) -> Vec<String> {
    let are_known = are_names(&names, table, options);
    let known = names.iter().zip(are_known).filter(|(_, is_known)| *is_known);
    let known: Vec<String> = known.map(|(name, _)| name.clone()).collect();
    if known.is_empty() { names } else { known }
}
