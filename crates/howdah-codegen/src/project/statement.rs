//! A QUERY or an EXEC, described: the server's word, and what the header says otherwise.

use std::collections::BTreeMap;

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::block_text::{BlockText, about, refused};
use super::server_error::ServerError;
use super::{merge, variants};
use crate::check::Source;
use crate::describe::{self, RequestedParameter, ServerTypes};
use crate::diagnostic::{Code, Diagnostic, Severity, nearest};
use crate::model::{Column, Kind, Parameter, Role, Statement, TypeName, TypeRef};
use crate::source::{Block, BlockKind, Override, Piece};

/// The server's code where it cannot tell a parameter's type.
const INDETERMINATE: &str = "42P18";

/// Describes a statement, and says which types it mentions. `None`: something is wrong with it, which was reported.
pub(super) async fn describe(
    client: &Client,
    source: &Source,
    block: &Block,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<(Statement, Vec<u32>)>, ServerError> {
    let query = block.kind == BlockKind::Query;
    let Some(variants) = variants(client, block, diagnostics).await else { return Ok(None) };
    let mut described = match merge::merge(variants, block, query) {
        Ok(described) => described,
        Err(wrong) => {
            diagnostics.push(*wrong);
            return Ok(None);
        }
    };
    if !variants::are_all(block) {
        for column in described.columns.iter_mut().filter(|column| !column.nullable) {
            column.nullable = true;
            column.because = "it can be more texts than are described".to_owned();
        }
    }
    let mut oids = described.parameters.iter().map(|found| found.oid).collect::<Vec<_>>();
    let names = parameters(block);
    let mut found = described.parameters;
    let parameters = names.iter().filter_map(|name| parameter(name, &mut found, block)).collect();
    let kind = if query { Kind::Query } else { Kind::Exec };
    let is = |name: &str| block.modifiers.iter().any(|modifier| modifier.name == name);
    let mut columns = Vec::new();
    if kind == Kind::Query {
        oids.extend(described.columns.iter().map(|found| found.oid));
        columns = described.columns.into_iter().map(column).collect();
        if let Some(wrong) = shape(&columns, is("pluck"), block) {
            diagnostics.push(wrong);
            return Ok(None);
        }
        for wanted in &block.result {
            match overridden(client, wanted, &mut columns, block, diagnostics).await {
                Ok(found) => oids.extend(found),
                Err(wrong) => {
                    diagnostics.push(*wrong);
                    return Ok(None);
                }
            }
        }
    }
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
        sql: variants::fragments(block, &names),
        parameters,
        columns,
    };
    Ok(Some((statement, oids)))
}

/// The variables that are used, in the order in which they are set, then the switches in that of their lines.
fn parameters(block: &Block) -> Vec<String> {
    let used = |name: &str| {
        block.pieces().any(|(_, piece)| matches!(piece, Piece::Variable { name: found, .. } if found == name))
    };
    let set = block.variables.iter().map(|set| set.name.as_str()).filter(|name| used(name));
    let switches = variants::lines(block).into_iter().filter(|name| !block.is_variable(name));
    set.chain(switches).map(str::to_owned).collect()
}

/// Asks the server about all variants of a statement, each with how it is called. `None`: it refused one, which was reported.
async fn variants(
    client: &Client,
    block: &Block,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<(String, describe::DescribedStatement)>> {
    let variants = variants::of(block);
    let mut known = BTreeMap::new();
    let mut found = Vec::new();
    // Each message with the variant that it was said of first, and of how many it was said.
    let mut said: Vec<(Diagnostic, String, usize)> = Vec::new();
    for variant in &variants {
        let pieces = variant.pieces();
        let used = |name: &String| {
            pieces.iter().any(|piece| matches!(piece, Piece::Variable { name: found, .. } if found == name))
        };
        let names = block.variables.iter().map(|set| set.name.clone()).filter(used).collect::<Vec<_>>();
        let text = BlockText::new(&pieces, &names);
        let mut messages = Vec::new();
        if let Some(described) = ask(client, block, &text, &names, &mut known, &mut messages).await {
            known.extend(described.parameters.iter().map(|found| (found.name.clone(), found.ty.sql.clone())));
            found.push((variant.shown(), described));
        }
        for message in messages {
            match said.iter_mut().find(|(before, ..)| *before == message) {
                Some((_, _, count)) => *count += 1,
                None => said.push((message, variant.shown(), 1)),
            }
        }
    }
    let refused = found.len() < variants.len();
    for (mut message, variant, count) in said {
        if message.severity == Severity::Error && count < variants.len() {
            message.message = format!("{}, {variant}", message.message);
        }
        diagnostics.push(message);
    }
    (!refused).then_some(found)
}

/// Asks the server. Where it cannot tell a type, what it said of another variant does, or the value of `@set`, with a
/// warning.
async fn ask(
    client: &Client,
    block: &Block,
    text: &BlockText<'_>,
    names: &[String],
    known: &mut BTreeMap<String, String>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<describe::DescribedStatement> {
    let request = |name: &String| RequestedParameter {
        name: name.clone(),
        ty: block.params.iter().find(|found| found.name == *name).and_then(|found| found.ty.clone()),
    };
    let mut requested = names.iter().map(request).collect::<Vec<_>>();
    loop {
        let error = match describe::describe(client, &text.sql, &requested).await {
            Ok(described) => return Some(described),
            Err(error) => error,
        };
        if let Some(index) = error.parameter {
            let said =
                names.get(index).and_then(|name| block.params.iter().find(|found| found.name == *name));
            let place = said.map_or_else(|| block.place.clone(), |said| said.place.clone());
            diagnostics.push(refused(error, place, block));
            return None;
        }
        let unknown = (error.sqlstate.as_deref() == Some(INDETERMINATE))
            .then(|| unknown_parameter(&error.message))
            .flatten()
            .filter(|index| requested.get(*index).is_some_and(|parameter| parameter.ty.is_none()));
        let Some(index) = unknown else {
            diagnostics.push(text.refused(error, block));
            return None;
        };
        let name = &names[index];
        if let Some(ty) = known.get(name) {
            requested[index].ty = Some(ty.clone());
            continue;
        }
        let set = block.variables.iter().find(|set| set.name == *name)?;
        let help = format!("write `${{{name}}}::type`, or `params: {{{name}: type}}` in the header");
        let Some(guess) = literal_type(&set.value) else {
            let message = format!("the server cannot tell the type of `{name}`");
            diagnostics.push(about(Code::UndeterminedType, set.place.clone(), message, block).help(help));
            return None;
        };
        let message = format!("the server cannot tell the type of `{name}`; its value looks like {guess}");
        let mut warning = about(Code::UndeterminedType, set.place.clone(), message, block).help(help);
        warning.severity = Severity::Warning;
        diagnostics.push(warning);
        requested[index].ty = Some(guess.to_owned());
        known.insert(name.clone(), guess.to_owned());
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

/// What callers give for a name: a value, as the server described it, a switch, or one of the choices.
fn parameter(name: &str, found: &mut Vec<describe::DescribedParameter>, block: &Block) -> Option<Parameter> {
    let decides = variants::lines(block).contains(&name);
    let goes = "its lines go when it is null";
    if let Some(choices) = block.choices_of(name) {
        let options = choices.options.iter().map(|(text, _)| text.clone()).collect();
        let why = if decides { goes } else { "a text of the header" };
        return Some(Parameter {
            name: name.to_owned(),
            ty: builtin("text", "text"),
            role: Role::Choice { options },
            nullable: decides,
            why: why.to_owned(),
            origin: None,
        });
    }
    if !block.is_variable(name) {
        return Some(Parameter {
            name: name.to_owned(),
            ty: builtin("bool", "boolean"),
            role: Role::Switch,
            nullable: false,
            why: "its lines are there when it is true".to_owned(),
            origin: None,
        });
    }
    let at = found.iter().position(|found| found.name == name)?;
    let found = found.swap_remove(at);
    let said = block.params.iter().find(|said| said.name == name).and_then(|said| said.nullable);
    let null = block.variables.iter().any(|set| set.name == name && set.value.eq_ignore_ascii_case("null"));
    let (nullable, why) = match said {
        _ if decides => (true, goes.to_owned()),
        Some(nullable) => (nullable, "`params` in the header says so".to_owned()),
        None if null => (true, format!("`@set {name} = null`")),
        None => (found.nullable, found.because),
    };
    Some(Parameter { name: found.name, ty: found.ty, role: Role::Value, nullable, why, origin: found.origin })
}

fn builtin(name: &str, sql: &str) -> TypeRef {
    let name = TypeName { schema: "pg_catalog".to_owned(), name: name.to_owned() };
    TypeRef { name, array: false, sql: sql.to_owned(), custom: None }
}

fn column(found: describe::DescribedColumn) -> Column {
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
    diagnostics: &mut Vec<Diagnostic>,
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
        diagnostics.push(warning.help(format!("cast it in the statement: {}::{}", wanted.name, ty.sql)));
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
    let types = ServerTypes::read(client, &[oid]).await?;
    let found = types.reference(oid).cloned();
    found
        .map(|found| (oid, found))
        .ok_or_else(|| describe::Error::unexpected(format!("there is no type {sql}")))
}
