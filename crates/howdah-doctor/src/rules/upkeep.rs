//! How the table is kept: what is known of its rows, and what those that are gone leave behind.

use howdah::message;
use howdah::message::Setting;

use crate::attachment::Attachment;
use crate::case::Case;
use crate::figures::{bytes, count};
use crate::finding::{Basis, Finding, Remedy, Severity};
use crate::remedies::{for_server, owner};
use crate::rule::Rule;
use crate::sql;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "table.autovacuum",
        title: "autovacuum leaves the table alone",
        condition: "autovacuum_enabled is off for the table, or autovacuum is off for the server",
        why: "nobody counts the rows anew or clears away those that are gone: plans go by what was there before, and upserts make the \
              table grow",
        remedy: "switch it on again",
        judge: autovacuum,
    },
    Rule {
        id: "table.analyze",
        title: "the planner does not know the table",
        condition: "it has rows and was never analysed, or more than 10,000 rows and more than 10 % of them changed since",
        why: "the modes that match rows by a key, and whoever reads the new rows, get plans for a table of another size",
        remedy: "analyse it, after the load",
        judge: analyze,
    },
    Rule {
        id: "table.bloat",
        title: "many rows are dead",
        condition: "more than 10,000 dead rows, and more than 20 % of those that live",
        why: "the table, and the indexes that rows are led into, are larger than their rows",
        remedy: "clear the dead rows away; new rows take their room",
        judge: bloat,
    },
    Rule {
        id: "table.fillfactor",
        title: "pages are filled only in part",
        condition: "fillfactor is less than 90, and since the counters began fewer rows were updated than a hundredth of those that live",
        why: "the room is meant for updates: without them the load writes, and logs, more pages than its rows need",
        remedy: "fill pages, from the next rows on",
        judge: fillfactor,
    },
];

/// Fewer rows are read anyway.
const MANY_ROWS: f64 = 10_000.0;

fn autovacuum(case: &Case<'_>) -> Judged {
    let setting = case.see_setting("autovacuum")?;
    let mut findings = Vec::new();
    if let Some(table) = case.table().filter(|table| table.without_autovacuum) {
        let of = sql::table(table);
        findings.push(
            Finding::new(Severity::Notice, Basis::Seen, format!("autovacuum is off for {of}"))
                .seen("autovacuum_enabled = off among its storage parameters")
                .remedy(
                    Remedy::sql(
                        [format!("ALTER TABLE {of} RESET (autovacuum_enabled);")],
                        Undo::sql(format!("ALTER TABLE {of} SET (autovacuum_enabled = off);")),
                        "it reads the table when many rows have come or gone, a load's too",
                    )
                    .needs(owner(table)),
                ),
        );
    }
    if !setting.is_on() {
        findings.push(
            Finding::new(Severity::Notice, Basis::Seen, "autovacuum is off for the whole server")
                .seen("autovacuum = off")
                .remedy(for_server(
                    case,
                    &[("autovacuum", "on")],
                    "it reads tables when many rows have come or gone",
                )),
        );
    }
    Ok(Verdict::of(findings))
}

fn analyze(case: &Case<'_>) -> Judged {
    let table = case.see_table()?;
    let never = !table.is_analyzed && table.live_rows > 0.0;
    let stale = table.live_rows > MANY_ROWS && table.changed_rows > table.live_rows * 0.1;
    if table.kind == "p" || !(never || stale) {
        return Ok(Verdict::Fine);
    }
    let of = sql::table(table);
    let title = if never {
        format!("{of} was never analysed")
    } else {
        format!("{of} has changed much since it was analysed")
    };
    Ok(Verdict::of(vec![
        Finding::new(Severity::Notice, Basis::Counted, title)
            .seen(format!("{} rows, {} changed since", count(table.live_rows), count(table.changed_rows)))
            .remedy(Remedy::load(
                message![Setting::new("analyze").bool(true)],
                "a sample of the table is read",
            ))
            .remedy(
                Remedy::sql([format!("ANALYZE {of};")], Undo::NotNeeded, "a sample of the table is read")
                    .needs(owner(table)),
            ),
    ]))
}

fn bloat(case: &Case<'_>) -> Judged {
    let table = case.see_table()?;
    if table.dead_rows <= MANY_ROWS || table.dead_rows <= table.live_rows * 0.2 {
        return Ok(Verdict::Fine);
    }
    let of = sql::table(table);
    Ok(Verdict::of(vec![
        Finding::new(
            Severity::Costs,
            Basis::Counted,
            format!("{} rows of {of} are dead", count(table.dead_rows)),
        )
        .seen(format!("{} rows live; the table has {}", count(table.live_rows), bytes(table.bytes_now())))
        .remedy(
            Remedy::sql(
                [format!("VACUUM {of};")],
                Undo::NotNeeded,
                "reads the table and its indexes; nobody has to wait",
            )
            .needs(owner(table)),
        ),
    ]))
}

fn fillfactor(case: &Case<'_>) -> Judged {
    let table = case.see_table()?;
    // Partitions have their own; and after a crash nobody knows what was updated.
    if table.kind == "p" || (table.live_rows <= 0.0 && table.rows.is_some_and(|rows| rows > 0.0)) {
        return Ok(Verdict::DoesNotApply);
    }
    let Some(factor) = table.fillfactor.filter(|factor| *factor < 90.0) else { return Ok(Verdict::Fine) };
    if table.updates > table.live_rows * 0.01 {
        return Ok(Verdict::Fine);
    }
    let of = sql::table(table);
    Ok(Verdict::of(vec![
        Finding::new(Severity::Costs, Basis::Computed, format!("pages of {of} are filled to {factor:.0} %"))
            .about(Attachment::FreeRoom)
            .seen(format!(
                "{} updates, {} rows: {:.0} % more pages than needed",
                count(table.updates),
                count(table.live_rows),
                10_000.0 / factor - 100.0
            ))
            .remedy(
                Remedy::sql(
                    [format!("ALTER TABLE {of} RESET (fillfactor);")],
                    Undo::sql(format!("ALTER TABLE {of} SET (fillfactor = {factor:.0});")),
                    "updates find no room beside their row",
                )
                .needs(owner(table)),
            ),
    ]))
}

#[cfg(test)]
mod tests {
    use crate::testing::{fine, found, hide_setting, set, statements, table, unseen};

    #[test]
    fn a_table_that_autovacuum_leaves_alone_is_named() {
        let finding = found("table.autovacuum", |facts| table(facts).without_autovacuum = true);
        assert_eq!(statements(&finding, 0), "ALTER TABLE public.events RESET (autovacuum_enabled);");
        found("table.autovacuum", |facts| set(facts, "autovacuum", "off"));
        fine("table.autovacuum", |_| {});
        unseen("table.autovacuum", |facts| hide_setting(facts, "autovacuum"));
    }

    #[test]
    fn a_tenth_of_the_rows_changes_plans() {
        let finding = found("table.analyze", |facts| table(facts).changed_rows = 1_000_001.0);
        assert_eq!(finding.evidence, ["10,000,000 rows, 1,000,001 changed since"]);
        fine("table.analyze", |facts| table(facts).changed_rows = 1_000_000.0);
        found("table.analyze", |facts| (table(facts).is_analyzed, table(facts).live_rows) = (false, 1.0));
        fine("table.analyze", |facts| (table(facts).is_analyzed, table(facts).live_rows) = (false, 0.0));
    }

    #[test]
    fn a_fifth_of_the_rows_may_be_dead() {
        let finding = found("table.bloat", |facts| table(facts).dead_rows = 2_000_001.0);
        assert_eq!(statements(&finding, 0), "VACUUM public.events;");
        fine("table.bloat", |facts| table(facts).dead_rows = 2_000_000.0);
        fine("table.bloat", |facts| (table(facts).dead_rows, table(facts).live_rows) = (10_000.0, 1.0));
    }

    #[test]
    fn room_in_pages_is_for_updates() {
        let finding = found("table.fillfactor", |facts| table(facts).fillfactor = Some(50.0));
        assert_eq!(finding.evidence, ["0 updates, 10,000,000 rows: 100 % more pages than needed"]);
        assert_eq!(finding.remedies[0].undo.to_string(), "ALTER TABLE public.events SET (fillfactor = 50);");
        fine("table.fillfactor", |facts| table(facts).fillfactor = Some(90.0));
        // Somebody set the counters back.
        fine("table.fillfactor", |facts| {
            (table(facts).fillfactor, table(facts).live_rows) = (Some(50.0), 0.0)
        });
        fine("table.fillfactor", |facts| {
            (table(facts).fillfactor, table(facts).updates) = (Some(50.0), 100_001.0)
        });
    }
}
