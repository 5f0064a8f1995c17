//! Statements as methods.

use std::collections::BTreeMap;

use super::types::PyType;
use super::view::{Assigned, Form, Maker, Method};
use super::{RowClass, Writer, optional, parameter_scope};
use crate::languages::rows::{self, RowOf};
use crate::languages::{literal, names};
use crate::model::{Fragment, Kind, Statement};

/// Reads a value that psycopg gave.
pub(super) fn read(ty: &PyType, value: &str, nullable: bool) -> String {
    match (ty.read, nullable) {
        (true, _) => value.to_owned(),
        (false, true) => format!("{}.value({value})", ty.codec),
        (false, false) => format!("{}.load({value})", ty.codec),
    }
}

/// Writes a parameter.
fn written(ty: &PyType, name: &str, nullable: bool) -> String {
    match (ty.written, nullable) {
        (true, _) => name.to_owned(),
        (false, true) => format!("{}.literal({name})", ty.codec),
        (false, false) => format!("{}.dump({name})", ty.codec),
    }
}

/// A hint that admits None, once.
fn or_none(hint: &str) -> String {
    optional(hint, !hint.ends_with(" | None"))
}

impl Writer<'_> {
    pub(super) fn methods(
        &mut self,
        owners: &[RowOf],
        tables: &[Option<RowClass>],
        members: &mut names::Scope,
    ) -> Vec<Method> {
        let mut named = BTreeMap::new();
        let module = self.module;
        let statements = module.statements.iter().zip(owners);
        statements
            .map(|(statement, owner)| self.method(statement, owner, tables, &mut named, members))
            .collect()
    }

    fn method(
        &mut self,
        statement: &Statement,
        owner: &RowOf,
        tables: &[Option<RowClass>],
        named: &mut BTreeMap<String, RowClass>,
        members: &mut names::Scope,
    ) -> Method {
        let wanted = names::snake(&statement.name, "sql");
        let given = members.give_all(&wanted, &["", "_raw", "_stream", "_batch"]);
        let name = given.name;
        if given.collided {
            self.warn(format!("{wanted} is also something else's name: {} is called {name}", statement.name));
        }
        let text = self.types.scope.give(&format!("_{}", name.to_ascii_uppercase())).name;
        let parameters = self.parameters(statement);
        let sql = self.sql(statement, &parameters);
        self.texts.push(Assigned { name: text.clone(), value: sql });
        let row = self.row(statement, owner, tables, named, &name);
        let signature = parameters.iter().map(|p| format!(", {}: {}", p.name, p.hint)).collect();
        let values = parameters
            .iter()
            .map(|p| format!("{}: {}", literal::python(&p.name), p.value))
            .collect::<Vec<_>>();
        let hints = parameters.iter().map(|p| p.hint.as_str()).collect::<Vec<_>>().join(", ");
        let mut documentation = statement.documentation.clone();
        documentation.push(format!("{}:{}", statement.file, statement.line));
        Method {
            raw: format!("{name}_raw"),
            stream: format!("{name}_stream"),
            batch: format!("{name}_batch"),
            form: match (statement.kind, statement.one) {
                (Kind::Exec, _) => Form::Exec,
                (Kind::Query, true) => Form::One,
                (Kind::Query, false) => Form::All,
            },
            streamed: statement.kind == Kind::Query && !statement.one && rows::can_have_a_cursor(statement),
            // A batch without parameters has nothing to repeat.
            batched: statement.batch && !parameters.is_empty(),
            has_raw: row.raw_maker != row.maker,
            text,
            documentation: documentation.iter().map(|line| literal::python_documentation(line)).collect(),
            signature,
            values: format!("{{{}}}", values.join(", ")),
            batch_hint: format!("tuple[{hints}]"),
            batch_names: format!(
                "({},)",
                parameters.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ")
            ),
            row_or_none: or_none(&row.name),
            raw_or_none: or_none(&row.raw_hint),
            hint: row.name,
            maker: row.maker,
            raw_hint: row.raw_hint,
            raw_maker: row.raw_maker,
            name,
        }
    }

    /// What a statement's rows are: a class, a value for `:pluck`, nothing for an EXEC.
    fn row(
        &mut self,
        statement: &Statement,
        owner: &RowOf,
        tables: &[Option<RowClass>],
        named: &mut BTreeMap<String, RowClass>,
        method: &str,
    ) -> RowClass {
        if statement.kind == Kind::Exec {
            let none = String::new;
            return RowClass { name: none(), maker: none(), raw_hint: none(), raw_maker: none() };
        }
        if let (true, [column]) = (statement.pluck, statement.columns.as_slice()) {
            let ty = self.types.of(&column.ty);
            let hint = optional(&ty.hint, column.nullable);
            let maker = self.types.scope.give(&format!("_{method}_value")).name;
            let value = read(&ty, "row[0]", column.nullable);
            self.makers.push(Maker { name: maker.clone(), hint: hint.clone(), value });
            return RowClass { name: hint.clone(), raw_maker: maker.clone(), maker, raw_hint: hint };
        }
        let columns =
            statement.columns.iter().map(|c| (c.name.clone(), c.ty.clone(), c.nullable)).collect::<Vec<_>>();
        let documentation = format!("A row of {}. {}:{}", statement.name, statement.file, statement.line);
        let own = names::pascal(&statement.name, "sql") + "Row";
        match owner {
            RowOf::Table(index) => match tables.get(*index).cloned().flatten() {
                Some(class) => class,
                None => self.row_class(&own, &documentation, &columns, true),
            },
            RowOf::Named(name) => {
                if let Some(class) = named.get(name) {
                    return class.clone();
                }
                let class = self.row_class(&names::pascal(name, "row"), &documentation, &columns, true);
                named.insert(name.clone(), class.clone());
                class
            }
            RowOf::Own => self.row_class(&own, &documentation, &columns, true),
        }
    }

    fn parameters(&mut self, statement: &Statement) -> Vec<Parameter> {
        let mut scope = parameter_scope();
        let parameters = statement.parameters.iter().map(|parameter| {
            let ty = self.types.of(&parameter.ty);
            let name = scope.give(&names::snake(&parameter.name, "parameter")).name;
            let value = written(&ty, &name, parameter.nullable);
            Parameter { hint: optional(&ty.parameter, parameter.nullable), value, name }
        });
        parameters.collect()
    }

    /// The statement as psycopg takes it: every parameter is read as the type that was described.
    fn sql(&self, statement: &Statement, parameters: &[Parameter]) -> String {
        let (module, name) = (literal::sql_comment(&self.module.name), literal::sql_comment(&statement.name));
        let mut sql = format!("/* {module}.{name} */ ");
        for fragment in &statement.sql {
            match fragment {
                Fragment::Text(text) => sql.push_str(&text.replace('%', "%%")),
                Fragment::Parameter(index) => {
                    let (Some(parameter), Some(described)) =
                        (parameters.get(*index), statement.parameters.get(*index))
                    else {
                        continue;
                    };
                    let cast = described.ty.sql.replace('%', "%%");
                    sql.push_str(&format!("(%({})s::{cast})", parameter.name));
                }
            }
        }
        literal::python_lines(sql.trim_end())
    }
}

struct Parameter {
    name: String,
    hint: String,
    value: String,
}
