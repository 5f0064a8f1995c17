//! Statements as methods.

use std::collections::BTreeMap;

use super::literal;
use super::types::padded;
use super::view::{Field, Form, Method, Parameter, RowType, Struct, Variable};
use super::words::{self, exported, lower};
use super::{Row, Writer};
use crate::languages::literal::sql_comment;
use crate::languages::names;
use crate::languages::rows::RowOf;
use crate::model::{Fragment, Kind, Statement};

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
        let text = self.types.scope.give(&format!("{}SQL", lower(&name))).name;
        self.texts.push(Variable { name: text.clone(), value: self.sql(statement) });
        let row = self.row(statement, owner, tables, named, &name);
        let (signature, item, parameters) = self.parameters(statement, &name);
        let place = format!("{name} runs {}, {}:{}.", statement.name, statement.file, statement.line);
        Method {
            stream: format!("{name}Stream"),
            batch: format!("{name}Batch"),
            form: match (statement.kind, statement.one) {
                (Kind::Exec, _) => Form::Exec,
                (Kind::Query, true) => Form::One,
                (Kind::Query, false) => Form::All,
            },
            // A batch without parameters has nothing to repeat.
            batched: statement.batch && !parameters.is_empty(),
            text,
            row_type: row.row_type,
            row: row.name,
            documentation: literal::documentation(&place, &statement.documentation),
            signature,
            item,
            parameters,
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

    /// A method's signature, what an item of a batch is, and where they have the parameters: one by itself, more in a struct.
    fn parameters(&mut self, statement: &Statement, method: &str) -> (String, String, Vec<Parameter>) {
        let mut scope = names::Scope::new(&[]);
        let fields = statement.parameters.iter().map(|parameter| {
            let ty = self.types.of(&parameter.ty);
            self.types.mention(&ty);
            Field {
                name: scope.give(&exported(&parameter.name, "parameter")).name,
                padded: String::new(),
                ty: ty.declared(parameter.nullable),
                codec: ty.codec,
                nullable: parameter.nullable,
            }
        });
        let fields = padded(fields.collect());
        let literals = statement.parameters.iter().map(|parameter| literal::string(&parameter.name));
        let parameter = |(field, name): (&Field, String), value: String, item: String| Parameter {
            name,
            codec: field.codec.clone(),
            nullable: field.nullable,
            value,
            item,
        };
        if let ([field], [given]) = (fields.as_slice(), statement.parameters.as_slice()) {
            let value = words::parameter(&self.types.scope, &given.name);
            let name = literal::string(&given.name);
            let signature = format!(", {value} {}", field.ty);
            let parameters = vec![parameter((field, name), value, "arg".into())];
            return (signature, field.ty.clone(), parameters);
        }
        if fields.is_empty() {
            return (String::new(), String::new(), Vec::new());
        }
        let own = self.types.scope.give(&format!("{method}Params")).name;
        let parameters = fields.iter().zip(literals).map(|(field, name)| {
            let value = format!("arg.{}", field.name);
            parameter((field, name), value.clone(), value)
        });
        let parameters = parameters.collect();
        let place = format!("{own} are the parameters of {method}.");
        let documentation = literal::documentation(&place, &[]);
        self.structs.push(Struct { name: own.clone(), documentation, fields });
        (format!(", arg {own}"), own, parameters)
    }

    /// The statement as pgx takes it: every parameter is read as the type that was described.
    fn sql(&self, statement: &Statement) -> String {
        let (module, name) = (sql_comment(&self.module.name), sql_comment(&statement.name));
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
