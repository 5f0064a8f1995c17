//! Foreign keys: from the table, and to it.

use howdah::message;
use howdah::message::setting;
use howdah::name::fitting;

use crate::attachment::Attachment;
use crate::case::Case;
use crate::figures;
use crate::figures::bytes;
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::remedies::owner;
use crate::rule::Rule;
use crate::sql;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "fk.cost",
        title: "parents are looked up for each row",
        condition: "the table has a foreign key",
        why: "the server runs a query for each row, and locks the parent's row",
        remedy: "validate all rows at once, after the load; or let them come in the order of the parents",
        judge: cost,
    },
    Rule {
        id: "fk.referencing",
        title: "rows that refer to the table are found by reading all of theirs",
        condition: "a foreign key of a table refers to this one, and no index begins with its columns",
        why: "inserts do not mind. Each row that is deleted, and each key that is updated, reads the whole table that refers: so the modes \
              delete, update and upsert may",
        remedy: "an index on the columns that refer",
        judge: referencing,
    },
    Rule {
        id: "fk.deferred",
        title: "checks are put off until the commit",
        condition: "a foreign key of the table is INITIALLY DEFERRED",
        why: "each row is remembered until the commit, in memory and without a limit: about 100 bytes a row",
        remedy: "check them at once, or commit parts",
        judge: deferred,
    },
];

fn cost(case: &Case<'_>) -> Judged {
    let table = case.see_table()?;
    let keys = case.see(&table.foreign_keys, "the table's foreign keys")?;
    let findings = keys.iter().map(|key| {
        let parent = sql::qualified(&key.parent_schema, &key.parent);
        let of = sql::table(table);
        let rebuild = "nobody else can get at the table, nor change its parents, until the load commits; one connection";
        let finding = Finding::new(Severity::Costs, Basis::Known, format!("the foreign key {} looks up {parent} for each row", sql::name(&key.name)))
            .about(Attachment::ForeignKey(key.name.clone()))
            .seen(format!("{} → {parent} ({})", sql::names(&key.columns), sql::names(&key.parent_columns)));
        if key.is_inherited {
            let whole = "look at the partitioned table: a partition cannot be without its key".to_owned();
            return finding.remedy(Remedy::new(Action::Elsewhere(whole), Undo::NotNeeded, "none"));
        }
        let finding = match table.kind.as_str() {
            "r" => finding.remedy(Remedy::load(message![setting::INDEXES.word("rebuild")], rebuild).needs(owner(table))),
            _ => finding,
        };
        let name = sql::name(&key.name);
        let undo = match key.is_plain {
            true if key.is_valid => Undo::Sql(vec![
                sql::foreign_key(key),
                format!("ALTER TABLE {of} VALIDATE CONSTRAINT {name};"),
            ]),
            true => Undo::sql(sql::foreign_key(key)),
            // Of a partitioned table none can be made that is not validated at once.
            false => sql::constraint_again(table, &key.name, false),
        };
        finding.remedy(
            Remedy::sql(
                [format!("ALTER TABLE {of} DROP CONSTRAINT {name};")],
                undo,
                "nobody checks parents meanwhile; the load's rows are checked when it is made again",
            )
            .needs(owner(table)),
        )
    });
    Ok(Verdict::of(findings.collect()))
}

/// A name that none of `used` is; it is one of them from now on.
fn unused(name: &str, used: &mut Vec<String>) -> String {
    let numbered = |number: usize| match number {
        1 => fitting(name),
        more => fitting(&format!("{name}_{more}")),
    };
    let free = (1..).map(numbered).find(|name| !used.contains(name)).unwrap_or_default();
    used.push(free.clone());
    free
}

fn referencing(case: &Case<'_>) -> Judged {
    let table = case.see_table()?;
    let keys = case.see(&table.references, "foreign keys to the table")?;
    let mut used: Vec<String> = Vec::new();
    let findings = keys.iter().filter(|key| !key.is_indexed).map(|key| {
        let child = sql::qualified(&key.schema, &key.table);
        let columns = sql::names(&key.columns);
        let index = unused(&format!("{}_{}_howdah", key.table, key.columns.join("_")), &mut used);
        // A partitioned table takes no index in this way, nor is known here what else is not plain.
        let (concurrently, price) = match key.is_plain {
            true => ("CONCURRENTLY ", "each row of that table goes into one index more"),
            false => {
                ("", "each row of that table goes into one index more; while it is built nobody writes to it")
            }
        };
        Finding::new(
            Severity::Notice,
            Basis::Seen,
            format!("{child} refers to {} without an index", sql::table(table)),
        )
        .seen(format!("the foreign key {} on ({columns})", sql::name(&key.name)))
        .remedy(
            Remedy::sql(
                [format!("CREATE INDEX {concurrently}{} ON {child} ({columns});", sql::name(&index))],
                Undo::sql(format!("DROP INDEX {concurrently}{};", sql::qualified(&key.schema, &index))),
                price,
            )
            .needs("that table's owner"),
        )
    });
    Ok(Verdict::of(findings.collect()))
}

/// What the server remembers of a row, about.
const BYTES_PER_CHECK: f64 = 100.0;

fn deferred(case: &Case<'_>) -> Judged {
    let table = case.see_table()?;
    let keys = case.see(&table.foreign_keys, "the table's foreign keys")?;
    let incoming = case.incoming();
    let findings = keys.iter().filter(|key| key.is_deferred).map(|key| {
        let name = sql::name(&key.name);
        let needed = match incoming.rows {
            Some(rows) => format!(
                "{}: {} of memory, of one connection or more",
                figures::rows(rows),
                bytes(rows * BYTES_PER_CHECK)
            ),
            None => "how many rows come is not known: about 100 bytes each".to_owned(),
        };
        let of = sql::table(table);
        let finding = Finding::new(
            Severity::Costs,
            Basis::Computed,
            format!("the foreign key {name} of {of} is checked at the commit"),
        )
        .seen("condeferred")
        .seen(needed);
        if key.is_plain {
            finding.remedy(
                Remedy::sql(
                    [format!("ALTER TABLE {of} ALTER CONSTRAINT {name} DEFERRABLE INITIALLY IMMEDIATE;")],
                    Undo::sql(format!(
                        "ALTER TABLE {of} ALTER CONSTRAINT {name} DEFERRABLE INITIALLY DEFERRED;"
                    )),
                    "programs that rely on it must say SET CONSTRAINTS ALL DEFERRED",
                )
                .needs(owner(table)),
            )
        } else {
            let action = Action::Elsewhere(format!(
                "SET CONSTRAINTS {} IMMEDIATE in the load's transaction",
                sql::qualified(&table.schema, &key.name)
            ));
            finding.remedy(Remedy::new(action, "leave it out", "parents must come before their rows"))
        }
    });
    Ok(Verdict::of(findings.collect()))
}

#[cfg(test)]
mod tests {
    use howdah::facts::{Facts, ForeignKeyFacts};

    use crate::case::Ask;
    use crate::finding::{Action, Remedy};
    use crate::testing::{fine, found, found_for, hidden, seen, statements, table, unseen, verdict_for};

    fn key() -> ForeignKeyFacts {
        ForeignKeyFacts {
            name: "events_actor_fkey".into(),
            schema: "public".into(),
            table: "events".into(),
            columns: vec!["actor".into()],
            parent_schema: "public".into(),
            parent: "actors".into(),
            parent_columns: vec!["id".into()],
            is_plain: true,
            is_valid: true,
            ..ForeignKeyFacts::default()
        }
    }

    #[test]
    fn a_foreign_key_is_dropped_and_made_again() {
        let finding = found("fk.cost", |facts| seen(&mut table(facts).foreign_keys).push(key()));
        assert_eq!(finding.title, "the foreign key events_actor_fkey looks up public.actors for each row");
        assert_eq!(statements(&finding, 1), "ALTER TABLE public.events DROP CONSTRAINT events_actor_fkey;");
        assert_eq!(
            finding.remedies[1].undo.to_string(),
            "ALTER TABLE public.events ADD CONSTRAINT events_actor_fkey FOREIGN KEY (actor) REFERENCES public.actors (id) NOT VALID; \
             ALTER TABLE public.events VALIDATE CONSTRAINT events_actor_fkey;"
        );
        let not_valid = ForeignKeyFacts { is_valid: false, ..key() };
        let finding = found("fk.cost", |facts| seen(&mut table(facts).foreign_keys).push(not_valid));
        assert!(
            finding.remedies[1].undo.to_string().ends_with(" NOT VALID;"),
            "{}",
            finding.remedies[1].undo
        );
        let inherited = ForeignKeyFacts { is_inherited: true, ..key() };
        let finding = found("fk.cost", |facts| seen(&mut table(facts).foreign_keys).push(inherited));
        assert!(matches!(finding.remedies[..], [Remedy { action: Action::Elsewhere(_), .. }]), "{finding:?}");
        fine("fk.cost", |_| {});
        unseen("fk.cost", |facts| table(facts).foreign_keys = hidden());
    }

    #[test]
    fn whoever_refers_without_an_index_is_named() {
        let refers = |is_indexed| {
            move |facts: &mut Facts| {
                let child = ForeignKeyFacts {
                    table: "clicks".into(),
                    columns: vec!["event".into()],
                    is_indexed,
                    ..key()
                };
                seen(&mut table(facts).references).push(child);
            }
        };
        let finding = found("fk.referencing", refers(false));
        assert_eq!(
            statements(&finding, 0),
            "CREATE INDEX CONCURRENTLY clicks_event_howdah ON public.clicks (event);"
        );
        let alike = |facts: &mut Facts| {
            for (name, column) in [("a_b", "c"), ("a", "b_c")] {
                let child = ForeignKeyFacts { table: name.into(), columns: vec![column.into()], ..key() };
                seen(&mut table(facts).references).push(child);
            }
        };
        let crate::verdict::Verdict::Found(both) = verdict_for("fk.referencing", &Ask::default(), alike)
        else {
            panic!()
        };
        assert!(statements(&both[0], 0).contains(" a_b_c_howdah ON "), "{both:?}");
        assert!(statements(&both[1], 0).contains(" a_b_c_howdah_2 ON "), "{both:?}");
        fine("fk.referencing", refers(true));
        unseen("fk.referencing", |facts| table(facts).references = hidden());
    }

    #[test]
    fn checks_at_the_commit_take_memory() {
        let ask = Ask { rows: Some(1_000_000), ..Ask::default() };
        let deferred = |is_deferred| {
            move |facts: &mut Facts| {
                seen(&mut table(facts).foreign_keys).push(ForeignKeyFacts {
                    is_deferred,
                    is_deferrable: true,
                    ..key()
                });
            }
        };
        let finding = found_for("fk.deferred", &ask, deferred(true));
        assert_eq!(finding.evidence[1], "1,000,000 rows: 100 MB of memory, of one connection or more");
        let now =
            "ALTER TABLE public.events ALTER CONSTRAINT events_actor_fkey DEFERRABLE INITIALLY IMMEDIATE;";
        assert_eq!(statements(&finding, 0), now);
        fine("fk.deferred", deferred(false));
        unseen("fk.deferred", |facts| table(facts).foreign_keys = hidden());
    }
}
