//! What else rows are held against.

use crate::attachment::Attachment;
use crate::case::Case;
use crate::figures::bytes;
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::remedies::owner;
use crate::rule::Rule;
use crate::sql;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "constraint.exclusion",
        title: "each row is searched for conflicts",
        condition: "an exclusion constraint",
        why: "the server searches its index for each row, before and after it is in",
        remedy: "partition by the column that is compared by =, so that indexes are small",
        judge: exclusion,
    },
    Rule {
        id: "constraint.check",
        title: "a CHECK calls a function for each row",
        condition: "a CHECK that calls a function which is not written in C",
        why: "the server calls it for each row. A plain comparison costs little",
        remedy: "write the condition out; or check all rows at once, after the load",
        judge: check,
    },
];

fn exclusion(case: &Case<'_>) -> Judged {
    let table = case.see_table()?;
    let indexes = case.see(&table.indexes, "the table's indexes")?;
    let findings = indexes.iter().filter(|index| index.is_exclusion).map(|index| {
        let action = Action::Elsewhere(format!(
            "partitions of {} by the column that is compared by =",
            sql::table(table)
        ));
        Finding::new(
            Severity::Costs,
            Basis::Known,
            format!("{} is searched for each row", sql::qualified(&index.schema, &index.name)),
        )
        .about(Attachment::Index(index.name.clone()))
        .seen(format!("indisexclusion, method {}, {}", sql::name(&index.method), bytes(index.bytes)))
        .remedy(
            Remedy::new(action, "the table of today", "the table has to be made anew").needs(owner(table)),
        )
    });
    Ok(Verdict::of(findings.collect()))
}

fn check(case: &Case<'_>) -> Judged {
    let table = case.see_table()?;
    let checks = case.see(&table.checks, "the table's CHECKs")?;
    let findings = checks.iter().filter(|check| !check.calls.is_empty()).map(|check| {
        let (on, name) = (sql::table(table), sql::name(&check.name));
        let undo = sql::constraint_again(table, &check.name, !check.is_not_valid);
        let price = match check.is_not_valid {
            true => "nobody checks rows meanwhile",
            false => "nobody checks rows meanwhile; all are read when it is validated",
        };
        Finding::new(
            Severity::Costs,
            Basis::Known,
            format!("the CHECK {name} of {on} calls {} for each row", sql::names(&check.calls)),
        )
        .seen("conbin has the call; the function is not written in C")
        .remedy(
            Remedy::sql([format!("ALTER TABLE {on} DROP CONSTRAINT {name};")], undo, price)
                .needs(owner(table)),
        )
    });
    Ok(Verdict::of(findings.collect()))
}

#[cfg(test)]
mod tests {
    use howdah::facts::{CheckFacts, IndexFacts};

    use crate::testing::{fine, found, hidden, index, seen, statements, table, unseen};

    #[test]
    fn an_exclusion_constraint_is_named() {
        let excluding = IndexFacts {
            is_exclusion: true,
            is_key: true,
            method: "gist".into(),
            ..index("no_overlap", "during")
        };
        let finding = found("constraint.exclusion", |facts| seen(&mut table(facts).indexes).push(excluding));
        assert_eq!(finding.title, "public.no_overlap is searched for each row");
        fine("constraint.exclusion", |_| {});
        unseen("constraint.exclusion", |facts| table(facts).indexes = hidden());
    }

    #[test]
    fn a_check_that_calls_a_function_is_named() {
        let check = |calls: &[&str]| CheckFacts {
            name: "is_valid".into(),
            calls: calls.iter().map(|call| (*call).to_owned()).collect(),
            is_not_valid: false,
        };
        let finding =
            found("constraint.check", |facts| seen(&mut table(facts).checks).push(check(&["judge"])));
        assert_eq!(statements(&finding, 0), "ALTER TABLE public.events DROP CONSTRAINT is_valid;");
        assert_eq!(
            finding.remedies[0].undo.to_string(),
            "run what SELECT 'ALTER TABLE public.events ADD CONSTRAINT is_valid ' || pg_get_constraintdef(oid) || \
             ' NOT VALID; ALTER TABLE public.events VALIDATE CONSTRAINT is_valid;' FROM pg_constraint \
             WHERE conrelid = 'public.events'::regclass AND conname = 'is_valid'; prints beforehand"
        );
        // Rows that are there may break it.
        let doubted = CheckFacts { is_not_valid: true, ..check(&["judge"]) };
        let finding = found("constraint.check", |facts| seen(&mut table(facts).checks).push(doubted));
        let undo = finding.remedies[0].undo.to_string();
        assert!(undo.contains("pg_get_constraintdef(oid) || ';' FROM"), "{undo}");
        fine("constraint.check", |facts| seen(&mut table(facts).checks).push(check(&[])));
        unseen("constraint.check", |facts| table(facts).checks = hidden());
    }
}
