//! A self-test of descriptions: statements run with the values of their `@set`, and no column that is called not null is null.
//!
//! Each text that a statement can be is prepared with the types that were described, runs once, and is taken back.

use std::collections::BTreeMap;

use tokio_postgres::{Client, SimpleQueryMessage};

use super::block_text::{BlockText, about};
use super::variants;
use crate::check::Source;
use crate::describe::Error;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::model::{Column, Role, Statement};
use crate::source::{Block, Piece};

/// SQLSTATE's class of constraints that a statement breaks.
const CONSTRAINTS: &str = "23";

/// A statement that waits for ever is wrong, too.
const BEGIN: &str = "savepoint howdah_execute; set local statement_timeout = '30s'";
const END: &str = "rollback to savepoint howdah_execute; release savepoint howdah_execute";

/// What the end of the savepoint is answered by where a statement has ended its transaction.
const ENDED: [&str; 2] = ["25P01", "3B001"];
const AGAIN: &str = "rollback; begin";

/// What ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Executed {
    /// QUERY and EXEC blocks of which every text ran.
    pub statements: usize,
    /// Of these, the ones that gave a row: only rows can show that a column is null.
    pub gave_rows: usize,
    /// Texts that were tried, of optional lines and choices one each.
    pub texts: usize,
}

impl Executed {
    /// Runs what a statement can be; says what the server refused, and which columns are null that are called not null.
    pub(super) async fn run(
        &mut self,
        client: &Client,
        (source, statement): (&Source, &Statement),
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<(), Error> {
        let Some(block) = source.blocks.iter().find(|block| block.name == statement.name) else {
            return Ok(());
        };
        let (mut refused, mut gave_rows) = (false, false);
        let mut null = BTreeMap::new();
        for variant in variants::of(block) {
            let pieces = variant.pieces();
            client.batch_execute(BEGIN).await?;
            self.texts += 1;
            let answer = answer(client, block, statement, &pieces, self.texts).await;
            if let Err(error) = client.batch_execute(END).await {
                if !error.code().is_some_and(|code| ENDED.contains(&code.code())) {
                    return Err(error.into());
                }
                refused = true;
                let message = "it ends the transaction in which it is tried";
                diagnostics.push(
                    about(Code::SqlExecutionError, block.place.clone(), message, block)
                        .help("a method of the driver's connection commits"),
                );
                client.batch_execute(AGAIN).await?;
                break;
            }
            match answer {
                Ok(RunOutcome { has_rows, nulls }) => {
                    gave_rows |= has_rows;
                    for index in nulls {
                        null.entry(index).or_insert_with(|| variant.shown());
                    }
                }
                // One text is enough to see what is wrong with the values.
                Err(_) if refused => {}
                Err(message) => {
                    refused = true;
                    diagnostics.push(*message);
                }
            }
        }
        let columns = statement.columns.iter().enumerate();
        let wrong =
            columns.filter_map(|(index, column)| Some(contradicted(column, null.get(&index)?, block)));
        diagnostics.extend(wrong);
        self.statements += usize::from(!refused);
        self.gave_rows += usize::from(!refused && gave_rows);
        Ok(())
    }
}

/// What a text gave.
struct RunOutcome {
    has_rows: bool,
    /// The columns that are called not null, and are null.
    nulls: Vec<usize>,
}

/// Runs one text in the savepoint that stands. What is prepared outlives that: its name has a number of its own.
async fn answer(
    client: &Client,
    block: &Block,
    statement: &Statement,
    pieces: &[Piece],
    number: usize,
) -> Result<RunOutcome, Box<Diagnostic>> {
    let is_in = |name: &str| {
        pieces.iter().any(|piece| matches!(piece, Piece::Variable { name: found, .. } if found == name))
    };
    let values = statement
        .parameters
        .iter()
        .filter(|parameter| parameter.role == Role::Value && is_in(&parameter.name));
    let (names, types): (Vec<_>, Vec<_>) =
        values.map(|parameter| (parameter.name.clone(), parameter.ty.sql.as_str())).unzip();
    let text = BlockText::new(pieces, &names);
    let set = names.iter().filter_map(|name| block.variables.iter().find(|set| set.name == *name));
    let set = set.map(|set| set.value.as_str()).collect::<Vec<_>>();
    let messages = if names.is_empty() {
        // Of what has no parameters, not everything can be prepared by a statement.
        client.simple_query(&text.sql).await.map_err(|error| text.refused(Error::from(error), block))
    } else {
        let prepare = format!("prepare howdah_execute_{number} ({}) as ", types.join(", "));
        let prepared = client.batch_execute(&format!("{prepare}{}", text.sql)).await;
        prepared.map_err(|error| {
            let mut error = Error::from(error);
            error.position = error.position.and_then(|at| at.checked_sub(prepare.chars().count()));
            text.refused(error, block)
        })?;
        let execute = format!("execute howdah_execute_{number} ({})", set.join(", "));
        // Its places are those of a text that is in no file.
        client.simple_query(&execute).await.map_err(|error| text.refused(Error::of_question(error), block))
    };
    let messages = messages.map_err(|mut message| {
        if message.sqlstate.as_deref().is_some_and(|state| state.starts_with(CONSTRAINTS)) {
            message.severity = Severity::Warning;
        }
        Box::new(message.help("it ran with the values of `@set`, on the rows of TESTDATA"))
    })?;
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let mut answer = RunOutcome { has_rows: false, nulls: Vec::new() };
    for row in rows {
        answer.has_rows = true;
        for (index, column) in statement.columns.iter().enumerate() {
            if !column.nullable && matches!(row.try_get(index), Ok(None)) {
                answer.nulls.push(index);
            }
        }
    }
    Ok(answer)
}

/// A column was called not null, and is null.
fn contradicted(column: &Column, variant: &str, block: &Block) -> Diagnostic {
    let variant = if variant.is_empty() { String::new() } else { format!(", {variant}") };
    let message =
        format!("`{}` is called not null ({}) and came back null{variant}", column.name, column.why);
    let said = block.result.iter().find(|said| said.name == column.name && said.nullable.is_some());
    let place = said.map_or(&block.place, |said| &said.place);
    about(Code::NullReturned, place.clone(), message, block)
        .help(format!("write `result: {{{}: null}}` in the header", column.name))
}
