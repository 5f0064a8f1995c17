//! The decision: connections, the place for the rows, the table and the plan, from everything that was found out.

mod arrow;
mod column_notes;
mod compression;
mod describe;
mod evolve;
mod existing;
pub(super) mod landing;
mod new_table;
mod off_the_log;
mod ranges;
mod rebuild;
mod redefine;
mod reject_file;
mod rights;
mod sort;
mod straight;
mod triggers;

use std::sync::Arc;

use howdah_message::{Message, setting};
use howdah_source::{Input, MorselSource};

use crate::catalog::table::Table;
use crate::error::Error;
use crate::load::{Circumstances, Load, OffTheLog, Setup};
use crate::options::{LoadOptions, Mode, OnError, Unlogged, WritePath};
use crate::plan::force;
use crate::plan::jobs::{self, Jobs};
use crate::plan::mapping::Mapping;
use crate::plan::{ColumnTypes, Judging, Plan, PlanRules};
use crate::publish::creation::{self, Creation};
use crate::publish::rebuild::Rebuild;
use crate::publish::replace::Replacement;
use crate::publish::replace::redefinition::Redefinition;
use crate::publish::staged::{Apply, Staging};
use crate::publish::strategy::{Content, Hidden, PublishStrategy};
use crate::send::write;
use landing::Landing;
use new_table::TypesFrom;

/// Where the rows go, which fields of theirs, and over how many connections.
struct Destination {
    /// The table, unless this load makes one.
    existing: Option<Table>,
    /// The table that this load makes is a landing table.
    landing: Option<Landing>,
    /// Rows wait beside the existing table until one statement applies them.
    staging: Option<Staging>,
    /// What is dropped and built again around the rows.
    rebuild: Option<Rebuild>,
    /// What is not logged before the rows are there.
    off_the_log: Option<OffTheLog>,
    mapping: Mapping,
    jobs: Jobs,
}

impl Load<'_> {
    /// Decides how the rows are carried, and changes nothing.
    pub(super) async fn decide(
        &mut self,
        existing: Option<Table>,
        found: Circumstances<'_>,
        morsels: &mut MorselSource,
    ) -> Result<Setup, Error> {
        let options = self.options;
        let Destination { existing, landing, staging, rebuild, off_the_log, mapping, jobs } =
            self.destination(existing, found).await?;
        let found = Circumstances { mapping: &mapping, ..found };
        let (creates, have_types) = (existing.is_none(), !matches!(morsels, MorselSource::Text(_)));
        let is_rewindable = found.inputs.iter().all(Input::is_rewindable);
        let types_from = TypesFrom::choose(!creates, landing.is_some(), have_types, is_rewindable);
        types_from.check(options)?;
        force::check(options, &mapping)?;
        if options.writing.write_path == WritePath::CopyCsv {
            write::check_passed_on(
                found.dialect,
                &mapping,
                staging.is_some(),
                types_from == TypesFrom::Stream,
            )?;
        }
        let rules = rules(options, found, types_from, staging.as_ref(), landing.as_ref());
        let mut otherwise = Redefinition::default();
        let (table, creation) = match existing {
            Some(mut table) => {
                otherwise = self.redefine(found, &mut table).await?;
                otherwise.added = found.added.cloned();
                (table, None)
            }
            None => {
                let name = landing.as_ref().map_or(found.name, |landing| &landing.name);
                let made = self.new_table(found, name, types_from, &rules, morsels, jobs.count).await?;
                if off_the_log.is_some() {
                    self.check_published(found.connection, &made.0).await?;
                }
                (made.0, Some(made.1))
            }
        };
        write::check_columns(options, &mapping, &table)?;
        let judged = staging.as_ref().map(|staging| staging.apply.judged(&table));
        let (plan, reason) = make_plan(found, judged.as_ref().unwrap_or(&table), &rules, morsels)?;
        self.say_fewer_rows(&plan);
        if landing.is_none() && types_from != TypesFrom::Stream {
            self.say_unreached(&plan, &table);
        }
        let strategy = match (staging, rebuild) {
            (Some(staging), _) => PublishStrategy::Staged(staging),
            (None, Some(rebuild)) => PublishStrategy::Rebuild(rebuild),
            (None, None) => self.strategy(found, &table, creation, &otherwise, jobs.count).await?,
        };
        let sort = self.sort(found, &table, &plan, &strategy).await?;
        if let Some(reason) = reason {
            self.control.notice(message!["rows travel as text, which the server parses: ", reason]);
        }
        // Rows that land are meant for the table that they are promoted into.
        let meant = landing.as_ref().map_or(&table, |landing| &landing.into);
        let rejects = self.reject_file(meant, &mapping, found.dialect, found.inputs)?;
        Ok(Setup {
            plan: Arc::new(plan),
            table,
            strategy,
            jobs,
            creates,
            server_version_num: found.session.version_num,
            server_is_utf8: found.session.encoding == "UTF8",
            rejects,
            landing,
            sort,
            triggers: found.triggers.cloned(),
            off_the_log,
            added: found.added.cloned(),
            commits: options.writing.write_path.commits_rows().then(Arc::default),
        })
    }

    /// Resolves where the rows go.
    async fn destination(
        &mut self,
        existing: Option<Table>,
        found: Circumstances<'_>,
    ) -> Result<Destination, Error> {
        let Circumstances { connection, session, mapping, .. } = found;
        let options = self.options;
        let (existing, landing) = match existing {
            Some(into) if options.writing.write_path == WritePath::Landing => {
                write::check_columns(options, mapping, &into)?;
                (None, Some(self.plan_landing(connection, session, into, mapping).await?))
            }
            existing => (existing, None),
        };
        let apply = match &existing {
            // INSERT obeys row-level security by itself.
            Some(_) if options.writing.write_path.commits_rows() => None,
            Some(table) => Apply::choose(connection, table, options, mapping).await?,
            None => None,
        };
        let mapping = apply.as_ref().map_or_else(|| mapping.clone(), |apply| apply.narrowed(mapping));
        if let Some(table) = &existing {
            self.check_rights(connection, table, &mapping, apply.as_ref()).await?;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let staged = apply.is_some();
        let choose = |altered| jobs::choose(options, existing.as_ref(), found.bytes, cores, staged, altered);
        let disabled = "triggers are disabled and enabled again in the load's transaction";
        let off_the_log = self.off_the_log(connection, existing.as_ref()).await?;
        let leaves = (off_the_log == Some(OffTheLog::Existing))
            .then_some("the table leaves the log and comes back to it in the load's transaction");
        let mut jobs = choose(leaves.or(found.triggers.map(|_| disabled)))?;
        // Staged rows come near the table only when all are there, and those of a replacement never.
        if found.added.is_some() && !staged && options.target.mode != Mode::Replace {
            jobs = Jobs::of_an_evolving_table(options);
        }
        let rebuild = match existing.as_ref().or(landing.as_ref().map(|landing| &landing.into)) {
            Some(table) => self.rebuild(found, table, jobs.count).await?,
            None => None,
        };
        if rebuild.is_some() {
            jobs = choose(Some("indexes are dropped and built again in the load's transaction"))?;
        }
        let staging = match (apply, &existing) {
            (Some(apply), Some(table)) => {
                let placing = Staging::place(connection, table, self.id, apply, &mapping, &mut jobs);
                let mut staging = placing.await?;
                if options.target.share {
                    let why =
                        format!(" needs rows that go straight into {}; here they wait ", table.display());
                    return Err(Error::usage(message![setting::SHARE.bool(true), why, staging.reason(1)]));
                }
                staging.applied_by = self.applied_by(found, table, &staging, jobs.count).await?;
                Some(staging)
            }
            _ => None,
        };
        Ok(Destination { existing, landing, staging, rebuild, off_the_log, mapping, jobs })
    }

    /// Says where statements take fewer rows than was asked for.
    fn say_fewer_rows(&self, plan: &Plan) {
        let asked = self.options.writing.rows_per_statement;
        if let Some(asked) = asked.filter(|asked| plan.sending.rows_per_statement < *asked) {
            self.control.notice(format!(
                "{} rows a statement instead of {asked}: {} with {} columns takes no more",
                plan.sending.rows_per_statement,
                self.options.writing.write_path.name(),
                plan.columns.len()
            ));
        }
    }

    /// How rows that are not staged become visible.
    async fn strategy(
        &self,
        found: Circumstances<'_>,
        table: &Table,
        creation: Option<Creation>,
        otherwise: &Redefinition,
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
                let unlogged = options.target.unlogged != Unlogged::No;
                let comment = creation::comment(found.inputs);
                let of = Replacement::read(found.connection, table, self.id, &comment, unlogged, otherwise)
                    .await?;
                if let Some(lost) = &of.lost_key {
                    self.control.notice(message![setting::KEY, " takes the place of {lost}"]);
                }
                let builds_first = options.tolerance.on_error == OnError::Ignore;
                let content = Content::Twin { of, builds_first };
                PublishStrategy::Hidden(Hidden::new(self.id, content))
            }
            (None, _) => PublishStrategy::Append,
        })
    }
}

/// What the plan depends on beside the types.
fn rules<'r>(
    options: &'r LoadOptions,
    found: Circumstances<'r>,
    types_from: TypesFrom,
    staging: Option<&'r Staging>,
    landing: Option<&'r Landing>,
) -> PlanRules<'r> {
    let Circumstances { session, inputs, .. } = found;
    let tolerates = options.tolerance.on_error == OnError::Ignore;
    PlanRules {
        options,
        session,
        types: if types_from == TypesFrom::Stream { ColumnTypes::Observed } else { ColumnTypes::Known },
        judging: if tolerates || options.target.dry_run {
            Judging::BeforeSending
        } else {
            Judging::OnArrival
        },
        had_types: inputs.iter().any(Input::had_types),
        ordinal: staging.map(Staging::ordinal),
        promoted_into: landing.map(|landing| &landing.into),
    }
}

/// The plan for rows of `table`, and why they travel as text although binary was asked for.
fn make_plan(
    found: Circumstances<'_>,
    table: &Table,
    rules: &PlanRules<'_>,
    morsels: &mut MorselSource,
) -> Result<(Plan, Option<Message>), Error> {
    let (mut plan, reason) = Plan::new(found.dialect.clone(), found.mapping, table, rules)?;
    match morsels {
        MorselSource::Text(_) => Ok((plan, reason)),
        MorselSource::Part(_) => Ok((plan, reason)),
        MorselSource::Rows(batches) => {
            plan.take_arrow(batches, rules.promoted_into.unwrap_or(table), rules.options)?;
            Ok((plan, reason))
        }
        MorselSource::Tuples(cutter) => {
            plan.take_tuples();
            cutter.get_mut().expect(plan.columns.len());
            Ok((plan, None))
        }
    }
}
