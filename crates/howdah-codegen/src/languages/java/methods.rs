//! Statements as methods.

use std::collections::BTreeMap;

use super::types::JavaType;
use super::view::{Binder, Constant, Field, Form, Method, Reader, Record};
use super::words::parameter_scope;
use super::{Row, Writer};
use crate::languages::rows::{self, RowOf};
use crate::languages::{literal, names};
use crate::model::{Fragment, Kind, Statement};
use crate::source::lexer;

struct Parameter {
    name: String,
    ty: JavaType,
    nullable: bool,
}

impl Parameter {
    /// A statement that sets it at a place.
    fn set(&self, place: usize) -> String {
        let Self { name, ty, nullable } = self;
        let value = if ty.required(*nullable) {
            format!("Objects.requireNonNull({name}, {})", literal::java(name))
        } else {
            name.clone()
        };
        format!("{}.set(s, {place}, {value});", ty.codec)
    }
}

impl Writer<'_> {
    pub(super) fn methods(
        &mut self,
        owners: &[RowOf],
        tables: &[Option<Row>],
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
        tables: &[Option<Row>],
        named: &mut BTreeMap<String, Row>,
        members: &mut names::Scope,
    ) -> Method {
        let wanted = names::camel(&statement.name, "sql");
        let given = members.give_all(&wanted, &["", "Stream", "Batch"]);
        let name = given.name;
        if given.collided {
            self.warn(format!("{wanted} is also something else's name: {} is called {name}", statement.name));
        }
        let stem = names::pascal(&name, "sql");
        let parameters = self.parameters(statement);
        let text = self.types.fields.give(&(names::screaming(&name, "sql") + "_SQL")).name;
        let value = self.sql(statement);
        self.texts.push(Constant { ty: "String".into(), name: text.clone(), value });
        let row = self.row(statement, owner, tables, named, &stem);
        let signature = parameters
            .iter()
            .map(|p| format!("{} {}", p.ty.declared(p.nullable), p.name))
            .collect::<Vec<_>>();
        let arguments = parameters.iter().map(|p| format!(", {}", p.name)).collect();
        let item_arguments = parameters.iter().map(|p| format!(", item.{}()", p.name)).collect();
        let bind = self.helpers.give(&format!("bind{stem}")).name;
        self.binders.push(Binder {
            name: bind.clone(),
            signature: signature.iter().map(|each| format!(", {each}")).collect(),
            statements: places(statement, &parameters),
        });
        // A batch without parameters has nothing to repeat.
        let batched = statement.batch && !parameters.is_empty();
        let record =
            if batched { self.parameters_record(statement, &stem, &parameters) } else { String::new() };
        let mut documentation = statement.documentation.clone();
        documentation.push(format!("{}:{}", statement.file, statement.line));
        let cursor = rows::can_have_a_cursor(statement);
        Method {
            stream: format!("{name}Stream"),
            batch: format!("{name}Batch"),
            form: match (statement.kind, statement.one) {
                (Kind::Exec, _) => Form::Exec,
                (Kind::Query, true) => Form::One,
                (Kind::Query, false) => Form::All,
            },
            streamed: statement.kind == Kind::Query && !statement.one && cursor,
            batched,
            looped: cursor,
            text,
            prepare: if row.plain {
                "connection.prepareStatement("
            } else {
                "HowdahJdbc.prepare(connection, "
            },
            documentation: documentation
                .iter()
                .flat_map(|line| line.split('\n').map(str::to_owned).collect::<Vec<_>>())
                .map(|line| literal::java_documentation(&line))
                .collect(),
            signature: signature.join(", "),
            bind,
            arguments,
            parameters: record,
            item_arguments,
            ty: row.name,
            declared: row.declared,
            reader: row.reader,
            name,
        }
    }

    /// What a statement's rows are: a record, a value for `:pluck`, nothing for an EXEC.
    fn row(
        &mut self,
        statement: &Statement,
        owner: &RowOf,
        tables: &[Option<Row>],
        named: &mut BTreeMap<String, Row>,
        stem: &str,
    ) -> Row {
        if statement.kind == Kind::Exec {
            return Row { plain: true, ..Row::default() };
        }
        if let (true, [column]) = (statement.pluck, statement.columns.as_slice()) {
            let ty = self.types.of(&column.ty);
            let reader = self.helpers.give(&format!("read{stem}")).name;
            let value = ty.read(1, column.nullable);
            self.readers.push(Reader { name: reader.clone(), ty: ty.declared(column.nullable), value });
            let declared = format!("@HowdahJdbc.Nullable {}", ty.name);
            return Row { reader, declared, plain: ty.plain, name: ty.name };
        }
        let columns =
            statement.columns.iter().map(|c| (c.name.clone(), c.ty.clone(), c.nullable)).collect::<Vec<_>>();
        let about = (statement.file.as_str(), statement.line, statement.name.as_str());
        let own = names::pascal(&statement.name, "sql") + "Result";
        match owner {
            RowOf::Table(index) => match tables.get(*index).cloned().flatten() {
                Some(row) => row,
                None => self.record(&own, about, &columns, true),
            },
            RowOf::Named(name) => {
                if let Some(row) = named.get(name) {
                    return row.clone();
                }
                let row = self.record(&names::pascal(name, "row"), about, &columns, true);
                named.insert(name.clone(), row.clone());
                row
            }
            RowOf::Own => self.record(&own, about, &columns, true),
        }
    }

    fn parameters(&mut self, statement: &Statement) -> Vec<Parameter> {
        let mut scope = parameter_scope();
        let parameters = statement.parameters.iter().map(|parameter| Parameter {
            name: scope.give(&names::camel(&parameter.name, "parameter")).name,
            ty: self.types.of(&parameter.ty),
            nullable: parameter.nullable,
        });
        parameters.collect()
    }

    fn parameters_record(&mut self, statement: &Statement, stem: &str, parameters: &[Parameter]) -> String {
        let name = self.types.classes.give(&format!("{stem}Parameters")).name;
        let fields = parameters.iter().map(|parameter| Field {
            name: parameter.name.clone(),
            declared: parameter.ty.declared(parameter.nullable),
            required: parameter.ty.required(parameter.nullable),
        });
        let documentation = literal::java_documentation(&format!(
            "Parameters of {}. {}:{}",
            statement.name, statement.file, statement.line
        ));
        let record = Record { name: name.clone(), documentation, fields: fields.collect() };
        self.check_size(&record, &statement.file, statement.line, &statement.name);
        self.records.push(record);
        name
    }

    /// The statement as pgjdbc takes it: every parameter is read as the type that was described.
    fn sql(&self, statement: &Statement) -> String {
        let (module, name) = (literal::sql_comment(&self.module.name), literal::sql_comment(&statement.name));
        let mut sql = format!("/* {module}.{name} */ ");
        for fragment in &statement.sql {
            match fragment {
                Fragment::Text(text) => sql.push_str(&operators(text)),
                Fragment::Parameter(index) => {
                    let Some(described) = statement.parameters.get(*index) else { continue };
                    sql.push_str(&format!("(?::{})", described.ty.sql));
                }
            }
        }
        literal::java_lines(sql.trim_end(), "        ")
    }
}

/// Statements that set all parameters, at every place where they stand.
fn places(statement: &Statement, parameters: &[Parameter]) -> Vec<String> {
    let indices = statement.sql.iter().filter_map(|fragment| match fragment {
        Fragment::Parameter(index) => parameters.get(*index),
        Fragment::Text(_) => None,
    });
    indices.enumerate().map(|(place, parameter)| parameter.set(place + 1)).collect()
}

/// Doubles the `?` of operators, which pgjdbc takes for a parameter; it leaves texts, names and comments alone.
fn operators(sql: &str) -> String {
    let tokens = lexer::lex(sql);
    let text = tokens.iter().map(|token| match token.kind {
        lexer::Kind::Other => token.text(sql).replace('?', "??"),
        _ => token.text(sql).to_owned(),
    });
    text.collect()
}

#[cfg(test)]
mod tests {
    use super::operators;

    #[test]
    fn an_operator_is_no_parameter() {
        assert_eq!(
            operators("a ? '?' ?| \"?\" -- ?\n/* ? */ $$?$$"),
            "a ?? '?' ??| \"?\" -- ?\n/* ? */ $$?$$"
        );
    }
}
