//! What is kept for others that follow the server, and what they need of the table.

use crate::case::Case;
use crate::figures::{bytes, duration};
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::remedies::owner;
use crate::rule::Rule;
use crate::sql;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "repl.slots",
        title: "the log is kept for somebody who does not read it",
        condition: "a replication slot from which nobody reads, or one that has less room left than the bytes to come",
        why: "the log is kept for an inactive slot until the disk is full; where max_slot_wal_keep_size limits that, the slot loses its \
              place, and whoever reads from it must begin anew",
        remedy: "start its reader before the load, or drop the slot",
        judge: slots,
    },
    Rule {
        id: "repl.lag",
        title: "standbys are behind",
        condition: "a standby replays what is more than a minute old",
        why: "a load makes it fall further behind: readers there see old rows, and a failover loses more",
        remedy: "load at a lower rate, or when it has caught up",
        judge: lag,
    },
    Rule {
        id: "repl.identity",
        title: "updates and deletes cannot be published",
        condition: "a publication has the table with its updates or deletes, and it has no replica identity; one of whole rows is noted",
        why: "UPDATE and DELETE are refused with SQLSTATE 55000, so the modes upsert, update and delete fail; with whole rows as identity \
              each of their old rows is logged",
        remedy: "a primary key, or a unique index as identity; rows that are only added need none",
        judge: identity,
    },
];

fn slots(case: &Case<'_>) -> Judged {
    let slots = case.see(&case.facts.slots, "replication slots")?;
    let incoming = case.incoming();
    let findings = slots.iter().filter_map(|slot| {
        let short = slot.left.is_some_and(|left| left < incoming.bytes);
        let name = sql::name(&slot.name);
        let title = if slot.is_lost {
            format!("the slot {name} has lost its place")
        } else if !slot.is_active {
            format!("nobody reads from the slot {name}")
        } else if short {
            format!("the slot {name} loses its place by this load")
        } else {
            return None;
        };
        let severity = if slot.is_lost { Severity::Notice } else { Severity::Fails };
        let mut finding = Finding::new(severity, Basis::Counted, title)
            .seen(format!("{} of the log are kept for it", bytes(slot.kept)));
        if let Some(left) = slot.left {
            finding = finding.seen(format!("it has {} left; {}", bytes(left.max(0.0)), incoming.said()));
        }
        Some(
            finding.remedy(
                Remedy::sql(
                    [format!("SELECT pg_drop_replication_slot({});", sql::literal(&slot.name))],
                    Undo::impossible("its reader begins anew with a slot of its own"),
                    "whoever reads from it must be set up again",
                )
                .needs("REPLICATION"),
            ),
        )
    });
    Ok(Verdict::of(findings.collect()))
}

const BEHIND_S: f64 = 60.0;

fn lag(case: &Case<'_>) -> Judged {
    let standbys = case.see(&case.facts.standbys, "how far standbys are behind")?;
    let Some(lag) = standbys.lag_s.filter(|lag| *lag > BEHIND_S) else { return Ok(Verdict::Fine) };
    let action = Action::Elsewhere("wait until pg_stat_replication shows no more lag".to_owned());
    Ok(Verdict::of(vec![
        Finding::new(Severity::Notice, Basis::Counted, format!("a standby is {} behind", duration(lag)))
            .seen(format!("replay_lag in pg_stat_replication; {} stream", standbys.streaming))
            .remedy(Remedy::new(action, Undo::NotNeeded, "the load waits")),
    ]))
}

fn identity(case: &Case<'_>) -> Judged {
    let table = case.see_table()?;
    if !table.publishes_changes || (table.has_identity && !table.has_full_identity) {
        return Ok(Verdict::Fine);
    }
    let of = sql::table(table);
    let before = if table.wants_no_identity { "NOTHING" } else { "DEFAULT" };
    let full = Remedy::sql(
        [format!("ALTER TABLE {of} REPLICA IDENTITY FULL;")],
        Undo::sql(format!("ALTER TABLE {of} REPLICA IDENTITY {before};")),
        "each row that is updated or deleted is logged whole",
    );
    let by_key = Remedy::sql(
        [format!("ALTER TABLE {of} REPLICA IDENTITY DEFAULT;")],
        Undo::sql(format!(
            "ALTER TABLE {of} REPLICA IDENTITY {};",
            if table.has_full_identity { "FULL" } else { before }
        )),
        "the key of each row that is updated or deleted is logged",
    );
    let action = Action::Elsewhere(format!(
        "a primary key: ALTER TABLE {of} ADD PRIMARY KEY (its columns), then ALTER TABLE {of} REPLICA IDENTITY DEFAULT"
    ));
    let key = Remedy::new(
        action,
        format!("ALTER TABLE {of} DROP CONSTRAINT the key"),
        "an index more, and a scan under lock",
    );
    let finding = match table.has_identity {
        false => Finding::new(
            Severity::Fails,
            Basis::Seen,
            format!("updates and deletes of {of} cannot be published"),
        )
        .seen("a publication has it, and it has no replica identity"),
        true => Finding::new(Severity::Notice, Basis::Known, format!("old rows of {of} are logged whole"))
            .seen("REPLICA IDENTITY FULL, and a publication has it"),
    };
    // The primary key that is there tells rows apart at the least price.
    let finding = match (table.has_primary_key, table.has_identity) {
        (true, _) => finding.remedy(by_key.needs(owner(table))),
        (false, false) => finding.remedy(full.needs(owner(table))).remedy(key.needs(owner(table))),
        (false, true) => finding.remedy(key.needs(owner(table))),
    };
    Ok(Verdict::of(vec![finding]))
}

#[cfg(test)]
mod tests {
    use howdah::facts::SlotFacts;

    use super::*;
    use crate::case::Ask;
    use crate::testing::{fine, fine_for, found, found_for, hidden, seen, statements, table, unseen};

    fn slot() -> SlotFacts {
        SlotFacts { name: "Old".into(), is_active: true, kept: 5e9, left: None, is_lost: false }
    }

    #[test]
    fn a_slot_that_nobody_reads_keeps_the_log() {
        let finding = found("repl.slots", |facts| {
            seen(&mut facts.slots).push(SlotFacts { is_active: false, ..slot() });
        });
        assert_eq!(finding.title, "nobody reads from the slot \"Old\"");
        assert_eq!(statements(&finding, 0), "SELECT pg_drop_replication_slot('Old');");
        fine("repl.slots", |facts| seen(&mut facts.slots).push(slot()));
        let ask = Ask { bytes: Some(1000), ..Ask::default() };
        let short = |left| {
            move |facts: &mut howdah::facts::Facts| {
                seen(&mut facts.slots).push(SlotFacts { left: Some(left), ..slot() });
            }
        };
        assert_eq!(found_for("repl.slots", &ask, short(999.0)).severity, Severity::Fails);
        fine_for("repl.slots", &ask, short(1000.0));
        let lost =
            found("repl.slots", |facts| seen(&mut facts.slots).push(SlotFacts { is_lost: true, ..slot() }));
        assert_eq!(lost.severity, Severity::Notice);
        unseen("repl.slots", |facts| facts.slots = hidden());
    }

    #[test]
    fn a_standby_is_behind_after_a_minute() {
        found("repl.lag", |facts| seen(&mut facts.standbys).lag_s = Some(61.0));
        fine("repl.lag", |facts| seen(&mut facts.standbys).lag_s = Some(60.0));
        unseen("repl.lag", |facts| facts.standbys = hidden());
    }

    #[test]
    fn what_is_published_needs_an_identity() {
        let finding = found("repl.identity", |facts| {
            (table(facts).publishes_changes, table(facts).has_identity) = (true, false);
        });
        assert_eq!(statements(&finding, 0), "ALTER TABLE public.events REPLICA IDENTITY FULL;");
        let refused = found("repl.identity", |facts| {
            let table = table(facts);
            (table.publishes_changes, table.has_identity) = (true, false);
            (table.wants_no_identity, table.has_primary_key) = (true, true);
        });
        assert_eq!(statements(&refused, 0), "ALTER TABLE public.events REPLICA IDENTITY DEFAULT;");
        let undo = refused.remedies[0].undo.to_string();
        assert_eq!(undo, "ALTER TABLE public.events REPLICA IDENTITY NOTHING;");
        let full = found("repl.identity", |facts| {
            (table(facts).publishes_changes, table(facts).has_full_identity) = (true, true);
        });
        assert_eq!(full.severity, Severity::Notice);
        fine("repl.identity", |facts| table(facts).publishes_changes = true);
        fine("repl.identity", |facts| table(facts).has_identity = false);
    }
}
