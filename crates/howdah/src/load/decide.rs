//! The decision: connections, landing place, types of a new table and the plan, from everything that was found out.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use howdah_connect::Connection;
use howdah_encode::TypeShape;
use howdah_message::setting;
use howdah_source::{Dialect, Input, MorselSource};

use super::batches::created_types;
use super::{Decision, Load, keys};
use crate::catalog::inferred_type::InferredType;
use crate::catalog::name::TableName;
use crate::catalog::session::Session;
use crate::catalog::table::{self, Column, Hazards, Kind, Table};
use crate::control::Phase;
use crate::error::Error;
use crate::infer::columns;
use crate::infer::lattice::ColumnLattice;
use crate::options::{Mode, OnError, WritePath};
use crate::plan::declared;
use crate::plan::force;
use crate::plan::jobs;
use crate::plan::mapping::{Mapping, Pair};
use crate::plan::{FormRules, Plan};
use crate::publish::creation::{self, Creation, Findings};
use crate::publish::replace::Replacement;
use crate::publish::staged::{Apply, Staging};
use crate::publish::strategy::{Content, Hidden, PublishStrategy};
use crate::read::queue;
use crate::send::write;

/// What was found out about the server and the input before anything is decided.
pub(super) struct Circumstances<'a> {
    pub(super) session: &'a Session,
    /// The table that is there already.
    pub(super) existing: Option<Table>,
    /// The table as the caller names it.
    pub(super) name: &'a TableName,
    pub(super) inputs: &'a [Input],
    pub(super) dialect: &'a Arc<Dialect>,
    pub(super) mapping: &'a Mapping,
    /// Of all inputs; `None`: nobody knows.
    pub(super) bytes: Option<u64>,
}

impl Load<'_> {
    /// Decides how the rows are carried, and changes nothing.
    pub(super) async fn decide(
        &mut self,
        connection: &Arc<Connection>,
        found: Circumstances<'_>,
        morsels: &mut MorselSource,
    ) -> Result<Decision, Error> {
        let Circumstances { session, existing, name, inputs, dialect, mapping, bytes: sizes } = found;
        let options = self.options;
        let (existing, landed) = match existing {
            Some(into) if options.writing.write_path == WritePath::Landing => {
                write::check_columns(options, mapping, &into)?;
                (None, Some(self.landed(connection, session, into, mapping).await?))
            }
            existing => (existing, None),
        };
        let name = landed.as_ref().map_or(name, |landed| &landed.name);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let apply = match &existing {
            // INSERT obeys row-level security by itself.
            Some(_) if options.writing.write_path.commits_rows() => None,
            Some(table) => Apply::choose(connection, table, options, mapping).await?,
            None => None,
        };
        let mapping = &apply.as_ref().map_or_else(|| mapping.clone(), |apply| apply.narrowed(mapping));
        if let Some(table) = &existing {
            self.check_rights(connection, table, mapping, apply.as_ref()).await?;
        }
        let mut jobs = jobs::choose(options, existing.as_ref(), sizes, cores, apply.is_some())?;
        let staging = match (apply, &existing) {
            (Some(apply), Some(table)) => {
                Some(Staging::place(connection, table, self.id, apply, mapping, &mut jobs).await?)
            }
            _ => None,
        };
        let has_types = !matches!(morsels, MorselSource::Text(_));
        let observe =
            existing.is_none() && landed.is_none() && !has_types && !inputs.iter().all(Input::is_rewindable);
        if observe && options.writing.freeze {
            return Err(Error::usage(message![
                setting::FREEZE,
                " into a new table needs a file: the types of a stream are known only at its end"
            ]));
        }
        if observe && (options.input.decimal_comma || options.input.date_format.is_some()) {
            let option = if options.input.decimal_comma {
                setting::DECIMAL.word(",")
            } else {
                setting::DATE_FORMAT.into()
            };
            return Err(Error::usage(message![
                option,
                " into a new table needs a file: the types of a stream are known only at its end"
            ])
            .with_hint("make the table first, or save the stream to a file"));
        }
        if observe && options.writing.write_path.commits_rows() {
            return Err(Error::usage(message![
                setting::WRITE_PATH.word(options.writing.write_path.name()),
                " into a new table needs a file: the types of a stream are known only at its end"
            ])
            .with_hint("make the table first, or save the stream to a file"));
        }
        force::check(options, mapping)?;
        if options.writing.write_path == WritePath::CopyCsv {
            write::check_passed_on(mapping, staging.is_some(), observe)?;
        }
        let rules = FormRules {
            options,
            write_path: options.writing.write_path,
            session: &session.rules,
            server_encoding: &session.encoding,
            server_version_num: session.version_num,
            freeze: options.writing.freeze,
            observe,
            keep_rejects: options.tolerance.on_error == OnError::Ignore,
            judge: options.tolerance.on_error == OnError::Ignore || options.target.dry_run,
            on_nul: options.tolerance.on_nul,
            decimal_comma: options.input.decimal_comma,
            had_types: inputs.iter().any(Input::had_types),
            ordinal: staging.as_ref().map(Staging::ordinal),
            date_format: options.input.date_format.as_ref(),
            promoted_into: landed.as_ref().map(|landed| &landed.into),
        };
        let creates = existing.is_none();
        let (table, creation) = match existing {
            Some(mut table) => {
                declared::apply(connection, &mut table, false, &options.columns.types, &session.rules)
                    .await?;
                (table, None)
            }
            None => {
                let (schema, with_schema) =
                    table::creation_schema(connection, name, options.target.create_schema).await?;
                self.check_creation(connection, &schema, with_schema).await?;
                let mut creation = Creation::new(options, mapping, inputs, with_schema, observe)?;
                let mut table = new_table(schema, name, mapping, &creation, !options.target.unlogged);
                if landed.is_none() {
                    let mut types = declared::of_new_table(options, mapping);
                    if let MorselSource::Rows(batches) = morsels {
                        types.extend(created_types(batches, mapping, &types)?);
                    }
                    declared::apply(connection, &mut table, true, &types, &session.rules).await?;
                }
                if !observe && !has_types && landed.is_none() {
                    creation.findings =
                        self.infer(&mut table, inputs, dialect, mapping, &rules, jobs.count).await?;
                }
                (table, Some(creation))
            }
        };
        write::check_columns(options, mapping, &table)?;
        let judged = staging.as_ref().map(|staging| staging.apply.judged(&table));
        let judged = judged.as_ref().unwrap_or(&table);
        let (mut plan, mut reason) = Plan::new(dialect.clone(), mapping, judged, &rules)?;
        match morsels {
            MorselSource::Text(_) => {}
            MorselSource::Rows(batches) => {
                let typed = landed.as_ref().map_or(judged, |landed| &landed.into);
                plan.take_arrow(batches, typed, options)?;
            }
            MorselSource::Tuples(cutter) => {
                plan.take_tuples();
                cutter.get_mut().unwrap_or_else(PoisonError::into_inner).expect(plan.columns.len());
                reason = None;
            }
        }
        if let Some(asked) =
            options.writing.rows_per_statement.filter(|asked| plan.rows_per_statement < *asked)
        {
            self.control.notice(format!(
                "{} rows a statement instead of {asked}: {} with {} columns takes no more",
                plan.rows_per_statement,
                options.writing.write_path.name(),
                plan.columns.len()
            ));
        }
        let landing = match staging {
            Some(staging) => PublishStrategy::Staged(staging),
            None => self.landing(connection, &table, creation, inputs, jobs.count).await?,
        };
        if let Some(reason) = reason {
            self.control.notice(message!["rows travel as text, which the server parses: ", reason]);
        }
        // Rows that land are meant for the table that they are promoted into.
        let meant = landed.as_ref().map_or(&table, |landed| &landed.into);
        let rejects = self.reject_file(meant, mapping, dialect, inputs)?;
        Ok(Decision {
            plan: Arc::new(plan),
            table,
            landing,
            jobs,
            creates,
            server_version_num: session.version_num,
            server_is_utf8: session.encoding == "UTF8",
            rejects,
            landed,
            commits: options.writing.write_path.commits_rows().then(Arc::default),
        })
    }

    async fn landing(
        &self,
        connection: &Connection,
        table: &Table,
        creation: Option<Creation>,
        inputs: &[Input],
        jobs: usize,
    ) -> Result<PublishStrategy, Error> {
        let options = self.options;
        Ok(match (creation, options.target.mode) {
            (Some(creation), _) if jobs == 1 || options.writing.write_path.commits_rows() => {
                PublishStrategy::Create(creation)
            }
            (Some(creation), _) => PublishStrategy::Hidden(Hidden::new(self.id, Content::New(creation))),
            (None, Mode::Truncate) => PublishStrategy::Truncate,
            (None, Mode::Replace) => {
                let (comment, unlogged) = (creation::comment(inputs), options.target.unlogged);
                let of = Replacement::read(connection, table, self.id, &comment, unlogged).await?;
                let builds_first = options.tolerance.on_error == OnError::Ignore;
                let content = Content::Twin { of, builds_first };
                PublishStrategy::Hidden(Hidden::new(self.id, content))
            }
            (None, _) => PublishStrategy::Append,
        })
    }

    /// Gives the columns of a new table the types that fit every value of the whole input; tells what else it saw.
    async fn infer(
        &mut self,
        table: &mut Table,
        inputs: &[Input],
        dialect: &Arc<Dialect>,
        mapping: &Mapping,
        rules: &FormRules<'_>,
        threads: usize,
    ) -> Result<Findings, Error> {
        if let Some(seen) = mapping.keys.as_ref().and_then(|keys| keys.seen.as_ref()) {
            return Ok(keys::settle(table, mapping, seen));
        }
        let start = Instant::now();
        self.control.enter(Phase::Inferring);
        let peeked = self.control.snapshot().bytes_read;
        self.control.rewind_to(0);
        let (plan, _) = Plan::new(dialect.clone(), mapping, table, rules)?;
        let plan = Arc::new(plan);
        let cutter = self.cutter(inputs, dialect, mapping.header.is_some());
        let (control, names) = (self.control.clone(), plan.clone());
        let work = move || columns::infer(cutter, &names, threads, &control);
        let (lattices, ascends) = queue::off_thread(self.control, work).await??;
        self.hint_null_markers(&plan, &lattices);
        self.say_what_keeps(&plan, &lattices);
        let mut findings = Findings::default();
        for (planned, lattice) in plan.columns.iter().zip(&lattices) {
            let inferred = |column: &&mut Column| column.name == planned.name && !column.is_declared;
            if let Some(column) = table.columns.iter_mut().find(inferred) {
                column.infer(lattice.decide());
            }
            if lattice.never_null() {
                findings.never_null.push(planned.name.clone());
            }
        }
        findings.ascending = plan.columns.first().filter(|_| ascends).map(|column| column.name.clone());
        self.control.rewind_to(peeked);
        self.control.enter(Phase::Planning);
        self.report.phases.infer_s = start.elapsed().as_secs_f64();
        Ok(findings)
    }

    /// Says of every column of text that would have a narrower type but for few values what these are, and keeps it for the
    /// report.
    pub(super) fn say_what_keeps(&mut self, plan: &Plan, lattices: &[ColumnLattice]) {
        let is_one_input = self.inputs.len() == 1;
        for (column, lattice) in plan.columns.iter().zip(lattices).filter(|(column, _)| !column.is_declared) {
            // Markers that are frequent are said already, with what to do.
            let Some(kept) = lattice.kept_from().filter(|_| lattice.null_markers().is_none()) else {
                continue;
            };
            let because = kept.message(&column.name, is_one_input);
            self.control.notice(because.clone());
            self.because.push((column.name.clone(), because));
        }
    }

    pub(super) fn hint_null_markers(&self, plan: &Plan, lattices: &[ColumnLattice]) {
        for (column, lattice) in plan.columns.iter().zip(lattices) {
            if let Some((marker, share)) = lattice.null_markers() {
                let (percent, name) = (share * 100.0, &column.name);
                self.control.notice(message![
                    "{percent:.0} % of column {name:?} are exactly {marker}: if that means NULL, add ",
                    setting::NULL.text(marker)
                ]);
            }
        }
    }
}

fn new_table(
    schema: String,
    name: &TableName,
    mapping: &Mapping,
    creation: &Creation,
    is_logged: bool,
) -> Table {
    let column = |pair: &Pair| Column {
        name: pair.target.clone(),
        type_name: InferredType::Text.sql().to_owned(),
        shape: TypeShape::Base { oid: InferredType::Text.oid() },
        typmod: -1,
        base_type: (InferredType::Text.oid(), -1),
        not_null: creation.is_key(&pair.target),
        not_null_domain: None,
        generated: false,
        has_default: false,
        is_declared: pair.is_file_name,
    };
    Table {
        oid: 0,
        schema,
        name: name.table.clone(),
        kind: Kind::Table,
        is_logged,
        columns: mapping.pairs.iter().map(column).collect(),
        hazards: Hazards::default(),
        can_refuse_rows: creation.has_key_first() || mapping.pairs.len() > table::WIDE,
        has_row_triggers: false,
        row_security: false,
    }
}
