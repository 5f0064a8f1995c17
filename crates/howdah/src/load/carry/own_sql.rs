//! The user's own SQL in the load's transaction: one text after the other, none of which may end that transaction.

use howdah_connect::Connection;
use howdah_message::{Setting, setting};
use tokio_postgres::types::Type;

use crate::error::{Committed, Error, ErrorKind};
use crate::load::Load;

/// The transaction that a connection is in, by its number.
struct OpenTransaction(String);

impl OpenTransaction {
    /// The connection's transaction, which gets a number if it had none.
    async fn of(connection: &Connection) -> Result<OpenTransaction, Error> {
        let sql = "select pg_catalog.pg_current_xact_id()::text";
        let row = connection.client().query_typed_one(sql, &[]).await?;
        Ok(OpenTransaction(row.get(0)))
    }

    /// Whether the connection is still in it.
    async fn is_open(&self, connection: &Connection) -> Result<bool, Error> {
        self.ask(connection, "select pg_catalog.pg_current_xact_id_if_assigned() = $1::text::xid8").await
    }

    /// Whether it was committed; a transaction that is open now is rolled back.
    async fn is_committed(&self, connection: &Connection) -> Result<bool, Error> {
        connection.client().batch_execute("ROLLBACK").await?;
        self.ask(connection, "select pg_catalog.pg_xact_status($1::text::xid8) = 'committed'").await
    }

    /// What it was prepared as, to be committed by somebody some day.
    async fn prepared(&self, connection: &Connection) -> Result<Option<String>, Error> {
        connection.client().batch_execute("ROLLBACK").await?;
        let sql = "select gid from pg_catalog.pg_prepared_xacts where transaction = $1::text::xid8::xid";
        let rows = connection.client().query_typed(sql, &[(&self.0, Type::TEXT)]).await?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    async fn ask(&self, connection: &Connection, sql: &str) -> Result<bool, Error> {
        let row = connection.client().query_typed_one(sql, &[(&self.0, Type::TEXT)]).await?;
        Ok(row.get::<_, Option<bool>>(0).unwrap_or(false))
    }
}

/// COPY from standard input or to standard output ends the conversation: nobody sends the rows, nor takes them.
fn of_copy(error: Error, text: &str) -> Error {
    let words = text.to_ascii_lowercase();
    let is_it = words.contains("copy") && (words.contains("stdin") || words.contains("stdout"));
    if !is_it || error.sqlstate().is_some() || error.kind() == ErrorKind::Cancelled {
        return error;
    }
    Error::usage(message!["the SQL has a COPY of its own, FROM STDIN or TO STDOUT: ", text.to_owned()])
        .with_hint(
            "there is no input but the load's: COPY from a file of the server, or load that input by itself",
        )
        .nothing_changed()
}

/// Whether the SQL makes a rule, which rows that are there can break.
fn makes_a_rule(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).any(|pair| matches!(pair, ["alter", "table" | "domain"] | ["create", "unique"]))
}

/// A rule of a table that the SQL broke, or that rows break for which the SQL makes it. Otherwise deferred constraints are
/// checked at once by then, so that they name the record which breaks them.
fn of_a_rule(error: Error, option: Setting, text: &str) -> Error {
    let state = error.sqlstate().unwrap_or_default();
    if !state.starts_with("23") || error.hint().is_some() {
        return error;
    }
    if makes_a_rule(text) {
        return error.with_hint(match option == setting::AFTER {
            true => message![
                "a row of the table breaks the rule that the SQL makes, and the server does not know its line: where the \
                 table has the rule before the load, the record is named, and ",
                setting::ON_ERROR.word("ignore"),
                " keeps such records apart"
            ],
            false => "a row that was there before the load breaks the rule that the SQL makes".into(),
        });
    }
    let may_be_deferred = ["23503", "23505", "23P01"].contains(&state) && option == setting::AFTER;
    error.with_hint(match may_be_deferred {
        true => {
            "the SQL broke it, no record did: deferred constraints are checked at once by then, and \
             SET CONSTRAINTS ALL DEFERRED in front of the SQL puts that off until the commit"
        }
        false => "the SQL broke it, no record did",
    })
}

impl Load<'_> {
    /// Runs the user's own SQL, one text after the other: a line comment at its end would swallow the next. `done` says what
    /// the load had done in its transaction before.
    ///
    /// # Errors
    /// The server's; a text that ended the transaction, which is told apart by what became of it.
    pub(super) async fn run_own_sql(
        &self,
        connection: &Connection,
        option: Setting,
        texts: &[String],
        done: &str,
    ) -> Result<(), Error> {
        if texts.is_empty() {
            return Ok(());
        }
        let transaction = self.interruptible(connection, OpenTransaction::of(connection)).await?;
        for (at, text) in texts.iter().enumerate() {
            let which = match texts.len() {
                1 => message![option],
                of => message![option, format!(" ({} of {of})", at + 1)],
            };
            let ran = self.run_all(connection, std::slice::from_ref(text)).await;
            if ran.is_ok() && self.interruptible(connection, transaction.is_open(connection)).await? {
                continue;
            }
            let ran = ran.map_err(|error| of_copy(error, text));
            let failure = match ran {
                Err(error) => of_a_rule(error, option, text),
                Ok(()) => {
                    let ended = message!["the SQL ended the load's transaction: ", text.clone()];
                    Error::new(ErrorKind::Server, ended)
                        .with_hint("leave COMMIT and ROLLBACK out: the load commits when all of it is there")
                        .with_visible(
                            Committed::No,
                            "no row of this load; what the SQL did behind the end of the transaction may be in",
                        )
                }
            };
            if let Some(Ok(Some(gid))) = self.control.clean_up(transaction.prepared(connection)).await {
                let gid = gid.replace('\'', "''");
                let visible = format!(
                    "the transaction is prepared: COMMIT PREPARED '{gid}' puts in what stood before ({done}), ROLLBACK PREPARED \
                     '{gid}' takes it away; until then it keeps its locks"
                );
                return Err(failure
                    .prefixed(which)
                    .of_kind(ErrorKind::PartlyCommitted)
                    .with_visible(Committed::Unknown, visible));
            }
            // Where the server does not answer any more, the failure is about that already.
            let asked = self.control.clean_up(transaction.is_committed(connection)).await;
            if matches!(asked, Some(Ok(true))) {
                return Err(failure
                    .prefixed(which)
                    .of_kind(ErrorKind::PartlyCommitted)
                    .with_visible(Committed::Partly, format!("what stood before the COMMIT: {done}")));
            }
            return Err(failure.prefixed(which));
        }
        Ok(())
    }
}
