//! A TABLE, described: its columns, and which of them rows have.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::block_text::{BlockText, about};
use super::key;
use super::server_error::ServerError;
use crate::check::Source;
use crate::describe;
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::model::{Table, TableColumn, TypeName, UniqueKey};
use crate::source::{Block, Modifier};

const FIND: &str = "
select n.nspname::text, c.relname::text, c.relkind::text, pg_catalog.format('%I.%I', n.nspname, c.relname),
       c.relpersistence = 't'
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.oid = pg_catalog.to_regclass($1)";

/// Of each column whether it takes null, whether the server gives it a value of its own, whether it computes it, whether it
/// refuses other values than its own, and the domain that it has.
const COLUMNS: &str = "
select not (a.attnotnull or t.typnotnull),
       a.attidentity <> '' or coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid) ~ '^nextval\\(', false),
       a.attgenerated <> '', a.attidentity = 'a',
       case when t.typtype = 'd' then n.nspname::text end, case when t.typtype = 'd' then t.typname::text end
from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
join pg_catalog.pg_namespace n on n.oid = t.typnamespace
left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = pg_catalog.to_regclass($1) and a.attnum > 0 and not a.attisdropped order by a.attnum";

/// The name in what stands below a header: the name itself, or the statement `TABLE name`.
fn name(written: &str) -> &str {
    match written.split_at_checked("table".len()) {
        Some((word, name))
            if word.eq_ignore_ascii_case("table")
                && name.starts_with(|c: char| c.is_whitespace() || c == '"') =>
        {
            name.trim_start()
        }
        _ => written,
    }
}

/// Describes a table, and says which types it mentions. `None`: something is wrong with it, which was reported.
pub(super) async fn describe(
    client: &Client,
    source: &Source,
    block: &Block,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<(Table, Vec<u32>)>, ServerError> {
    let text = BlockText::new(&block.body, &[]);
    let written = name(text.sql.trim());
    let named = if written.is_empty() { block.name.as_str() } else { written };
    let place = block.body.first().map_or_else(|| block.place.clone(), |piece| piece.place_of(0));
    let rows = client.query_typed(FIND, &[(&named, Type::TEXT)]).await?;
    let Some(row) = rows.first() else {
        diagnostics.push(unknown(client, named, about(Code::UnknownTable, place, "", block)).await?);
        return Ok(None);
    };
    let (schema, table, kind, full): (String, String, String, String) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
    if !matches!(kind.as_str(), "r" | "p" | "f") {
        let error = about(Code::UnknownTable, place, format!("`{named}` is no table"), block);
        diagnostics.push(error.help("rows are written to tables only"));
        return Ok(None);
    }
    if row.try_get(4)? {
        let error = about(Code::UnknownTable, place, format!("`{named}` is a temporary table"), block);
        diagnostics.push(error.help("generated code writes to tables that every session finds"));
        return Ok(None);
    }
    let described = describe::describe(client, &format!("select * from {full}"), &[]).await?;
    let facts = client.query_typed(COLUMNS, &[(&full, Type::TEXT)]).await?;
    let mut columns = Vec::new();
    let mut computed = Vec::new();
    let mut oids = Vec::new();
    for (column, row) in described.columns.into_iter().zip(&facts) {
        let (nullable, given, computes, always): (bool, bool, bool, bool) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
        let domain: (Option<String>, Option<String>) = (row.try_get(4)?, row.try_get(5)?);
        oids.push(column.oid);
        computed.push(computes);
        columns.push(TableColumn {
            name: column.name,
            ty: column.ty,
            domain: domain.0.zip(domain.1).map(|(schema, name)| TypeName { schema, name }),
            nullable,
            written: !given && !computes,
            always,
        });
    }
    let appender = block.modifiers.iter().find(|modifier| modifier.name == "appender");
    if let Some(names) = appender.and_then(|modifier| modifier.arguments.as_ref()) {
        for column in &mut columns {
            column.written = names.contains(&column.name);
        }
        let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
        let twice = twice.map(|(_, name)| (format!("`{name}` is named twice"), "name it once".to_owned()));
        let wrong = twice.or_else(|| names.iter().find_map(|name| wrong_column(name, &columns, &computed)));
        if let (Some((message, help)), Some(appender)) = (wrong, appender) {
            let error = about(Code::InvalidModifier, appender.place.clone(), message, block);
            diagnostics.push(error.help(help));
            return Ok(None);
        }
    }
    if let Some(error) = without_columns(block, &columns, &computed) {
        diagnostics.push(error);
        return Ok(None);
    }
    let Some((upsert, ignore)) = keys(client, &full, block, &columns, diagnostics).await? else {
        return Ok(None);
    };
    let table = Table {
        name: block.name.clone(),
        schema,
        table,
        documentation: block.documentation.clone(),
        file: source.file.clone(),
        line: block.place.line,
        appender: appender.is_some(),
        upsert,
        ignore,
        writer: block.modifiers.iter().any(|modifier| modifier.name == "writer"),
        columns,
    };
    Ok(Some((table, oids)))
}

/// What is wrong where rows are to be written and have no column to be written.
fn without_columns(block: &Block, columns: &[TableColumn], computed: &[bool]) -> Option<Diagnostic> {
    let writes = |modifier: &&Modifier| matches!(modifier.name.as_str(), "appender" | "writer");
    let modifier = block.modifiers.iter().find(writes)?;
    if columns.iter().any(|column| column.written) {
        return None;
    }
    let possible = columns.iter().zip(computed).filter(|(_, computed)| !**computed);
    let possible = possible.map(|(column, _)| column.name.as_str()).collect::<Vec<_>>().join(", ");
    let message = "there would be no column in its rows: the server gives each a value of its own".to_owned();
    let help = match possible.as_str() {
        "" => format!("leave `:{}` out", modifier.name),
        _ => format!("name those that rows have values for: `:appender({possible})`"),
    };
    Some(about(Code::InvalidModifier, modifier.place.clone(), message, block).help(help))
}

/// The keys of `:upsert` and `:ignore`. `None`: there is none that can be meant, which was reported.
async fn keys(
    client: &Client,
    full: &str,
    block: &Block,
    columns: &[TableColumn],
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<(Option<UniqueKey>, Option<UniqueKey>)>, ServerError> {
    let wanted = |name| block.modifiers.iter().find(|modifier: &&Modifier| modifier.name == name);
    let wanted = [wanted("upsert"), wanted("ignore")];
    if wanted.iter().all(Option::is_none) {
        return Ok(Some((None, None)));
    }
    let indexes = key::read(client, full).await?;
    let mut found = [None, None];
    let mut wrong = false;
    for (modifier, found) in wanted.into_iter().zip(&mut found) {
        let Some(modifier) = modifier else { continue };
        match key::choose(&indexes, modifier, columns) {
            Ok(key) => *found = Some(key),
            Err((message, help)) => {
                let error = about(Code::InvalidModifier, modifier.place.clone(), message, block);
                diagnostics.push(error.help(help));
                wrong = true;
            }
        }
    }
    let [upsert, ignore] = found;
    Ok((!wrong).then_some((upsert, ignore)))
}

/// What is wrong with a column of `:appender(…)`, and what to do.
fn wrong_column(name: &str, columns: &[TableColumn], computed: &[bool]) -> Option<(String, String)> {
    let names = || columns.iter().map(|column| column.name.as_str());
    match names().position(|known| known == name) {
        None => {
            let help = match nearest(name, names()) {
                Some(near) => format!("perhaps you meant `{near}`"),
                None => format!("it has {}", names().collect::<Vec<_>>().join(", ")),
            };
            Some((format!("the table has no column `{name}`"), help))
        }
        Some(index) if computed.get(index) == Some(&true) => {
            Some((format!("the server computes `{name}`"), "leave it out".to_owned()))
        }
        Some(_) => None,
    }
}

/// Says that there is no such table, and which was probably meant.
async fn unknown(client: &Client, named: &str, error: Diagnostic) -> Result<Diagnostic, ServerError> {
    let sql = "select c.oid::pg_catalog.regclass::text from pg_catalog.pg_class c
        where relkind in ('r', 'p', 'f') and relnamespace not in ('pg_catalog'::pg_catalog.regnamespace,
        'information_schema'::pg_catalog.regnamespace) and relnamespace <> 'pg_toast'::pg_catalog.regnamespace
        order by 1";
    let rows = client.query_typed(sql, &[]).await?;
    let tables = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    let suggestion = match nearest(named, tables.iter().map(String::as_str)) {
        Some(near) => Some(format!("perhaps you meant `{near}`")),
        None if tables.is_empty() => Some("there are no tables; a MIGRATE or BASELINE makes them".to_owned()),
        None => None,
    };
    Ok(Diagnostic { message: format!("there is no table `{named}`"), suggestion, ..error })
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn a_statement_that_shows_a_table_names_it() {
        for (written, named) in [
            ("Table app.users", "app.users"),
            ("TABLE\n\"a\"", "\"a\""),
            ("table\"a\"", "\"a\""),
            ("tables", "tables"),
            ("table.users", "table.users"),
            ("\"table\"", "\"table\""),
            ("ta", "ta"),
            ("", ""),
        ] {
            assert_eq!(name(written), named, "{written}");
        }
    }
}
