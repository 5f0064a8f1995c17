//! How many rows a statement brings, and in how many shapes.

use std::collections::BTreeMap;

use howdah::facts::{ConflictAction, StatementFacts, UpdateFacts};

use super::commits::{COMMITS, commits};
use super::{OFTEN, calls, costs, each, nothing, of_one_row, sent, with_texts};
use super::{shape, shown, updates};
use crate::case::Case;
use crate::figures::{count, rate};
use crate::finding::{Finding, Remedy};
use crate::remedies::in_program;
use crate::sql;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

/// More shapes of one statement are many.
const SHAPES: usize = 20;
/// Fewer updates a second cost little.
const UPDATES: f64 = 100.0;
/// The share of updates that touch no index where all is well.
const HOT: f64 = 0.5;

pub(super) fn one_row_statements(case: &Case<'_>) -> Judged {
    let (programs, sent) = sent(case)?;
    let statements = of_one_row(sent);
    let came = each(programs, calls(&statements));
    if came <= OFTEN {
        return Ok(nothing(case, sent));
    }
    let commits = commits(case)?;
    if commits > COMMITS * came {
        // Then commits are what costs most.
        return Ok(Verdict::DoesNotApply);
    }
    let finding = costs("statements bring one row each").seen(format!(
        "{} statements a second bring a row each at most, in {} transactions a second",
        rate(came),
        rate(commits)
    ));
    let mut finding = with_texts(finding, &statements);
    let returning: Vec<&StatementFacts> =
        statements.iter().filter(|statement| statement.said.returns).copied().collect();
    if !returning.is_empty() {
        let share = calls(&returning) / calls(&statements) * 100.0;
        finding = finding
            .seen(format!("{share:.0} % of them have RETURNING, which is why programs send one at a time"))
            .remedy(in_program(
                "INSERT … SELECT … FROM unnest($1::…[], …) WITH ORDINALITY ORDER BY ordinality RETURNING … gives back what \
                 was made for many rows; or make the keys in the program (UUIDs of version 7)",
                "the program is changed",
            ));
    }
    let finding = finding.remedy(in_program(
        "COPY, or INSERT … SELECT * FROM unnest($1::…[], …), for some hundred rows at once, as howdah's bulk writer does; \
         of JDBC's batches reWriteBatchedInserts=true makes statements of many rows",
        "the program is changed; a row waits for the others of its batch",
    ));
    Ok(Verdict::of(vec![finding]))
}

pub(super) fn values_shapes(case: &Case<'_>) -> Judged {
    let (_, sent) = sent(case)?;
    let mut shapes: BTreeMap<String, Vec<&StatementFacts>> = BTreeMap::new();
    for statement in sent.statements.iter().filter(|statement| statement.said.tuples > 0) {
        if let Some(text) = &statement.said.text {
            shapes.entry(shape(text)).or_default().push(statement);
        }
    }
    let many = shapes.into_values().filter(|alike| alike.len() > SHAPES).map(|alike| {
        let tuples = || alike.iter().map(|statement| f64::from(statement.said.tuples));
        let (least, most) = (tuples().fold(f64::MAX, f64::min), tuples().fold(0.0, f64::max));
        let finding = costs(format!("one statement comes in {} shapes", alike.len()))
            .seen(format!("with {} to {} rows of VALUES: {}", count(least), count(most), shown(alike[0])));
        let finding = match sent.forgotten {
            Some(forgotten) if forgotten > 0.0 => {
                finding.seen(format!("pg_stat_statements forgot {} statements meanwhile", count(forgotten)))
            }
            _ => finding,
        };
        finding.remedy(in_program(
            "INSERT … SELECT * FROM unnest($1::…[], …) has one text for any number of rows, and can be prepared; COPY has \
             none to plan",
            "the program is changed",
        ))
    });
    let many: Vec<Finding> = many.collect();
    if many.is_empty() { Ok(nothing(case, sent)) } else { Ok(Verdict::of(many)) }
}

pub(super) fn upsert_rewrites(case: &Case<'_>) -> Judged {
    let (programs, sent) = sent(case)?;
    let upserts: Vec<&StatementFacts> = sent.statements.iter().filter(|it| updates(it)).collect();
    if upserts.is_empty() {
        return Ok(nothing(case, sent));
    }
    let tables = case.see(&programs.updates, "how many rows are updated")?;
    let rewritten = tables.iter().filter_map(|updated| {
        let upsert = upserts.iter().find(|it| is_of(it, updated))?;
        let hot = updated.hot / updated.rows.max(1.0);
        (each(programs, updated.rows) > UPDATES && hot < HOT)
            .then(|| rewrites(each(programs, updated.rows), hot, updated, upsert))
    });
    Ok(Verdict::of(rewritten.collect()))
}

fn is_of(statement: &StatementFacts, updated: &UpdateFacts) -> bool {
    let said = &statement.said;
    said.table == updated.table && said.schema.as_ref().is_none_or(|schema| *schema == updated.schema)
}

fn rewrites(a_second: f64, hot: f64, updated: &UpdateFacts, upsert: &StatementFacts) -> Finding {
    let name = sql::qualified(&updated.schema, &updated.table);
    let mut finding = costs(format!("upserts into {name} write index entries anew"))
        .seen(format!(
            "{} rows of it updated a second, {:.0} % of them without touching an index",
            rate(a_second),
            hot * 100.0
        ))
        .seen(format!("{} times: {}", count(upsert.calls), shown(upsert)));
    if upsert.said.on_conflict == ConflictAction::DoUpdate {
        finding = finding.remedy(in_program(
            "… DO UPDATE SET … WHERE (t.a, t.b) IS DISTINCT FROM (excluded.a, excluded.b) leaves rows alone that are equal",
            "columns are compared; RETURNING gives back no row that is left alone",
        ));
    }
    let undo = match updated.fillfactor {
        Some(fillfactor) => {
            Undo::sql(format!("ALTER TABLE {name} SET (fillfactor = {});", count(fillfactor)))
        }
        None => Undo::sql(format!("ALTER TABLE {name} RESET (fillfactor);")),
    };
    // Partitions have their own, and less than this leaves much empty.
    if updated.is_partitioned || updated.fillfactor.is_some_and(|fillfactor| fillfactor <= 85.0) {
        return finding.remedy(in_program(
            "no index on a column that changes with each upsert; on partitions a fillfactor of 85",
            "queries that use the index are slower",
        ));
    }
    finding.remedy(
        Remedy::sql(
            [format!("ALTER TABLE {name} SET (fillfactor = 85);")],
            undo,
            "new pages are left empty by 15 %, and the table gets so much larger; helps where no indexed column changes",
        )
        .needs("its owner"),
    )
}

#[cfg(test)]
mod tests {
    use howdah::facts::{DatabaseFacts, Fact, SentFacts, StatementKind};

    use super::super::testing::{insert, programs, sends, statement};
    use super::*;
    use crate::case::Ask;
    use crate::testing::{fine, found, hidden, statements, unseen, verdict_for};

    fn database(commits: f64, writing: f64) -> DatabaseFacts {
        DatabaseFacts { commits, writing, ..DatabaseFacts::default() }
    }

    #[test]
    fn one_row_a_statement_is_found_with_its_reason() {
        let with = |text: &'static str, calls: f64, rows: f64| {
            sends(vec![statement(text, calls, rows)], database(30.0, 30.0))
        };
        let finding =
            found("app.one-row-statements", with("INSERT INTO t VALUES ($1) RETURNING id", 600.0, 600.0));
        assert_eq!(
            finding.evidence[0],
            "60 statements a second bring a row each at most, in 3 transactions a second"
        );
        assert!(finding.evidence[2].starts_with("100 % of them have RETURNING"), "{finding:?}");
        assert_eq!(finding.remedies.len(), 2);
        let finding = found("app.one-row-statements", with("COPY t FROM STDIN", 600.0, 600.0));
        assert_eq!((finding.evidence.len(), finding.remedies.len()), (2, 1));
        fine("app.one-row-statements", with("INSERT INTO t VALUES ($1)", 600.0, 60_000.0));
        fine("app.one-row-statements", with("INSERT INTO t VALUES ($1)", 490.0, 490.0));
        fine("app.one-row-statements", with("SELECT a FROM t WHERE a = $1", 6000.0, 6000.0));
        fine("app.one-row-statements", sends(vec![insert(600.0, 600.0)], database(600.0, 600.0)));
    }

    #[test]
    fn many_shapes_of_one_statement_are_found_and_different_statements_are_not() {
        let shapes = |most: u32, table: fn(u32) -> String| {
            let of = |n| {
                let rows: Vec<String> = (1..=n).map(|at| format!("(${at})")).collect();
                let text =
                    format!("INSERT INTO {} VALUES {} ON CONFLICT DO NOTHING", table(n), rows.join(", "));
                statement(&text, 1.0, f64::from(n))
            };
            sends((1..=most).map(of).collect(), database(0.0, 0.0))
        };
        let finding = found("app.values-shapes", shapes(21, |_| "t".into()));
        assert_eq!(finding.title, "one statement comes in 21 shapes");
        assert_eq!(
            finding.evidence,
            ["with 1 to 21 rows of VALUES: INSERT INTO t VALUES ($1) ON CONFLICT DO NOTHING"]
        );
        fine("app.values-shapes", shapes(20, |_| "t".into()));
        // One of its shapes has one row, and that is the same statement.
        fine("app.one-row-statements", |facts| {
            shapes(21, |_| "t".into())(facts);
            let Fact::Seen(sent) = &mut programs(facts).statements else { panic!() };
            for statement in &mut sent.statements {
                (statement.calls, statement.rows) = (statement.calls * 1e4, statement.rows * 1e4);
            }
        });
        fine("app.values-shapes", shapes(40, |n| format!("t{n}")));
        let finding = found("app.values-shapes", |facts| {
            shapes(21, |_| "t".into())(facts);
            let Fact::Seen(sent) = &mut programs(facts).statements else { panic!() };
            sent.forgotten = Some(70.0);
        });
        assert_eq!(finding.evidence[1], "pg_stat_statements forgot 70 statements meanwhile");
    }

    #[test]
    fn upserts_that_touch_indexes_are_found() {
        let with = |rows: f64, hot: f64, fillfactor| {
            move |facts: &mut howdah::facts::Facts| {
                let text = "INSERT INTO events VALUES ($1) ON CONFLICT (a) DO UPDATE SET b = excluded.b";
                sends(vec![statement(text, 2000.0, 2000.0)], database(9.0, 9.0))(facts);
                let (schema, table) = ("public".into(), "events".into());
                let updated = UpdateFacts { schema, table, is_partitioned: false, fillfactor, rows, hot };
                programs(facts).updates = Fact::Seen(vec![updated]);
            }
        };
        let finding = found("app.upsert-rewrites", with(2000.0, 100.0, None));
        assert_eq!(
            finding.evidence[0],
            "200 rows of it updated a second, 5 % of them without touching an index"
        );
        assert_eq!(statements(&finding, 1), "ALTER TABLE public.events SET (fillfactor = 85);");
        assert_eq!(finding.remedies[1].undo.to_string(), "ALTER TABLE public.events RESET (fillfactor);");
        let finding = found("app.upsert-rewrites", with(2000.0, 100.0, Some(90.0)));
        assert_eq!(finding.remedies[1].undo.to_string(), "ALTER TABLE public.events SET (fillfactor = 90);");
        found("app.upsert-rewrites", with(2000.0, 100.0, Some(70.0)));
        fine("app.upsert-rewrites", with(2000.0, 1000.0, None));
        fine("app.upsert-rewrites", with(1000.0, 0.0, None));
        unseen("app.upsert-rewrites", |facts| {
            with(2000.0, 0.0, None)(facts);
            programs(facts).updates = hidden();
        });
    }

    #[test]
    fn a_batch_writer_is_well() {
        let batches = [
            "INSERT INTO t SELECT * FROM unnest($1::int[], $2::text[])",
            "COPY t FROM STDIN (FORMAT binary)",
        ];
        let statements = || batches.map(|text| statement(text, 400.0, 200_000.0)).into();
        for rule in super::super::RULES {
            fine(rule.id, sends(statements(), database(400.0, 400.0)));
        }
    }

    #[test]
    fn nothing_is_known_where_statements_are_hidden() {
        for id in ["app.commit-per-row", "app.one-row-statements", "app.values-shapes", "app.upsert-rewrites"]
        {
            let verdict = verdict_for(id, &Ask::default(), |_| ());
            assert_eq!(verdict, Verdict::DoesNotApply, "{id}: nobody watched");
            for (why, shown_by) in [
                (howdah::facts::Unseen::NotInstalled, "CREATE EXTENSION pg_stat_statements;"),
                (
                    howdah::facts::Unseen::NotLoaded,
                    "pg_stat_statements in shared_preload_libraries, with a restart, and then CREATE EXTENSION pg_stat_statements;",
                ),
            ] {
                let gap = unseen(id, |facts| {
                    sends(Vec::new(), database(0.0, 0.0))(facts);
                    let programs = programs(facts);
                    (programs.schema, programs.statements) = (None, Fact::Hidden(why));
                });
                assert_eq!(gap.shown_by.as_deref(), Some(shown_by), "{id}");
            }
            let gap = unseen(id, |facts| {
                sends(Vec::new(), database(0.0, 0.0))(facts);
                programs(facts).schema = Some("Tools".into());
                programs(facts).statements = hidden();
            });
            assert_eq!(gap.shown_by.as_deref(), Some("GRANT USAGE ON SCHEMA \"Tools\" TO loader;"));
            let gap = unseen(id, |facts| {
                sends(Vec::new(), database(0.0, 0.0))(facts);
                programs(facts).statements = Fact::Seen(SentFacts { hidden: 9.0, ..SentFacts::default() });
            });
            assert_eq!(gap.shown_by.as_deref(), Some("GRANT pg_monitor TO loader;"), "{id}");
        }
    }

    #[test]
    fn a_statement_whose_text_is_kept_back_is_named_by_its_table() {
        let mut kept_back = insert(1.0, 1.0);
        kept_back.said.text = None;
        kept_back.said.schema = Some("Shop".into());
        assert_eq!(
            (shown(&kept_back), kept_back.said.kind),
            ("INSERT INTO \"Shop\".t …".into(), StatementKind::Insert)
        );
    }
}
