//! Statements as methods.

use std::collections::BTreeMap;

use super::types::TsType;
use super::view::{Constant, Field, Form, Interface, Method, Reader};
use super::words::parameter_scope;
use super::{Row, Writer, literal};
use crate::languages::rows::{self, RowOf};
use crate::languages::{literal as shared, names};
use crate::model::{Fragment, Kind, Statement};

struct Parameter {
    name: String,
    ty: TsType,
    nullable: bool,
}

impl Parameter {
    fn declared(&self) -> String {
        self.ty.declared(self.nullable)
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
        let text = self.types.scope.give(&(names::screaming(&name, "sql") + "_SQL")).name;
        let value = self.sql(statement);
        self.texts.push(Constant { name: text.clone(), value });
        let row = self.row(statement, owner, tables, named, &name);
        let parameters = self.parameters(statement, &row);
        let values = |place: &dyn Fn(&Parameter) -> String| {
            let written = parameters.iter().map(|p| p.ty.write(&place(p), &p.name, p.nullable));
            written.collect::<Vec<_>>().join(", ")
        };
        // A batch without parameters has nothing to repeat.
        let batched = statement.batch && !parameters.is_empty();
        let mut documentation = statement.documentation.clone();
        documentation.push(format!("{}:{}", statement.file, statement.line));
        Method {
            stream: format!("{name}Stream"),
            batch: format!("{name}Batch"),
            form: match (statement.kind, statement.one) {
                (Kind::Exec, _) => Form::Exec,
                (Kind::Query, true) => Form::One,
                (Kind::Query, false) => Form::All,
            },
            streamed: statement.kind == Kind::Query && !statement.one && rows::can_have_a_cursor(statement),
            batched,
            text,
            documentation: documentation
                .iter()
                .flat_map(|line| line.split('\n').map(str::to_owned).collect::<Vec<_>>())
                .map(|line| literal::documentation(&line))
                .collect(),
            signature: parameters
                .iter()
                .map(|p| format!("{}: {}", p.name, p.declared()))
                .collect::<Vec<_>>()
                .join(", "),
            values: values(&|p| p.name.clone()),
            item_values: values(&|p| format!("item.{}", p.name)),
            parameters: if batched {
                self.parameters_interface(statement, &name, &parameters)
            } else {
                String::new()
            },
            ty: row.name,
            reader: row.reader,
            name,
        }
    }

    /// What a statement's rows are: an interface, a value for `:pluck`, nothing for an EXEC.
    fn row(
        &mut self,
        statement: &Statement,
        owner: &RowOf,
        tables: &[Option<Row>],
        named: &mut BTreeMap<String, Row>,
        method: &str,
    ) -> Row {
        if statement.kind == Kind::Exec {
            return Row::default();
        }
        if let (true, [column]) = (statement.pluck, statement.columns.as_slice()) {
            let ty = self.types.of(&column.ty);
            let reader = self.types.scope.give(&format!("read{}", names::pascal(method, "sql"))).name;
            let values = vec![ty.read(0, &column.name, column.nullable)];
            let name = ty.declared(column.nullable);
            self.readers.push(Reader { name: reader.clone(), ty: name.clone(), values, single: true });
            return Row { name, reader };
        }
        let columns =
            statement.columns.iter().map(|c| (c.name.clone(), c.ty.clone(), c.nullable)).collect::<Vec<_>>();
        let documentation = format!("A row of {}. {}:{}", statement.name, statement.file, statement.line);
        let own = names::pascal(&statement.name, "sql") + "Result";
        match owner {
            RowOf::Table(index) => match tables.get(*index).cloned().flatten() {
                Some(row) => row,
                None => self.interface(&own, &documentation, &columns, true),
            },
            RowOf::Named(name) => {
                if let Some(row) = named.get(name) {
                    return row.clone();
                }
                let row = self.interface(&names::pascal(name, "row"), &documentation, &columns, true);
                named.insert(name.clone(), row.clone());
                row
            }
            RowOf::Own => self.interface(&own, &documentation, &columns, true),
        }
    }

    /// Parameters, of which none hides what the method mentions.
    fn parameters(&mut self, statement: &Statement, row: &Row) -> Vec<Parameter> {
        let mut scope = parameter_scope();
        scope.give(&row.reader);
        let parameters = statement.parameters.iter().map(|parameter| Parameter {
            name: scope.give(&names::camel(&parameter.name, "parameter")).name,
            ty: self.types.of(&parameter.ty),
            nullable: parameter.nullable,
        });
        parameters.collect()
    }

    fn parameters_interface(
        &mut self,
        statement: &Statement,
        method: &str,
        parameters: &[Parameter],
    ) -> String {
        let name = self.types.scope.give(&(names::pascal(method, "sql") + "Parameters")).name;
        let fields = parameters.iter().map(|p| Field { name: p.name.clone(), ty: p.declared() });
        let documentation = literal::documentation(&format!(
            "Parameters of {}. {}:{}",
            statement.name, statement.file, statement.line
        ));
        self.rows.push(Interface { name: name.clone(), documentation, fields: fields.collect() });
        name
    }

    /// The statement as the server takes it: every parameter is read as the type that was described.
    fn sql(&self, statement: &Statement) -> String {
        let (module, name) = (shared::sql_comment(&self.module.name), shared::sql_comment(&statement.name));
        let mut sql = format!("/* {module}.{name} */ ");
        for fragment in &statement.sql {
            match fragment {
                Fragment::Text(text) => sql.push_str(text),
                // Statements that have these are refused before.
                Fragment::Optional { .. } | Fragment::Choice(_) => {}
                Fragment::Parameter(index) => {
                    let Some(described) = statement.parameters.get(*index) else { continue };
                    sql.push_str(&format!("(${}::{})", index + 1, described.ty.sql));
                }
            }
        }
        literal::lines(sql.trim_end())
    }
}
