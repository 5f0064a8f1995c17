//! What became of transactions whose COMMIT was sent, and how a person is told.

use howdah_connect::{Connection, Target};
use tokio_postgres::error::Severity;
use tokio_postgres::types::Type;

use crate::error::{Committed, Error, ErrorKind};
use crate::publish::server_identity::ServerIdentity;

/// A transaction of a connection, by its number.
#[derive(Debug, Clone)]
pub(crate) struct Transaction {
    /// As `pg_xact_status` takes it. `None`: it has written nothing.
    id: Option<String>,
    /// As rows have it in `xmin`, without the epoch; behind it those of its subtransactions.
    xmins: Vec<String>,
}

/// What became of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionState {
    /// Nobody knows yet.
    Open,
    Committed,
    RolledBack,
}

/// What the server knows.
pub(crate) enum InquiryAnswer {
    /// For each transaction that was asked for.
    States(Vec<TransactionState>),
    /// The server is not the one that gave the numbers: what it knows of them is of no use.
    Another,
}

impl Transaction {
    /// The open transaction of `connection`, with the numbers of its `subtransactions`.
    ///
    /// # Errors
    /// There is none that could be committed.
    pub(crate) async fn open(
        connection: &Connection,
        subtransactions: Vec<String>,
    ) -> Result<Transaction, Error> {
        let sql = "select x::text, x::xid::text from pg_catalog.pg_current_xact_id_if_assigned() as x";
        let row = connection.client().query_typed_one(sql, &[]).await?;
        let xmins = row.get::<_, Option<String>>(1).into_iter().chain(subtransactions).collect();
        Ok(Transaction { id: row.get(0), xmins })
    }
}

impl TransactionState {
    /// What the answer to COMMIT tells. Only an ERROR is a refusal: a session that is ended by FATAL may have committed, for
    /// instance while it waited for a standby.
    pub(crate) fn told_by(answer: &Result<(), tokio_postgres::Error>) -> TransactionState {
        match answer {
            Ok(()) => TransactionState::Committed,
            Err(error) => match error.as_db_error().and_then(|db| db.parsed_severity()) {
                Some(Severity::Error) => TransactionState::RolledBack,
                _ => TransactionState::Open,
            },
        }
    }
}

/// Asks the server at `target` for the states of `transactions`, if it is `server`. Where COMMIT has not arrived, `to_end` says of
/// which the session is to be ended, from all states and of which transactions that is so: it could arrive late.
///
/// # Errors
/// There is no answer.
pub(crate) async fn ask(
    target: &Target,
    server: Option<&ServerIdentity>,
    transactions: &[Transaction],
    to_end: impl FnOnce(&[TransactionState], &[bool]) -> Vec<bool>,
) -> Result<InquiryAnswer, Error> {
    let connection = target.connect().await?;
    let found = ServerIdentity::read(&connection).await;
    if found.is_none() || found.as_ref() != server {
        return Ok(InquiryAnswer::Another);
    }
    let ids: Vec<Option<&str>> = transactions.iter().map(|transaction| transaction.id.as_deref()).collect();
    let sql = "select pg_catalog.pg_xact_status(id::xid8), coalesce(a.state = 'idle in transaction', false)
                 from pg_catalog.unnest($1::text[]) with ordinality as t(id, n)
                 left join pg_catalog.pg_stat_activity as a on a.backend_xid = id::xid8::xid
                order by n";
    let rows = connection.client().query_typed(sql, &[(&ids, Type::TEXT_ARRAY)]).await?;
    let state = |status: Option<&str>, has_written: bool| match status {
        Some("committed") => TransactionState::Committed,
        Some("aborted") => TransactionState::RolledBack,
        // What has written nothing is the same either way.
        None if !has_written => TransactionState::Committed,
        _ => TransactionState::Open,
    };
    let states: Vec<TransactionState> =
        rows.iter().zip(&ids).map(|(row, id)| state(row.get(0), id.is_some())).collect();
    let is_late: Vec<bool> = rows.iter().map(|row| row.get(1)).collect();
    let ends = to_end(&states, &is_late);
    let ids: Vec<&str> = ids.into_iter().zip(ends).filter_map(|(id, ends)| id.filter(|_| ends)).collect();
    if !ids.is_empty() {
        // Looked at again: COMMIT may have arrived meanwhile.
        let sql = "select pg_catalog.pg_terminate_backend(a.pid)
                     from pg_catalog.unnest($1::text[]) as id
                     join pg_catalog.pg_stat_activity as a on a.backend_xid = id::xid8::xid
                    where a.state = 'idle in transaction'";
        connection.client().query_typed(sql, &[(&ids, Type::TEXT_ARRAY)]).await?;
    }
    Ok(InquiryAnswer::States(states))
}

/// The transactions of a commit that did not simply work, and what became of them.
pub(crate) struct Account<'a> {
    pub(crate) transactions: &'a [Transaction],
    pub(crate) states: &'a [TransactionState],
    pub(crate) server: Option<&'a ServerIdentity>,
    pub(crate) remedy: Remedy<'a>,
}

/// What helps where only some of the transactions are committed. Tables are quoted and qualified for SQL.
pub(crate) enum Remedy<'a> {
    /// Deleting would not undo it.
    None,
    /// To take the rows out again that were added to this table.
    TakeOut(&'a str),
    /// To change this table again: rows that were changed already come to the same.
    RunAgain(&'a str),
}

impl Account<'_> {
    /// `failure`, with what is committed and what is not, how to find out and how to undo it.
    pub(crate) fn explain(&self, failure: Error) -> Error {
        let (committed, open) = (self.of(TransactionState::Committed), self.of(TransactionState::Open));
        let total = self.states.len();
        if committed.is_empty() && open.is_empty() {
            return failure.nothing_changed();
        }
        let (what, into) = match self.remedy {
            Remedy::None => ("rows", "the table"),
            Remedy::TakeOut(table) => ("rows", table),
            Remedy::RunAgain(table) => ("changes", table),
        };
        let (verdict, visible) = match (committed.len(), open.len()) {
            (0, _) if total == 1 => {
                (Committed::Unknown, "unknown: COMMIT was sent, and no answer came".to_owned())
            }
            (0, open) => (
                Committed::Unknown,
                format!(
                    "unknown: COMMIT was sent on {total} connections, and of {open} it is not known what became of them; the other {what} are not in {into}"
                ),
            ),
            (done, 0) => (
                Committed::Partly,
                format!(
                    "the {what} of {done} of {total} connections are in {into}; those of the others are not"
                ),
            ),
            (done, open) => (
                Committed::Partly,
                format!(
                    "the {what} of {done} of {total} connections are in {into}; of {open} it is not known"
                ),
            ),
        };
        let ids = |list: &[&Transaction]| {
            let ids: Vec<&str> = list.iter().filter_map(|transaction| transaction.id.as_deref()).collect();
            ids.join(", ")
        };
        let rolled_back = self.of(TransactionState::RolledBack);
        let told = [("committed", &committed), ("rolled back", &rolled_back), ("unknown", &open)];
        let told = told.iter().filter(|(_, list)| !list.is_empty());
        let told: Vec<String> = told.map(|(word, list)| format!("{word}: {}", ids(list))).collect();
        let mut steps = Vec::new();
        if !open.is_empty() {
            let server = match self.server {
                Some(server) => {
                    format!(
                        ", which has the system identifier {} and timeline {}",
                        server.system, server.timeline
                    )
                }
                None => String::new(),
            };
            steps.push(format!(
                "to find out, on the same server{server}: SELECT id, pg_xact_status(id::xid8) FROM unnest('{{{}}}'::text[]) AS id",
                ids(&open).replace(' ', "")
            ));
        }
        match self.remedy {
            Remedy::None => {}
            Remedy::RunAgain(table) => steps.push(format!(
                "run the same load again: it finds what is in, and {table} is then as after one load"
            )),
            Remedy::TakeOut(table) => {
                let theirs = committed.iter().chain(&open).flat_map(|transaction| &transaction.xmins);
                let xmins: Vec<String> = theirs.map(|xmin| format!("'{xmin}'")).collect();
                steps.push(format!(
                    "to take the rows out again: DELETE FROM {table} WHERE xmin::text IN ({})",
                    xmins.join(", ")
                ));
            }
        }
        failure
            .of_kind(ErrorKind::PartlyCommitted)
            .with_detail(format!("transactions {}", told.join("; ")))
            .with_visible(verdict, visible)
            .with_hint(steps.join("; "))
    }

    fn of(&self, state: TransactionState) -> Vec<&Transaction> {
        let pairs = self.transactions.iter().zip(self.states);
        pairs.filter(|(_, its)| **its == state).map(|(transaction, _)| transaction).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(id: &str, xmins: &[&str]) -> Transaction {
        let xmins = xmins.iter().map(|xmin| (*xmin).to_owned()).collect();
        Transaction { id: Some(id.to_owned()), xmins }
    }

    fn explained(states: &[TransactionState], remedy: Remedy<'_>) -> Error {
        let transactions = [transaction("4294967301", &["5", "7"]), transaction("4294967302", &["6"])];
        let server = ServerIdentity { system: "77".into(), timeline: "00000001".into() };
        let account =
            Account { transactions: &transactions[..states.len()], states, server: Some(&server), remedy };
        account.explain(Error::new(ErrorKind::Server, "lost"))
    }

    const TABLE: &str = "\"s\".\"t\"";

    #[test]
    fn what_is_in_is_told_from_what_may_be() {
        use TransactionState::{Committed as In, Open, RolledBack as Out};
        for (states, committed, visible) in [
            (&[Out, Out][..], Committed::No, "nothing was changed"),
            (&[Open], Committed::Unknown, "unknown: COMMIT was sent, and no answer came"),
            (&[In, Out], Committed::Partly, "the rows of 1 of 2 connections are in \"s\".\"t\"; those of"),
            (&[In, Open], Committed::Partly, "the rows of 1 of 2 connections are in \"s\".\"t\"; of 1 it is"),
            (&[Out, Open], Committed::Unknown, "unknown: COMMIT was sent on 2 connections, and of 1 it"),
        ] {
            let error = explained(states, Remedy::TakeOut(TABLE));
            assert_eq!(error.committed(), committed, "{states:?}");
            assert!(error.visible().unwrap().starts_with(visible), "{error:?}");
        }
    }

    #[test]
    fn the_way_back_names_the_table_and_every_row_of_the_load() {
        let states = [TransactionState::Committed, TransactionState::RolledBack];
        let error = explained(&states, Remedy::TakeOut(TABLE));
        assert_eq!(error.detail(), Some("transactions committed: 4294967301; rolled back: 4294967302"));
        let undo = "to take the rows out again: DELETE FROM \"s\".\"t\" WHERE xmin::text IN ('5', '7')";
        assert_eq!(error.hint(), Some(undo));
        let states = [TransactionState::Open, TransactionState::Open];
        let hint = explained(&states, Remedy::TakeOut(TABLE)).hint().unwrap().to_owned();
        assert!(hint.contains("the system identifier 77 and timeline 00000001: SELECT id"), "{hint}");
        assert!(hint.contains("unnest('{4294967301,4294967302}'::text[])"), "{hint}");
        assert!(hint.ends_with("IN ('5', '7', '6')"), "{hint}");
    }

    #[test]
    fn changes_that_cannot_be_undone_are_made_again() {
        let states = [TransactionState::Committed, TransactionState::RolledBack];
        let error = explained(&states, Remedy::RunAgain(TABLE));
        assert!(
            error.visible().unwrap().starts_with("the changes of 1 of 2 connections are in"),
            "{error:?}"
        );
        let hint = "run the same load again: it finds what is in, and \"s\".\"t\" is then as after one load";
        assert_eq!(error.hint(), Some(hint));
    }
}
