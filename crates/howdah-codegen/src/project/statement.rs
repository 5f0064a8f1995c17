//! A QUERY or an EXEC, described: the server's word, and what the header says otherwise.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::block_text::{BlockText, about, refused};
use super::trouble::Trouble;
use crate::check::Source;
use crate::describe::{self, Types, Wish};
use crate::diagnostic::{Code, Diagnostic, Severity, nearest};
use crate::model::{Column, Fragment, Kind, Parameter, Statement, TypeRef};
use crate::source::{Block, BlockKind, Override, Piece};

/// The server's code where it cannot tell a parameter's type.
const INDETERMINATE: &str = "42P18";

/// Describes a statement, and says which types it mentions. `None`: something is wrong with it, which was told.
pub(super) async fn describe(
    client: &Client,
    source: &Source,
    block: &Block,
    told: &mut Vec<Diagnostic>,
) -> Result<Option<(Statement, Vec<u32>)>, Trouble> {
    let names = parameters(block);
    let text = BlockText::new(&block.body, &names);
    let Some(described) = ask(client, block, &text, &names, told).await else { return Ok(None) };
    let mut oids = described.parameters.iter().map(|found| found.oid).collect::<Vec<_>>();
    let parameters = described.parameters.into_iter().map(|found| parameter(found, block)).collect();
    let kind = if block.kind == BlockKind::Query { Kind::Query } else { Kind::Exec };
    let is = |name: &str| block.modifiers.iter().any(|modifier| modifier.name == name);
    let mut columns = Vec::new();
    if kind == Kind::Query {
        oids.extend(described.columns.iter().map(|found| found.oid));
        columns = described.columns.into_iter().map(column).collect();
        if let Some(wrong) = shape(&columns, is("pluck"), block) {
            told.push(wrong);
            return Ok(None);
        }
        for wanted in &block.result {
            match overridden(client, wanted, &mut columns, block, told).await {
                Ok(found) => oids.extend(found),
                Err(wrong) => {
                    told.push(*wrong);
                    return Ok(None);
                }
            }
        }
    }
    let fragment = |piece: &Piece| match piece {
        Piece::Text { text, .. } => Fragment::Text(text.clone()),
        Piece::Variable { name, .. } => {
            Fragment::Parameter(names.iter().position(|known| known == name).unwrap_or_default())
        }
    };
    let statement = Statement {
        name: block.name.clone(),
        kind,
        one: is("one"),
        pluck: is("pluck"),
        batch: is("batch"),
        result: block
            .modifiers
            .iter()
            .find(|modifier| modifier.name == "result")
            .and_then(|m| m.value.clone()),
        documentation: block.documentation.clone(),
        file: source.file.clone(),
        line: block.place.line,
        sql: block.body.iter().map(fragment).collect(),
        parameters,
        columns,
    };
    Ok(Some((statement, oids)))
}

/// The variables that are used, in the order in which they are set.
fn parameters(block: &Block) -> Vec<String> {
    let used = |name: &str| {
        block.body.iter().any(|piece| matches!(piece, Piece::Variable { name: found, .. } if found == name))
    };
    block.variables.iter().map(|set| set.name.clone()).filter(|name| used(name)).collect()
}

/// Asks the server. Where it cannot tell a type, the value of `@set` does, with a warning.
async fn ask(
    client: &Client,
    block: &Block,
    text: &BlockText<'_>,
    names: &[String],
    told: &mut Vec<Diagnostic>,
) -> Option<describe::Described> {
    let wished = |name: &String| Wish {
        name: name.clone(),
        ty: block.params.iter().find(|found| found.name == *name).and_then(|found| found.ty.clone()),
    };
    let mut wishes = names.iter().map(wished).collect::<Vec<_>>();
    loop {
        let error = match describe::describe(client, &text.sql, &wishes).await {
            Ok(described) => return Some(described),
            Err(error) => error,
        };
        if let Some(index) = error.wish {
            let said =
                names.get(index).and_then(|name| block.params.iter().find(|found| found.name == *name));
            let place = said.map_or_else(|| block.place.clone(), |said| said.place.clone());
            told.push(refused(error, place, block));
            return None;
        }
        let unknown = (error.sqlstate.as_deref() == Some(INDETERMINATE))
            .then(|| unknown_parameter(&error.message))
            .flatten()
            .filter(|index| wishes.get(*index).is_some_and(|wish| wish.ty.is_none()));
        let Some(index) = unknown else {
            told.push(text.refused(error, block));
            return None;
        };
        let name = &names[index];
        let set = block.variables.iter().find(|set| set.name == *name)?;
        let help = format!("write `${{{name}}}::type`, or `params: {{{name}: type}}` in the header");
        let Some(guess) = literal_type(&set.value) else {
            let message = format!("the server cannot tell the type of `{name}`");
            told.push(about(Code::UndeterminedType, set.place.clone(), message, block).help(help));
            return None;
        };
        let message = format!("the server cannot tell the type of `{name}`; its value looks like {guess}");
        let mut warning = about(Code::UndeterminedType, set.place.clone(), message, block).help(help);
        warning.severity = Severity::Warning;
        told.push(warning);
        wishes[index].ty = Some(guess.to_owned());
    }
}

/// The index in `could not determine data type of parameter $2`, in any language.
fn unknown_parameter(message: &str) -> Option<usize> {
    let (_, rest) = message.rsplit_once('$')?;
    let digits = rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    digits.parse::<usize>().ok()?.checked_sub(1)
}

/// The type of a literal, if it says one.
fn literal_type(value: &str) -> Option<&'static str> {
    let number = value.strip_prefix('-').unwrap_or(value);
    if number.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(match value.parse::<i64>() {
            Ok(small) if i32::try_from(small).is_ok() => "integer",
            Ok(_) => "bigint",
            Err(_) => "numeric",
        });
    }
    match value.to_ascii_lowercase().as_str() {
        "true" | "false" => Some("boolean"),
        "null" => None,
        text if text.starts_with('\'') => Some("text"),
        _ => None,
    }
}

fn parameter(found: describe::Parameter, block: &Block) -> Parameter {
    let said = block.params.iter().find(|said| said.name == found.name).and_then(|said| said.nullable);
    let null =
        block.variables.iter().any(|set| set.name == found.name && set.value.eq_ignore_ascii_case("null"));
    let (nullable, why) = match said {
        Some(nullable) => (nullable, "`params` in the header says so".to_owned()),
        None if null => (true, format!("`@set {} = null`", found.name)),
        None => (found.nullable, found.because),
    };
    Parameter { name: found.name, ty: found.ty, nullable, why }
}

fn column(found: describe::Column) -> Column {
    Column {
        name: found.name,
        ty: found.ty,
        nullable: found.nullable,
        why: found.because,
        origin: found.origin,
    }
}

/// What keeps a result from being that of its header.
fn shape(columns: &[Column], pluck: bool, block: &Block) -> Option<Diagnostic> {
    let wrong = |message: String, help: String| {
        Some(about(Code::ValidationError, block.place.clone(), message, block).help(help))
    };
    match columns.len() {
        0 => wrong("this statement returns no rows".to_owned(), format!("write `EXEC {}`", block.name)),
        count if pluck && count != 1 => {
            wrong(format!("`:pluck` takes the only column, and there are {count}"), "select one".to_owned())
        }
        _ => None,
    }
}

/// Does what the header says of a column; returns the type that it names.
async fn overridden(
    client: &Client,
    wanted: &Override,
    columns: &mut [Column],
    block: &Block,
    told: &mut Vec<Diagnostic>,
) -> Result<Option<u32>, Box<Diagnostic>> {
    let names = columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    let Some(column) = columns.iter_mut().find(|column| column.name == wanted.name) else {
        let message = format!("the result has no column `{}`", wanted.name);
        let mut error = about(Code::ValidationError, wanted.place.clone(), message, block);
        error.suggestion = Some(match nearest(&wanted.name, names.iter().map(String::as_str)) {
            Some(near) => format!("perhaps you meant `{near}`"),
            None => format!("it has {}", names.join(", ")),
        });
        return Err(Box::new(error));
    };
    if let Some(nullable) = wanted.nullable {
        column.nullable = nullable;
        "`result` in the header says so".clone_into(&mut column.why);
    }
    let Some(ty) = &wanted.ty else { return Ok(None) };
    let found = named_type(client, ty).await;
    let (oid, ty) = found.map_err(|error| Box::new(refused(error, wanted.place.clone(), block)))?;
    if ty.name != column.ty.name || ty.array != column.ty.array {
        let message = format!("`{}` is {} for the server", wanted.name, column.ty.sql);
        let mut warning = about(Code::ContradictedOverride, wanted.place.clone(), message, block);
        warning.severity = Severity::Warning;
        told.push(warning.help(format!("cast it in the statement: {}::{}", wanted.name, ty.sql)));
        column.ty = ty;
    }
    Ok(Some(oid))
}

/// The type that SQL names. Errors leave the transaction as it was.
async fn named_type(client: &Client, sql: &str) -> Result<(u32, TypeRef), describe::Error> {
    client.batch_execute("savepoint howdah_type").await?;
    let rows = client.query_typed("select $1::regtype::oid", &[(&sql, Type::TEXT)]).await;
    client.batch_execute("rollback to savepoint howdah_type; release savepoint howdah_type").await?;
    let oid: u32 = match rows?.first() {
        Some(row) => row.try_get(0)?,
        None => 0,
    };
    let types = Types::read(client, &[oid]).await?;
    let found = types.reference(oid).cloned();
    found
        .map(|found| (oid, found))
        .ok_or_else(|| describe::Error::unexpected(format!("there is no type {sql}")))
}
