//! The decision as a report: what a person reads before the load, and a script after it.

use crate::catalog::session::SessionSettings;
use crate::load::{DisabledTriggers, Load, OffTheLog, Setup};
use crate::options::{Unlogged, WritePath};
use crate::plan::ColumnTypes;
use crate::plan::mapping::Mapping;
use crate::plan::row_form::RowForm;
use crate::publish::creation::Compression;
use crate::publish::off_the_log::{leave_sql, return_sql};
use crate::publish::rebuild::Rebuild;
use crate::publish::staged::AppliedBy;
use crate::publish::strategy::PublishStrategy;
use crate::report::{CopyFormat, DialectSummary, PlanSummary, PlannedColumn};
use crate::send::write;

impl Load<'_> {
    /// Puts the plan and what follows from it into the report.
    pub(in crate::load) fn describe(
        &mut self,
        session: &SessionSettings,
        decision: &Setup,
        mapping: &Mapping,
        dialect: DialectSummary,
    ) {
        let Setup { plan, table, strategy, jobs, creates, triggers, added, .. } = decision;
        let mut statements = self.statements(decision);
        // A landing table is on the way only.
        let (is_new, target) = match &decision.landing {
            Some(landing) => (false, &landing.into),
            None => (*creates, table),
        };
        if self.options.target.analyze {
            statements.push(format!("ANALYZE {}", target.sql()));
        }
        let planned = |name: &String| plan.columns.iter().any(|column| column.name == *name);
        let unfilled = target.columns.iter().filter(|column| !planned(&column.name));
        let form = match plan.sending.form {
            _ if plan.sending.write_path == WritePath::CopyCsv => CopyFormat::Csv,
            RowForm::Binary => CopyFormat::Binary,
            _ => CopyFormat::Text,
        };
        let creation = strategy.creation().filter(|_| is_new);
        let report = &mut self.report;
        report.table = target.display();
        report.jobs = jobs.count;
        report.jobs_reason.clone_from(&jobs.reason);
        report.write_path = Some(match plan.sending.write_path {
            WritePath::CopyBinary if plan.sending.form == RowForm::Text => WritePath::CopyText,
            path => path,
        });
        report.copy_format = Some(form);
        let is_logged = self.options.target.unlogged != Unlogged::Yes && (is_new || target.is_logged);
        report.durability = Some(session.durability(is_logged));
        report.plan = Some(PlanSummary {
            table: target.display(),
            creates_table: is_new,
            dialect,
            header: mapping.decision.to_string(),
            columns: plan
                .columns
                .iter()
                .map(|column| PlannedColumn {
                    source: column.source.clone(),
                    target: column.name.clone(),
                    r#type: if plan.types == ColumnTypes::Observed && !column.is_declared {
                        "found while loading".into()
                    } else {
                        let of_target = target.columns.iter().find(|found| found.name == column.name);
                        of_target.map_or(&column.type_name, |found| &found.type_name).clone()
                    },
                    form,
                    because: self.because.iter().find(|of| of.0 == column.name).map(|of| of.1.clone()),
                })
                .collect(),
            unfilled: unfilled
                .map(|column| {
                    let gets = match (column.generated, column.has_default) {
                        (true, _) => "generated",
                        (_, true) => "its default",
                        _ => "NULL",
                    };
                    format!("{}: {gets}", column.name)
                })
                .collect(),
            staging: match strategy {
                PublishStrategy::Staged(staging) => Some(staging.reason(jobs.count)),
                _ => None,
            },
            rebuilt: strategy.rebuild().map(Rebuild::names).unwrap_or_default(),
            rebuild_gain: self.rebuild_gain,
            compression: creation
                .and_then(|creation| creation.compression.as_ref())
                .map(Compression::message),
            disabled_triggers: triggers.as_ref().map(DisabledTriggers::planned_names).unwrap_or_default(),
            sort: decision.sort.keys().iter().map(|key| key.index.clone()).collect(),
            alter_table: added.as_ref().map(|added| added.sql(&table.sql())),
            create_table: creation.map(|creation| creation.script(table)),
            statements,
        });
    }

    /// The statements of the load, in order.
    fn statements(&self, decision: &Setup) -> Vec<String> {
        let Setup { plan, table, strategy, triggers, .. } = decision;
        let (_, relation) = strategy.relation(table);
        let mut statements = Vec::new();
        if let Some(rebuild) = strategy.rebuild() {
            statements.push(rebuild.lock_sql().to_owned());
        }
        statements.extend(self.options.target.before.iter().cloned());
        let is_staged = matches!(strategy, PublishStrategy::Staged(_));
        let (disable, enable) = triggers.as_ref().map(DisabledTriggers::planned_sql).unwrap_or_default();
        let (at_first, at_last) = if is_staged { (vec![], disable) } else { (disable, vec![]) };
        statements.extend(at_first);
        statements.extend(strategy.before(table));
        let leaves = decision.off_the_log.filter(|of| *of == OffTheLog::Existing);
        let alter = decision.adding_sql().into_iter().chain(leaves.map(|_| leave_sql(&table.sql())));
        let alter: Vec<String> = alter.collect();
        let (alter_first, alter_last) = if is_staged { (vec![], alter) } else { (alter, vec![]) };
        statements.extend(alter_first);
        let mut after = strategy.after(table);
        if decision.off_the_log.is_some() {
            // Before what is built, and behind what applies rows to the table.
            let (relation, at) = if is_staged { (table.sql(), after.len()) } else { (relation.clone(), 0) };
            after.insert(at, return_sql(&relation));
        }
        if matches!(strategy, PublishStrategy::Staged(staging) if matches!(staging.applied_by, AppliedBy::Ranges(_)))
        {
            after
                .iter_mut()
                .for_each(|sql| sql.push_str(" -- over each connection, for its range of the keys"));
        }
        let insert = write::planned_sql(plan, &relation);
        if decision.commits.is_some() {
            statements.extend(after);
            statements.push(format!("{insert} -- once a row, and each commits"));
        } else {
            statements.push(insert);
            statements.extend(at_last);
            statements.extend(alter_last);
            statements.extend(after);
        }
        statements.extend(enable);
        statements.extend(strategy.publish());
        if strategy.replacement().is_some() {
            statements
                .push("-- REVOKE and GRANT, where the rights are not yet those of the old table".to_owned());
        }
        if let Some(landing) = &decision.landing {
            statements.extend(landing.promotion.planned_sql());
        }
        statements.extend(self.options.target.after.iter().cloned());
        statements
    }
}
