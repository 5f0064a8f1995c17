//! The table itself: whether it takes rows, and in which state it is.

use howdah::facts::LockFacts;
use howdah::report::Durability;

use crate::case::Case;
use crate::figures::duration;
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::remedies::owner;
use crate::rule::Rule;
use crate::sql;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "table.rights",
        title: "the role lacks a right",
        condition: "the role may not use the table's schema, or not INSERT; without a table: there is no schema in which it may make one",
        why: "the load is refused with SQLSTATE 42501",
        remedy: "the owner grants the right",
        judge: rights,
    },
    Rule {
        id: "table.locked",
        title: "somebody holds the table",
        condition: "another session or a prepared transaction holds, or waits for, a lock that an insert waits for",
        why: "the load waits before its first row until that session is done; behind one that waits for such a lock it waits as well",
        remedy: "wait for its end, or end it; a limit for the wait says who it is",
        judge: locked,
    },
    Rule {
        id: "table.partitions",
        title: "no partition takes rows",
        condition: "the table is partitioned and has no partition",
        why: "every row is refused with SQLSTATE 23514",
        remedy: "make the partitions; one that is DEFAULT takes every row",
        judge: partitions,
    },
    Rule {
        id: "table.rls",
        title: "row-level security applies to the role",
        condition: "row_security_active() for the table and the role",
        why: "the server refuses COPY into such a table, so rows go to a staging table first and are inserted from there: they are \
              written twice",
        remedy: "load as a role to which the policies do not apply",
        judge: row_security,
    },
    Rule {
        id: "table.unlogged",
        title: "a crash empties the table",
        condition: "relpersistence is u",
        why: "after a crash of the server the table is empty, and standbys never have its rows",
        remedy: "make it a logged one, which writes it to the log once",
        judge: unlogged,
    },
];

fn rights(case: &Case<'_>) -> Judged {
    let role = case.role();
    if case.facts.table.is_none() {
        let session = &case.facts.session;
        if session.version_num == 0 || session.creates_tables {
            return Ok(Verdict::DoesNotApply);
        }
        let schema = session.schema.as_deref().unwrap_or("public");
        let schema = sql::name(schema);
        return Ok(Verdict::of(vec![
            Finding::new(
                Severity::Notice,
                Basis::Seen,
                format!("{role} may make no tables in the schema {schema}"),
            )
            .seen("has_schema_privilege() says so: a load makes its table where it is missing")
            .remedy(
                Remedy::sql(
                    [format!("GRANT CREATE ON SCHEMA {schema} TO {role};")],
                    Undo::sql(format!("REVOKE CREATE ON SCHEMA {schema} FROM {role};")),
                    "the role can make any table there",
                )
                .needs("the schema's owner"),
            ),
        ]));
    }
    let table = case.see_table()?;
    let mut findings = Vec::new();
    if !table.uses_schema {
        let schema = sql::name(&table.schema);
        findings.push(
            Finding::new(Severity::Fails, Basis::Seen, format!("{role} may not use the schema {schema}"))
                .seen("has_schema_privilege() says so")
                .remedy(
                    Remedy::sql(
                        [format!("GRANT USAGE ON SCHEMA {schema} TO {role};")],
                        Undo::sql(format!("REVOKE USAGE ON SCHEMA {schema} FROM {role};")),
                        "the role sees the names of what is there",
                    )
                    .needs("the schema's owner"),
                ),
        );
    }
    if !table.rights.iter().any(|right| right == "INSERT") {
        let of = sql::table(table);
        findings.push(
            Finding::new(Severity::Fails, Basis::Seen, format!("{role} may not insert into {of}"))
                .seen(format!(
                    "it has {}",
                    if table.rights.is_empty() {
                        "no right on it".to_owned()
                    } else {
                        sql::names(&table.rights)
                    }
                ))
                .remedy(
                    Remedy::sql(
                        [format!("GRANT INSERT ON {of} TO {role};")],
                        Undo::sql(format!("REVOKE INSERT ON {of} FROM {role};")),
                        "the role can add any row",
                    )
                    .needs(owner(table)),
                ),
        );
    }
    Ok(Verdict::of(findings))
}

fn locked(case: &Case<'_>) -> Judged {
    let table = case.see_table()?;
    let locks = case.see(&table.locks, "locks on the table")?;
    let findings = locks.iter().map(|lock| {
        let (who, remedy) = holder(case, lock);
        let verb = if lock.is_held { "holds" } else { "waits for" };
        let since = lock
            .seconds
            .map(|seconds| format!(", its transaction is {} old", duration(seconds)))
            .unwrap_or_default();
        let finding = Finding::new(
            Severity::Fails,
            Basis::Seen,
            format!("{who} {verb} a lock on {}", sql::table(table)),
        );
        finding.seen(format!("{}{since}", lock.mode)).remedy(remedy)
    });
    Ok(Verdict::of(findings.collect()))
}

/// Who holds a lock, and how that ends.
fn holder(case: &Case<'_>, lock: &LockFacts) -> (String, Remedy) {
    let role = lock.role.as_deref().map(sql::name);
    if let Some(gid) = &lock.gid {
        let gid = sql::literal(gid);
        let remedy = Remedy::sql(
            [format!("ROLLBACK PREPARED {gid};")],
            Undo::impossible("what it did is lost"),
            "what it did is lost",
        );
        return (format!("the prepared transaction {gid}"), remedy.needs("its role, or a superuser"));
    }
    let Some(pid) = lock.pid else {
        let action = Action::Elsewhere(
            "SELECT gid FROM pg_prepared_xacts, then ROLLBACK PREPARED of that one".to_owned(),
        );
        let remedy = Remedy::new(action, Undo::impossible("what it did is lost"), "what it did is lost");
        return ("a prepared transaction".to_owned(), remedy.needs("its role, or a superuser"));
    };
    let state = match (&lock.state, case.facts.session.reads_activity) {
        (Some(state), _) => state.clone(),
        (None, true) => "no session any more".to_owned(),
        (None, false) => format!("what it does is hidden: {}", case.monitor()),
    };
    let of = role.map(|role| format!("role {role}, ")).unwrap_or_default();
    let remedy = Remedy::sql(
        [format!("SELECT pg_terminate_backend({pid});")],
        Undo::impossible("its session is gone"),
        "its work is rolled back, and its program loses the connection",
    );
    (format!("process {pid} ({of}{state})"), remedy.needs("the same role, or pg_signal_backend"))
}

fn partitions(case: &Case<'_>) -> Judged {
    let table = case.see_table()?;
    if table.kind != "p" {
        return Ok(Verdict::DoesNotApply);
    }
    if table.partitions > 0 {
        return Ok(Verdict::Fine);
    }
    let of = sql::table(table);
    let part: String = table.name.chars().take(55).chain("_default".chars()).collect();
    let part = sql::qualified(&table.schema, &part);
    Ok(Verdict::of(vec![
        Finding::new(Severity::Fails, Basis::Seen, format!("{of} is partitioned and has no partition"))
            .seen("pg_inherits has none")
            .remedy(
                Remedy::sql(
                    [format!("CREATE TABLE {part} PARTITION OF {of} DEFAULT;")],
                    Undo::Words(format!("DROP TABLE {part}, while it has no rows")),
                    "a partition that is made later is checked against all rows of the DEFAULT one",
                )
                .needs(owner(table)),
            ),
    ]))
}

fn row_security(case: &Case<'_>) -> Judged {
    let table = case.see_table()?;
    if !table.has_row_security {
        return Ok(Verdict::Fine);
    }
    let role = case.role();
    Ok(Verdict::of(vec![
        Finding::new(
            Severity::Costs,
            Basis::Known,
            format!("row-level security of {} applies to {role}", sql::table(table)),
        )
        .seen("row_security_active() says so")
        .remedy(
            Remedy::sql(
                [format!("ALTER ROLE {role} BYPASSRLS;")],
                Undo::sql(format!("ALTER ROLE {role} NOBYPASSRLS;")),
                "no policy of any table holds for the role",
            )
            .needs("a superuser"),
        ),
    ]))
}

fn unlogged(case: &Case<'_>) -> Judged {
    let table = case.see_table()?;
    if !table.is_unlogged {
        return Ok(Verdict::Fine);
    }
    let of = sql::table(table);
    Ok(Verdict::of(vec![
        Finding::new(Severity::Notice, Basis::Seen, format!("{of} is unlogged"))
            .seen(format!("relpersistence = u: {}", Durability::NotCrashSafe))
            .remedy(
                Remedy::sql(
                    [format!("ALTER TABLE {of} SET LOGGED;")],
                    Undo::sql(format!("ALTER TABLE {of} SET UNLOGGED;")),
                    "the table is written anew, and to the log, under a lock that keeps readers out",
                )
                .needs(owner(table)),
            ),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fine, found, hidden, seen, statements, table, unseen};

    #[test]
    fn a_right_that_is_missing_is_named_with_its_grant() {
        let finding = found("table.rights", |facts| table(facts).rights = vec!["SELECT".into()]);
        assert_eq!(finding.title, "loader may not insert into public.events");
        assert_eq!(statements(&finding, 0), "GRANT INSERT ON public.events TO loader;");
        assert_eq!(finding.remedies[0].needs, "its owner, ann");
        let schema = found("table.rights", |facts| table(facts).uses_schema = false);
        assert_eq!(statements(&schema, 0), "GRANT USAGE ON SCHEMA public TO loader;");
        let create =
            found("table.rights", |facts| (facts.table, facts.session.creates_tables) = (None, false));
        assert_eq!(statements(&create, 0), "GRANT CREATE ON SCHEMA public TO loader;");
        fine("table.rights", |facts| table(facts).rights = vec!["INSERT".into()]);
        fine("table.rights", |facts| facts.table = None);
    }

    #[test]
    fn whoever_holds_the_table_is_named() {
        let lock = LockFacts {
            pid: Some(4711),
            mode: "AccessExclusiveLock".into(),
            is_held: true,
            role: Some("Ann".into()),
            state: Some("idle in transaction".into()),
            seconds: Some(60.0),
            gid: None,
        };
        let finding = found("table.locked", |facts| seen(&mut table(facts).locks).push(lock.clone()));
        assert_eq!(
            finding.title,
            "process 4711 (role \"Ann\", idle in transaction) holds a lock on public.events"
        );
        assert_eq!(statements(&finding, 0), "SELECT pg_terminate_backend(4711);");
        let prepared = LockFacts { pid: None, gid: Some("g".into()), is_held: true, ..lock.clone() };
        let finding = found("table.locked", |facts| seen(&mut table(facts).locks).push(prepared));
        assert_eq!(statements(&finding, 0), "ROLLBACK PREPARED 'g';");
        let unknown = LockFacts { state: None, role: None, is_held: false, ..lock };
        let finding = found("table.locked", |facts| {
            facts.session.reads_activity = false;
            seen(&mut table(facts).locks).push(unknown);
        });
        assert!(
            finding.title.contains("hidden: GRANT pg_monitor TO loader;) waits for"),
            "{}",
            finding.title
        );
        fine("table.locked", |_| {});
        unseen("table.locked", |facts| table(facts).locks = hidden());
    }

    #[test]
    fn a_partitioned_table_without_partitions_takes_no_row() {
        let finding = found("table.partitions", |facts| table(facts).kind = "p".into());
        assert_eq!(
            statements(&finding, 0),
            "CREATE TABLE public.events_default PARTITION OF public.events DEFAULT;"
        );
        fine("table.partitions", |facts| (table(facts).kind, table(facts).partitions) = ("p".into(), 1));
    }

    #[test]
    fn states_of_a_table_that_matter() {
        let finding = found("table.rls", |facts| table(facts).has_row_security = true);
        assert_eq!(statements(&finding, 0), "ALTER ROLE loader BYPASSRLS;");
        let finding = found("table.unlogged", |facts| table(facts).is_unlogged = true);
        assert_eq!(finding.evidence, ["relpersistence = u: not crash-safe"]);
        for id in ["table.rls", "table.unlogged"] {
            fine(id, |_| {});
        }
    }
}
