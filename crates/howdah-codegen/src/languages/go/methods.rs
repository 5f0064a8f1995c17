//! Statements as methods.

use std::collections::BTreeMap;

use super::literal;
use super::view::{Field, Method, RowType};
use super::words::{exported, lower};
use super::{Row, Writer};
use crate::languages::method::{self, Form};
use crate::languages::names;
use crate::languages::rows::RowOf;
use crate::model::{Kind, Statement};

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
        let wanted = exported(&statement.name, "sql");
        let given = members.give_all(&wanted, &["", "Stream", "Batch"]);
        let name = given.name;
        if given.collided {
            self.warn(format!("{wanted} is also something else's name: {} is called {name}", statement.name));
        }
        let row = self.row(statement, owner, tables, named, &name);
        let arguments = self.arguments(statement, &name);
        let place = format!("{name} runs {}, {}:{}.", statement.name, statement.file, statement.line);
        Method {
            stream: format!("{name}Stream"),
            batch: format!("{name}Batch"),
            form: Form::of(statement),
            batched: method::is_batched(statement),
            row_type: row.row_type,
            row: row.name,
            documentation: literal::documentation(&place, &statement.documentation),
            arguments,
            name,
        }
    }

    /// What a statement's rows are: a struct, a value for `:pluck`, nothing for an EXEC.
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
            self.types.mention(&ty);
            let name = ty.declared(column.nullable);
            let row_type = self.types.scope.give(&format!("{}ValueType", lower(method))).name;
            let field = Field {
                name: String::new(),
                padded: String::new(),
                ty: name.clone(),
                codec: ty.codec,
                nullable: column.nullable,
            };
            let fields = vec![field];
            self.row_types.push(RowType { name: row_type.clone(), ty: name.clone(), fields, value: true });
            return Row { name, row_type };
        }
        let columns =
            statement.columns.iter().map(|c| (c.name.clone(), c.ty.clone(), c.nullable)).collect::<Vec<_>>();
        let of = format!("{}, {}:{}", statement.name, statement.file, statement.line);
        let own = exported(&statement.name, "sql") + "Row";
        match owner {
            RowOf::Table(index) => match tables.get(*index).cloned().flatten() {
                Some(row) => row,
                None => self.row_struct(&own, &of, &columns, true),
            },
            RowOf::Named(name) => {
                if let Some(row) = named.get(name) {
                    return row.clone();
                }
                let row = self.row_struct(&exported(name, "row"), &of, &columns, true);
                named.insert(name.clone(), row.clone());
                row
            }
            RowOf::Own => self.row_struct(&own, &of, &columns, true),
        }
    }
}
