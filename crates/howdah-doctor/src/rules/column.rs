//! How values of columns come about.

use howdah::facts::{ColumnFacts, SequenceFacts, TableFacts};

use crate::attachment::Attachment;
use crate::case::Case;
use crate::figures::count;
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::remedies::owner;
use crate::rule::Rule;
use crate::sql;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "column.numbers-end",
        title: "numbers of a key run out",
        condition: "the sequence of a column has fewer numbers left than rows are to come, or less than a tenth of all; a smallint or \
                    integer column ends before its sequence",
        why: "at its end nextval() is refused with SQLSTATE 2200H, and a number that the column cannot hold with 22003: no row comes in \
              any more",
        remedy: "let the sequence go further; a column that ends first has to become bigint",
        judge: numbers_end,
    },
    Rule {
        id: "column.default",
        title: "a default calls a function for each row",
        condition: "the default of a column calls a volatile function other than nextval",
        why: "where the input does not fill the column the function is called for each row, and rows are inserted one by one and not \
              by the thousand",
        remedy: "fill the column in the input",
        judge: default,
    },
    Rule {
        id: "column.generated",
        title: "a column is computed as rows come",
        condition: "a column is GENERATED … STORED",
        why: "its expression is computed for each row",
        remedy: "from PostgreSQL 18 on a VIRTUAL column computes when it is read",
        judge: generated,
    },
];

/// The columns, or the verdict that they were not seen.
pub(super) fn columns<'f>(case: &Case<'f>) -> Result<(&'f TableFacts, &'f [ColumnFacts]), Verdict> {
    let table = case.see_table()?;
    Ok((table, case.see(&table.columns, "the table's columns")?))
}

fn numbers_end(case: &Case<'_>) -> Judged {
    let (table, columns) = columns(case)?;
    let rows = case.incoming().rows.unwrap_or(0.0);
    let mut findings = Vec::new();
    for (column, sequence) in columns.iter().filter_map(|column| Some((column, column.sequence.as_ref()?))) {
        let of = sql::qualified(&sequence.schema, &sequence.name);
        let Some(left) = sequence.left else {
            let grant = format!("GRANT SELECT ON SEQUENCE {of} TO {};", case.role());
            let what = format!("how far the sequence {of} is");
            return Err(Verdict::NotSeen(case.gap(&what, howdah::facts::Unseen::NoRight, grant)));
        };
        let all = sequence.most_of_column.unwrap_or(sequence.all).min(sequence.all);
        if sequence.cycles || (left >= rows && left >= all * 0.1) {
            continue;
        }
        let title =
            format!("{} numbers are left for {}.{}", count(left), sql::table(table), sql::name(&column.name));
        let severity = if left < rows { Severity::Fails } else { Severity::Notice };
        findings.push(
            Finding::new(severity, Basis::Counted, title)
                .seen(format!(
                    "{} of {}, type {}; rows to come: {}",
                    of,
                    count(all),
                    column.r#type,
                    if rows > 0.0 { count(rows) } else { "not known".to_owned() }
                ))
                .remedy(further(table, column, sequence)),
        );
    }
    Ok(Verdict::of(findings))
}

/// How numbers go further.
fn further(table: &TableFacts, column: &ColumnFacts, sequence: &SequenceFacts) -> Remedy {
    let of = sql::qualified(&sequence.schema, &sequence.name);
    let (on, name) = (sql::table(table), sql::name(&column.name));
    if sequence.most_of_column.is_some_and(|most| most <= sequence.most) {
        let statements = [
            format!("ALTER TABLE {on} ALTER COLUMN {name} TYPE bigint;"),
            format!("ALTER SEQUENCE {of} AS bigint;"),
        ];
        let undo = Undo::impossible(format!(
            "once a greater number is there, {} cannot hold it; before that the same with this type",
            column.r#type
        ));
        let price = "the table and its indexes are written anew, under a lock that keeps readers out; foreign keys to it stay integer; refused where a view selects it";
        return Remedy::sql(statements, undo, price).needs(owner(table));
    }
    let price = "none";
    Remedy::sql(
        [format!("ALTER SEQUENCE {of} NO MAXVALUE;")],
        Undo::sql(format!("ALTER SEQUENCE {of} MAXVALUE {:.0};", sequence.most)),
        price,
    )
    .needs(owner(table))
}

fn default(case: &Case<'_>) -> Judged {
    let (table, columns) = columns(case)?;
    let calling = columns.iter().filter(|column| !column.default_calls.is_empty());
    let findings = calling.map(|column| {
        let name = sql::name(&column.name);
        let calls = sql::names(&column.default_calls);
        let action =
            Action::Elsewhere(format!("a column {name} in the input, filled by whoever makes the rows"));
        Finding::new(
            Severity::Costs,
            Basis::Known,
            format!("the default of {}.{name} calls {calls}", sql::table(table)),
        )
        .seen(format!("pg_attrdef has the call, and {calls} is volatile"))
        .remedy(Remedy::new(action, "leave it out", "the input must have a value for each row"))
    });
    Ok(Verdict::of(findings.collect()))
}

fn generated(case: &Case<'_>) -> Judged {
    let (table, columns) = columns(case)?;
    let findings = columns.iter().filter(|column| column.is_generated).map(|column| {
        let (on, name) = (sql::table(table), sql::name(&column.name));
        let action = Action::Elsewhere(match case.version() >= 180_000 {
            true => format!("drop {name} of {on} and add it as GENERATED ALWAYS AS (its expression) VIRTUAL"),
            false => {
                format!("a view over {on} that computes {name} when it is read, or PostgreSQL 18 and VIRTUAL")
            }
        });
        let price = "readers compute it, and no index can have it";
        Finding::new(Severity::Costs, Basis::Known, format!("{on}.{name} is computed as rows come"))
            .about(Attachment::Generated(column.name.clone()))
            .seen("attgenerated = s")
            .remedy(
                Remedy::new(action, "the same with STORED, which writes the table anew", price)
                    .needs(owner(table)),
            )
    });
    Ok(Verdict::of(findings.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Ask;
    use crate::testing::{fine, fine_for, found, found_for, hidden, seen, statements, table, unseen};

    fn numbered(left: Option<f64>, most_of_column: Option<f64>) -> impl FnOnce(&mut howdah::facts::Facts) {
        move |facts| {
            let sequence = SequenceFacts {
                schema: "public".into(),
                name: "events_id_seq".into(),
                left,
                all: 2_147_483_646.0,
                most: 2_147_483_647.0,
                most_of_column,
                cycles: false,
            };
            seen(&mut table(facts).columns)[0].sequence = Some(sequence);
        }
    }

    #[test]
    fn numbers_that_run_out_are_seen_before() {
        let finding = found("column.numbers-end", numbered(Some(2e8), None));
        assert_eq!(
            (finding.severity, &*finding.title),
            (Severity::Notice, "200,000,000 numbers are left for public.events.id")
        );
        assert_eq!(statements(&finding, 0), "ALTER SEQUENCE public.events_id_seq NO MAXVALUE;");
        fine("column.numbers-end", numbered(Some(2.2e8), None));
        let ask = Ask { rows: Some(1000), ..Ask::default() };
        let short = found_for("column.numbers-end", &ask, numbered(Some(999.0), Some(2_147_483_647.0)));
        assert_eq!(short.severity, Severity::Fails);
        assert!(statements(&short, 0).starts_with("ALTER TABLE public.events ALTER COLUMN id TYPE bigint;"));
        fine_for("column.numbers-end", &ask, numbered(Some(1e9), None));
        let gap = unseen("column.numbers-end", numbered(None, None));
        assert_eq!(gap.shown_by.as_deref(), Some("GRANT SELECT ON SEQUENCE public.events_id_seq TO loader;"));
    }

    #[test]
    fn a_function_in_a_default_is_named() {
        let finding = found("column.default", |facts| {
            seen(&mut table(facts).columns)[0].default_calls = vec!["gen_random_uuid".into()];
        });
        assert_eq!(finding.title, "the default of public.events.id calls gen_random_uuid");
        fine("column.default", |_| {});
        unseen("column.default", |facts| table(facts).columns = hidden());
    }

    #[test]
    fn a_stored_column_is_named() {
        let virtual_ =
            found("column.generated", |facts| seen(&mut table(facts).columns)[0].is_generated = true);
        assert!(format!("{:?}", virtual_.remedies[0].action).contains("VIRTUAL"));
        fine("column.generated", |_| {});
        unseen("column.generated", |facts| table(facts).columns = hidden());
    }
}
