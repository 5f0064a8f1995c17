//! Indexes: each row goes into each of them.

use howdah::facts::{IndexFacts, IndexUpkeep, TableFacts};

use crate::attachment::Attachment;
use crate::case::Case;
use crate::figures::{bytes, count};
use crate::finding::{Basis, Finding, Gap, Remedy, Severity};
use crate::remedies::{drop_index, owner, rebuild};
use crate::rule::Rule;
use crate::sql;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "index.invalid",
        title: "an index that no query uses is kept up",
        condition: "indisready and not indisvalid: CREATE INDEX CONCURRENTLY failed, or is under way",
        why: "rows go into it, and no query may use it",
        remedy: "build it again, or drop it",
        judge: invalid,
    },
    Rule {
        id: "index.duplicate",
        title: "an index is covered by another",
        condition: "a B-tree index that is no key, whose columns with their operator classes, collations and order begin another one's, \
                    with the same predicate and expressions",
        why: "rows go into both",
        remedy: "drop the covered one",
        judge: duplicate,
    },
    Rule {
        id: "index.unused",
        title: "an index that no query used",
        condition: "idx_scan is 0, the counters are older than 30 days, and the index is no key",
        why: "rows go into it, and nobody was seen to gain from it. When an index was made is not known, and \
              standbys count their own queries",
        remedy: "a candidate: look at the standbys' counters, and at what runs once a quarter, and drop it",
        judge: unused,
    },
    Rule {
        id: "index.after-load",
        title: "building indexes afterwards may be faster",
        condition: "the load is estimated to take half the time at the most if indexes and foreign keys are built again: kept, a row's \
                    entry takes 7 µs in an index and 4 in a key's, over two connections; built, 0.6 and 0.4 for each row of the \
                    whole table, over one. A load that is to decide by itself goes by the same estimate",
        why: "to lead each row into each index may take longer than to build the indexes once from all rows",
        remedy: "have them dropped and built again in the load's transaction",
        judge: after_load,
    },
    Rule {
        id: "index.gin",
        title: "a GIN index takes many keys of each row",
        condition: "an index of the method gin",
        why: "each row brings as many keys as its value has parts. With fastupdate they go to a list first, and whoever fills it waits until it \
              is merged",
        remedy: "build it after the load; without the list, if even times matter more than the rate",
        judge: gin,
    },
];

/// The indexes, or the verdict that they were not seen.
pub(super) fn indexes<'f>(case: &Case<'f>) -> Result<(&'f TableFacts, &'f [IndexFacts]), Verdict> {
    let table = case.see_table()?;
    Ok((table, case.see(&table.indexes, "the table's indexes")?))
}

/// The index, for a reader.
pub(super) fn named(index: &IndexFacts) -> String {
    sql::qualified(&index.schema, &index.name)
}

/// Queries that would have used it are slower.
const SLOWER: &str = "queries that need it are slower";

fn invalid(case: &Case<'_>) -> Judged {
    let (table, indexes) = indexes(case)?;
    let findings =
        indexes.iter().filter(|index| !index.is_valid && !index.is_part && table.kind != "p").map(|index| {
            let again = Remedy::sql(
                [format!("REINDEX INDEX CONCURRENTLY {};", named(index))],
                Undo::NotNeeded,
                "reads the table, and needs room for the index once more",
            );
            Finding::new(Severity::Costs, Basis::Seen, format!("{} is not valid", named(index)))
                .about(Attachment::Index(index.name.clone()))
                .seen(format!("indisready and not indisvalid; {}", bytes(index.bytes)))
                .remedy(again.needs(owner(table)))
                .remedy(drop_index(table, index, "none: no query uses it"))
        });
    Ok(Verdict::of(findings.collect()))
}

fn duplicate(case: &Case<'_>) -> Judged {
    let (table, indexes) = indexes(case)?;
    let covered = indexes.iter().filter(|index| !index.is_key && !index.is_part);
    let findings = covered.filter_map(|index| {
        let by = index.covered_by.as_deref()?;
        let other = sql::name(by);
        let has_more = indexes.iter().any(|it| it.name == by && it.columns.len() > index.columns.len());
        let price = match has_more {
            true => format!("{other} is larger, so a query that used this one reads a little more"),
            false => format!("none: {other} finds the same"),
        };
        Some(
            Finding::new(Severity::Costs, Basis::Seen, format!("{} is covered by {other}", named(index)))
                .about(Attachment::Index(index.name.clone()))
                .seen(format!(
                    "{}, {} scans since the counters began",
                    bytes(index.bytes),
                    count(index.scans)
                ))
                .remedy(drop_index(table, index, &price)),
        )
    });
    Ok(Verdict::of(findings.collect()))
}

/// What is used once a month is used.
const LONG_COUNTED_DAYS: f64 = 30.0;

fn unused(case: &Case<'_>) -> Judged {
    let (table, indexes) = indexes(case)?;
    let suspects: Vec<&IndexFacts> = indexes
        .iter()
        .filter(|index| index.scans == 0.0 && !index.is_key && !index.is_part && index.is_valid)
        .collect();
    if suspects.is_empty() {
        return Ok(Verdict::Fine);
    }
    // Counters that were never set back are as old as the database, which nobody wrote down.
    let why = "the server does not say that it has counted for 30 days";
    let Some(days) = case.facts.session.counted_days.filter(|days| *days > LONG_COUNTED_DAYS) else {
        let what = "whether indexes without a scan are used".to_owned();
        return Err(Verdict::NotSeen(Gap { what, why, shown_by: None }));
    };
    let findings = suspects.into_iter().map(|index| {
        Finding::new(Severity::Costs, Basis::Counted, format!("no query used {}", named(index)))
            .about(Attachment::Index(index.name.clone()))
            .seen(format!(
                "0 scans in {days:.0} days, if the index is that old; not a key, {}",
                bytes(index.bytes)
            ))
            .remedy(drop_index(table, index, SLOWER))
    });
    Ok(Verdict::of(findings.collect()))
}

/// As many connections as a load gets on a small server.
const CONNECTIONS: usize = 2;

/// Bytes of a row, where nobody counted any.
const USUAL_ROW: f64 = 100.0;

fn after_load(case: &Case<'_>) -> Judged {
    let (table, indexes) = indexes(case)?;
    let others: Vec<&IndexFacts> = indexes.iter().filter(|index| !index.is_key && index.is_valid).collect();
    if table.kind != "r" || others.is_empty() {
        return Ok(Verdict::Fine);
    }
    let incoming = case.incoming();
    let there = table.rows.unwrap_or(0.0).max(table.live_rows);
    let upkeep = IndexUpkeep {
        held: there,
        brought: incoming.rows.unwrap_or(incoming.bytes / USUAL_ROW),
        keys: indexes.iter().filter(|index| index.is_key).count(),
        indexes: others.len(),
        staying: 0,
        foreign_keys: table.foreign_keys.seen().map_or(0, Vec::len),
        connections: CONNECTIONS,
    };
    if upkeep.gain() < IndexUpkeep::WORTH {
        return Ok(Verdict::Fine);
    }
    Ok(Verdict::of(vec![
        Finding::new(
            Severity::Costs,
            Basis::Computed,
            format!("{} indexes of {} are kept up row by row", indexes.len(), sql::table(table)),
        )
        .seen(format!("{} rows are there; {}", count(there), incoming.said()))
        .seen(others.iter().map(|index| sql::name(&index.name)).collect::<Vec<_>>().join(", "))
        .seen(format!("to build them again is estimated to be {:.1} times as fast", upkeep.gain()))
        .remedy(rebuild(table)),
    ]))
}

fn gin(case: &Case<'_>) -> Judged {
    let (table, indexes) = indexes(case)?;
    let findings = indexes.iter().filter(|index| index.method == "gin" && index.is_valid).map(|index| {
        let mut finding = Finding::new(
            Severity::Costs,
            Basis::Known,
            format!("{} takes many keys of each row", named(index)),
        )
        .about(Attachment::Index(index.name.clone()))
        .seen(format!(
            "method gin, {}, fastupdate {}",
            bytes(index.bytes),
            if index.has_pending_list { "on" } else { "off" }
        ));
        if table.kind == "r" {
            finding = finding.remedy(rebuild(table));
        }
        if index.has_pending_list {
            finding = finding.remedy(
                Remedy::sql(
                    [format!("ALTER INDEX {} SET (fastupdate = off);", named(index))],
                    Undo::sql(format!("ALTER INDEX {} RESET (fastupdate);", named(index))),
                    "each row takes longer, and none waits for the list",
                )
                .needs(owner(table)),
            );
        }
        finding.remedy(drop_index(table, index, SLOWER))
    });
    Ok(Verdict::of(findings.collect()))
}

#[cfg(test)]
mod tests {
    use howdah::facts::Facts;

    use super::*;
    use crate::case::Ask;
    use crate::testing::{fine, fine_for, found, found_for, hidden, index, seen, statements, table, unseen};

    fn with(added: IndexFacts) -> impl FnOnce(&mut Facts) {
        move |facts| seen(&mut table(facts).indexes).push(added)
    }

    #[test]
    fn an_index_that_is_not_valid_is_built_again() {
        let finding = found("index.invalid", with(IndexFacts { is_valid: false, ..index("broken", "at") }));
        assert_eq!(statements(&finding, 0), "REINDEX INDEX CONCURRENTLY public.broken;");
        fine("index.invalid", with(index("whole", "at")));
        unseen("index.invalid", |facts| table(facts).indexes = hidden());
    }

    #[test]
    fn an_index_that_another_covers_can_go() {
        let covered = IndexFacts { covered_by: Some("longer".into()), ..index("short", "at") };
        let finding = found("index.duplicate", with(covered.clone()));
        assert_eq!(finding.remedies[0].price, "none: longer finds the same");
        let longer = found("index.duplicate", |facts| {
            let columns = vec![Some("at".into()), Some("id".into())];
            with(IndexFacts { columns, ..index("longer", "at") })(facts);
            with(covered.clone())(facts);
        });
        assert!(longer.remedies[0].price.starts_with("longer is larger"), "{longer:?}");
        assert_eq!(statements(&finding, 0), "DROP INDEX CONCURRENTLY public.short;");
        assert_eq!(
            finding.remedies[0].undo.to_string(),
            "CREATE INDEX CONCURRENTLY short ON public.events USING btree (at);"
        );
        let partial = found("index.duplicate", with(IndexFacts { is_plain: false, ..covered.clone() }));
        assert_eq!(
            partial.remedies[0].undo.to_string(),
            "run what SELECT pg_get_indexdef('public.short'::regclass) || ';'; prints beforehand"
        );
        fine("index.duplicate", with(IndexFacts { is_key: true, ..covered }));
        fine("index.duplicate", with(index("other", "at")));
        unseen("index.duplicate", |facts| table(facts).indexes = hidden());
    }

    #[test]
    fn an_index_is_unused_after_a_month() {
        let lazy = || IndexFacts { scans: 0.0, ..index("lazy", "at") };
        let finding = found("index.unused", with(lazy()));
        assert_eq!(finding.evidence, ["0 scans in 94 days, if the index is that old; not a key, 100 MB"]);
        fine("index.unused", with(IndexFacts { scans: 1.0, ..lazy() }));
        fine("index.unused", with(IndexFacts { is_key: true, ..lazy() }));
        unseen("index.unused", |facts| {
            facts.session.counted_days = Some(30.0);
            with(lazy())(facts);
        });
        unseen("index.unused", |facts| {
            facts.session.counted_days = None;
            with(lazy())(facts);
        });
    }

    #[test]
    fn more_rows_than_there_are_and_two_indexes_are_built_afterwards() {
        let two = |facts: &mut Facts| {
            with(index("a", "at"))(facts);
            with(index("b", "at"))(facts);
        };
        let more = Ask { rows: Some(10_000_001), ..Ask::default() };
        let finding = found_for("index.after-load", &more, two);
        let crate::Action::Load(say) = &finding.remedies[0].action else { panic!("{finding:?}") };
        assert_eq!(say.as_str(), "indexes=rebuild");
        fine_for("index.after-load", &Ask { rows: Some(8_000_000), ..Ask::default() }, two);
        fine_for("index.after-load", &more, with(index("a", "at")));
        found("index.after-load", |facts| {
            two(facts);
            (table(facts).rows, table(facts).live_rows) = (Some(0.0), 0.0);
        });
        unseen("index.after-load", |facts| table(facts).indexes = hidden());
    }

    #[test]
    fn a_gin_index_is_named() {
        let gin = IndexFacts { method: "gin".into(), has_pending_list: true, ..index("words", "body") };
        let finding = found("index.gin", with(gin.clone()));
        assert_eq!(statements(&finding, 1), "ALTER INDEX public.words SET (fastupdate = off);");
        fine("index.gin", with(index("plain", "body")));
        fine("index.gin", with(IndexFacts { is_valid: false, ..gin }));
        unseen("index.gin", |facts| table(facts).indexes = hidden());
    }
}
