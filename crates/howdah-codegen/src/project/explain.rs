//! What is known of a statement or table, as text: parameters, columns, what can be null, and why.

use std::fmt::Write as _;

use crate::model::{Kind, Model, Role, Statement, Table};

/// All names that can be explained.
#[must_use]
pub fn names(model: &Model) -> Vec<&str> {
    let mut names = Vec::new();
    for module in &model.modules {
        names.extend(module.statements.iter().map(|statement| statement.name.as_str()));
        names.extend(module.tables.iter().map(|table| table.name.as_str()));
    }
    names
}

/// Explains what has a name, in all modules.
#[must_use]
pub fn explain(model: &Model, name: &str) -> Option<String> {
    let mut out = Vec::new();
    for module in &model.modules {
        out.extend(module.statements.iter().filter(|found| found.name == name).map(statement));
        out.extend(module.tables.iter().filter(|found| found.name == name).map(table));
    }
    (!out.is_empty()).then(|| out.join("\n"))
}

fn statement(found: &Statement) -> String {
    let kind = if found.kind == Kind::Query { "QUERY" } else { "EXEC" };
    let mut out = format!("{kind} {}   {}:{}\n", found.name, found.file, found.line);
    let parameters = found.parameters.iter().map(|p| match &p.role {
        Role::Value => (&*p.name, &*p.ty.sql, p.nullable, &*p.why),
        Role::Switch => (&*p.name, "switch", p.nullable, &*p.why),
        Role::Choice { .. } => (&*p.name, "choice", p.nullable, &*p.why),
    });
    rows(&mut out, "parameters", parameters.collect());
    for parameter in &found.parameters {
        if let Role::Choice { options } = &parameter.role {
            let _ = writeln!(out, "  choices of {}", parameter.name);
            for text in options {
                let _ = writeln!(out, "    {}", text.replace(['\n', '\r'], " "));
            }
        }
    }
    let columns = found.columns.iter().map(|c| (&*c.name, &*c.ty.sql, c.nullable, &*c.why));
    rows(&mut out, "columns", columns.collect());
    out
}

fn table(found: &Table) -> String {
    let (schema, table) = (&found.schema, &found.table);
    let mut out = format!("TABLE {}   {}:{}   {schema}.{table}\n", found.name, found.file, found.line);
    let why = |written: bool| if written { "" } else { "not in rows: the server's, or not named" };
    let columns = found.columns.iter().map(|c| (&*c.name, &*c.ty.sql, c.nullable, why(c.written)));
    rows(&mut out, "columns", columns.collect());
    for (verb, key) in [("upsert", &found.upsert), ("ignore", &found.ignore)] {
        if let Some(key) = key {
            let nulls =
                if key.nulls_distinct { "; a row with a null in it is the same as no other one" } else { "" };
            let _ = writeln!(out, "  {verb} by {} ({}){nulls}", key.name, key.columns.join(", "));
        }
    }
    if found.writer {
        out.push_str("  a writer\n");
    }
    out
}

/// Names and types stand under each other.
fn rows(out: &mut String, title: &str, rows: Vec<(&str, &str, bool, &str)>) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "  {title}");
    let width = |texts: Vec<&str>| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let name = width(rows.iter().map(|row| row.0).collect());
    let ty = width(rows.iter().map(|row| row.1).collect());
    for (found, sql, nullable, why) in rows {
        let null = if nullable { "null" } else { "not null" };
        let line = format!("    {found:name$}  {sql:ty$}  {null:8}  {why}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
}
