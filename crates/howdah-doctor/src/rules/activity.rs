//! What other sessions left open, and how old the database's transactions are.

use crate::case::Case;
use crate::figures::{count, duration};
use crate::finding::{Basis, Finding, Remedy, Severity};
use crate::rule::Rule;
use crate::sql;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "server.wraparound",
        title: "transaction ids run out",
        condition: "the database's oldest transaction is more than 1.5 billion transactions old",
        why: "at two billion the server takes no more writes until the tables are vacuumed",
        remedy: "vacuum the database, oldest tables first, after ending what keeps it from being cleared: old transactions, \
                 prepared ones, slots",
        judge: wraparound,
    },
    Rule {
        id: "server.prepared",
        title: "a prepared transaction was forgotten",
        condition: "one that is prepared and is older than a minute",
        why: "it keeps its locks through restarts, and keeps rows that were deleted since from being cleared away",
        remedy: "commit it or roll it back, as its transaction manager would",
        judge: prepared,
    },
    Rule {
        id: "server.transactions",
        title: "a transaction has been open for long",
        condition: "one of another session that began more than an hour ago and can see old rows",
        why: "rows that are deleted or updated since, as by an upsert, are not cleared away, so table and indexes grow; it keeps its \
              locks, too",
        remedy: "end the transaction, or the session",
        judge: transactions,
    },
];

const OLD_TRANSACTIONS: i64 = 1_500_000_000;

/// What is in its second phase now is over sooner.
const FORGOTTEN_S: f64 = 60.0;

/// A backup or a report takes less.
const LONG_OPEN_S: f64 = 3600.0;

fn wraparound(case: &Case<'_>) -> Judged {
    let age = case.facts.session.transaction_age;
    if case.version() == 0 {
        return Err(case.hidden_setting("datfrozenxid"));
    }
    if age <= OLD_TRANSACTIONS {
        return Ok(Verdict::Fine);
    }
    let price = "reads and writes every old table once";
    Ok(Verdict::of(vec![
        Finding::new(Severity::Fails, Basis::Counted, "transaction ids run out")
            .seen(format!("the database's oldest transaction is {} transactions old", count(age as f64)))
            .remedy(
                Remedy::sql(["VACUUM (FREEZE);"], Undo::NotNeeded, price)
                    .needs("the tables' owner, or pg_maintain (17+)"),
            ),
    ]))
}

fn prepared(case: &Case<'_>) -> Judged {
    let prepared = case.see(&case.facts.prepared, "prepared transactions")?;
    let old = prepared.iter().filter(|each| each.seconds > FORGOTTEN_S);
    let findings = old.map(|each| {
        let gid = sql::literal(&each.gid);
        Finding::new(
            Severity::Fails,
            Basis::Seen,
            format!("the transaction {gid} is prepared since {}", duration(each.seconds)),
        )
        .seen(format!(
            "of the role {}, in the database {}",
            sql::name(&each.owner),
            sql::name(&each.database)
        ))
        .remedy(
            Remedy::sql(
                [format!("ROLLBACK PREPARED {gid};")],
                Undo::impossible("what it did is lost"),
                "what it did is lost",
            )
            .needs(format!("the role {}, in that database", sql::name(&each.owner))),
        )
        .remedy(
            Remedy::sql(
                [format!("COMMIT PREPARED {gid};")],
                Undo::impossible("what it did is there"),
                "its other halves may be rolled back",
            )
            .needs(format!("the role {}, in that database", sql::name(&each.owner))),
        )
    });
    Ok(Verdict::of(findings.collect()))
}

fn transactions(case: &Case<'_>) -> Judged {
    let transactions = case.see(&case.facts.transactions, "other sessions' transactions")?;
    let old = transactions.iter().filter(|each| each.seconds > LONG_OPEN_S && each.holds_rows);
    let findings = old.map(|each| {
        let role = each.role.as_deref().map(|role| format!(" of {}", sql::name(role))).unwrap_or_default();
        Finding::new(
            Severity::Notice,
            Basis::Seen,
            format!("a transaction{role} is open for {}", duration(each.seconds)),
        )
        .seen(format!("process {}, {}", each.pid, each.state.as_deref().unwrap_or("state not known")))
        .remedy(
            Remedy::sql(
                [format!("SELECT pg_terminate_backend({});", each.pid)],
                Undo::impossible("its session is gone"),
                "its work is rolled back, and its program loses the connection",
            )
            .needs("the same role, or pg_signal_backend"),
        )
    });
    Ok(Verdict::of(findings.collect()))
}

#[cfg(test)]
mod tests {
    use howdah::facts::{PreparedTransaction, TransactionFacts};

    use super::*;
    use crate::testing::{fine, found, hidden, seen, statements, unseen};

    #[test]
    fn transaction_ids_run_out_at_some_age() {
        found("server.wraparound", |facts| facts.session.transaction_age = OLD_TRANSACTIONS + 1);
        fine("server.wraparound", |facts| facts.session.transaction_age = OLD_TRANSACTIONS);
    }

    #[test]
    fn a_prepared_transaction_is_forgotten_after_a_minute() {
        let of_age = |seconds| PreparedTransaction {
            gid: "it's".into(),
            owner: "Ann".into(),
            database: "shop".into(),
            seconds,
        };
        let finding = found("server.prepared", |facts| seen(&mut facts.prepared).push(of_age(61.0)));
        assert_eq!(statements(&finding, 0), "ROLLBACK PREPARED 'it''s';");
        assert_eq!(finding.remedies[0].needs, "the role \"Ann\", in that database");
        fine("server.prepared", |facts| seen(&mut facts.prepared).push(of_age(60.0)));
        unseen("server.prepared", |facts| facts.prepared = hidden());
    }

    #[test]
    fn a_transaction_is_long_after_an_hour() {
        let of_age = |seconds, holds_rows| TransactionFacts {
            pid: 4711,
            role: Some("ann".into()),
            state: Some("idle in transaction".into()),
            seconds,
            holds_rows,
        };
        let finding =
            found("server.transactions", |facts| seen(&mut facts.transactions).push(of_age(7200.0, true)));
        assert_eq!(finding.title, "a transaction of ann is open for 2 h");
        assert_eq!(statements(&finding, 0), "SELECT pg_terminate_backend(4711);");
        fine("server.transactions", |facts| seen(&mut facts.transactions).push(of_age(3600.0, true)));
        fine("server.transactions", |facts| seen(&mut facts.transactions).push(of_age(7200.0, false)));
        let gap = unseen("server.transactions", |facts| facts.transactions = hidden());
        assert_eq!(gap.shown_by.as_deref(), Some("GRANT pg_monitor TO loader;"));
    }
}
