//! Triggers that an insert runs.

use howdah::facts::{TableFacts, TriggerFacts};

use crate::attachment::Attachment;
use crate::case::Case;
use crate::finding::{Basis, Finding, Remedy, Severity};
use crate::remedies::owner;
use crate::rule::Rule;
use crate::sql;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "trigger.row",
        title: "a function runs for each row",
        condition: "an enabled trigger FOR EACH ROW on INSERT",
        why: "the server calls it for each row; where it runs BEFORE, rows are inserted one by one and not by the thousand. A load then \
              takes one connection by itself, since what the function finds depends on which rows are in already",
        remedy: "a statement trigger that gets all rows at once, a generated column; or disable it, and do its work in one statement",
        judge: of_rows,
    },
    Rule {
        id: "trigger.statement",
        title: "rows are kept for a trigger",
        condition: "an enabled trigger FOR EACH STATEMENT on INSERT that has a transition table",
        why: "all rows of a statement are kept twice, in memory and then on disk",
        remedy: "disable it, and do its work in one statement afterwards",
        judge: of_statements,
    },
];

/// What is done about a trigger.
fn disable(table: &TableFacts, trigger: &TriggerFacts) -> Remedy {
    let (on, name) = (sql::table(table), sql::name(&trigger.name));
    Remedy::sql(
        [format!("ALTER TABLE {on} DISABLE TRIGGER {name};")],
        match table.kind.as_str() {
            "p" => sql::triggers_again(table, &trigger.name),
            _ => Undo::sql(format!(
                "ALTER TABLE {on} ENABLE {}TRIGGER {name};",
                if trigger.is_always { "ALWAYS " } else { "" }
            )),
        },
        "what it does is not done, for anybody's rows: do it in one statement after the load",
    )
    .needs(owner(table))
}

fn triggers(case: &Case<'_>, which: fn(&TriggerFacts) -> bool, title: &str) -> Judged {
    let table = case.see_table()?;
    let triggers = case.see(&table.triggers, "the table's triggers")?;
    let findings = triggers.iter().filter(|trigger| which(trigger)).map(|trigger| {
        let time = if trigger.is_before { "BEFORE" } else { "AFTER" };
        Finding::new(
            Severity::Costs,
            Basis::Known,
            format!("the trigger {} {title}", sql::name(&trigger.name)),
        )
        .about(Attachment::Trigger(trigger.name.clone()))
        .seen(format!("{time} INSERT on {}, calls {}()", sql::table(table), sql::name(&trigger.function)))
        .remedy(disable(table, trigger))
    });
    Ok(Verdict::of(findings.collect()))
}

fn of_rows(case: &Case<'_>) -> Judged {
    triggers(case, |trigger| trigger.is_for_rows, "runs for each row")
}

fn of_statements(case: &Case<'_>) -> Judged {
    triggers(case, |trigger| !trigger.is_for_rows && trigger.has_new_table, "has all rows kept for it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fine, found, hidden, seen, statements, table, unseen};

    fn with(is_for_rows: bool, has_new_table: bool) -> impl FnOnce(&mut howdah::facts::Facts) {
        move |facts| {
            let trigger = TriggerFacts {
                name: "Stamp".into(),
                is_for_rows,
                is_before: true,
                is_always: true,
                has_new_table,
                function: "stamp".into(),
            };
            seen(&mut table(facts).triggers).push(trigger);
        }
    }

    #[test]
    fn a_trigger_of_each_row_is_named() {
        let finding = found("trigger.row", with(true, false));
        assert_eq!(finding.evidence, ["BEFORE INSERT on public.events, calls stamp()"]);
        assert_eq!(statements(&finding, 0), "ALTER TABLE public.events DISABLE TRIGGER \"Stamp\";");
        assert_eq!(
            finding.remedies[0].undo.to_string(),
            "ALTER TABLE public.events ENABLE ALWAYS TRIGGER \"Stamp\";"
        );
        fine("trigger.row", with(false, true));
        unseen("trigger.row", |facts| table(facts).triggers = hidden());
    }

    #[test]
    fn a_trigger_that_gets_all_rows_is_named() {
        found("trigger.statement", with(false, true));
        fine("trigger.statement", with(false, false));
        fine("trigger.statement", with(true, true));
        unseen("trigger.statement", |facts| table(facts).triggers = hidden());
    }
}
