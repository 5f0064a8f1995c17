//! Statements as methods.

use std::collections::BTreeMap;

use super::types::TsType;
use super::view::{Alias, Constant, Field, Interface, Join, Method, Reader};
use super::words::parameter_scope;
use super::{Row, Writer, literal};
use crate::languages::dynamic::{self, Step};
use crate::languages::method::{self, Form};
use crate::languages::names;
use crate::languages::rows::RowOf;
use crate::model::{Fragment, Kind, Role, Statement};

struct Parameter {
    name: String,
    /// `bigint | null`.
    declared: String,
    nullable: bool,
    sent: Sent,
}

/// What becomes of a parameter.
enum Sent {
    /// The server gets it.
    Value(TsType),
    /// It decides whether lines are there.
    Switch,
    /// The text has one of the texts of this constant.
    Choice(String),
}

impl Parameter {
    /// The literal of `place`; nothing of what is not sent.
    fn written(&self, place: &str) -> Option<String> {
        match &self.sent {
            Sent::Value(ty) => Some(ty.write(place, &self.name, self.nullable)),
            Sent::Switch | Sent::Choice(_) => None,
        }
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
        let varies = !dynamic::is_fixed(statement);
        let text = match varies {
            true => format!("join{}", names::pascal(&name, "sql")),
            false => names::screaming(&name, "sql") + "_SQL",
        };
        let text = self.types.scope.give(&text).name;
        let row = self.row(statement, owner, tables, named, &name);
        let parameters = self.parameters(statement, &name, [&row.reader, &text]);
        if varies {
            self.join(statement, &text, &parameters);
        } else {
            let value = self.sql(statement);
            self.texts.push(Constant { name: text.clone(), value });
        }
        let values = |place: &dyn Fn(&Parameter) -> String| {
            let written = parameters.iter().filter_map(|p| p.written(&place(p)));
            written.collect::<Vec<_>>().join(", ")
        };
        let list = |place: &dyn Fn(&Parameter) -> String| {
            parameters.iter().map(place).collect::<Vec<_>>().join(", ")
        };
        let batched = method::is_batched(statement);
        Method {
            stream: format!("{name}Stream"),
            batch: format!("{name}Batch"),
            label: literal::string(&method::label(self.module, &statement.name)),
            form: Form::of(statement),
            streamed: method::is_streamed(statement),
            batched,
            text,
            documentation: method::documentation(statement)
                .map(|line| literal::documentation(&line))
                .collect(),
            signature: list(&|p| format!("{}: {}", p.name, p.declared)),
            varies,
            arguments: list(&|p| p.name.clone()),
            item_arguments: list(&|p| format!("item.{}", p.name)),
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
    fn parameters(&mut self, statement: &Statement, method: &str, mentioned: [&str; 2]) -> Vec<Parameter> {
        let mut scope = parameter_scope();
        for name in mentioned {
            scope.give(name);
        }
        let mut parameters = Vec::new();
        for parameter in &statement.parameters {
            let name = scope.give(&names::camel(&parameter.name, "parameter")).name;
            let nullable = parameter.nullable;
            let (declared, sent) = match &parameter.role {
                Role::Value => {
                    let ty = self.types.of(&parameter.ty);
                    (ty.declared(nullable), Sent::Value(ty))
                }
                Role::Switch => ("boolean".to_owned(), Sent::Switch),
                Role::Choice { options } => {
                    let (ty, constant) = self.choice(statement, &parameter.name, options, method);
                    (if nullable { ty + " | null" } else { ty }, Sent::Choice(constant))
                }
            };
            parameters.push(Parameter { name, declared, nullable, sent });
        }
        parameters
    }

    /// Declares the type of a choice, and the constant with its texts.
    fn choice(
        &mut self,
        statement: &Statement,
        parameter: &str,
        options: &[String],
        method: &str,
    ) -> (String, String) {
        let stem = format!("{}{}", names::pascal(method, "sql"), names::pascal(parameter, "choice"));
        let name = self.types.scope.give(&stem).name;
        let constant = self.types.scope.give(&names::screaming(&stem, "choice")).name;
        let texts = options.iter().map(|text| literal::string(text)).collect::<Vec<_>>();
        self.texts.push(Constant { name: constant.clone(), value: format!("[{}]", texts.join(", ")) });
        let about =
            format!("What {parameter} of {} can be. {}:{}", statement.name, statement.file, statement.line);
        self.types.aliases.push(Alias {
            name: name.clone(),
            ty: texts.join(" | "),
            documentation: literal::documentation(&about),
        });
        (name, constant)
    }

    /// Declares the function that joins the text of a statement from constants.
    fn join(&mut self, statement: &Statement, name: &str, parameters: &[Parameter]) {
        let mut lines =
            vec![format!("joined.add({});", literal::string(&method::opening(self.module, statement)))];
        for part in dynamic::parts(statement) {
            let decides = part.when.and_then(|index| parameters.get(index));
            let indent = if decides.is_some() { "  " } else { "" };
            lines.extend(decides.map(|p| match p.sent {
                Sent::Switch => format!("if ({}) {{", p.name),
                _ => format!("if ({} !== null) {{", p.name),
            }));
            for step in part.steps {
                let added = match step {
                    Step::Sql(fragments) => added(statement, &fragments, parameters),
                    Step::Choice(index) => parameters.get(index).and_then(chosen).into_iter().collect(),
                };
                lines.extend(added.into_iter().map(|line| format!("{indent}{line}")));
            }
            lines.extend(decides.map(|_| "}".to_owned()));
        }
        let signature = parameters.iter().map(|p| format!("{}: {}", p.name, p.declared));
        let signature = signature.collect::<Vec<_>>().join(", ");
        self.joins.push(Join { name: name.to_owned(), signature, lines });
    }

    fn parameters_interface(
        &mut self,
        statement: &Statement,
        method: &str,
        parameters: &[Parameter],
    ) -> String {
        let name = self.types.scope.give(&(names::pascal(method, "sql") + "Parameters")).name;
        let fields = parameters.iter().map(|p| Field { name: p.name.clone(), ty: p.declared.clone() });
        let documentation = literal::documentation(&format!(
            "Parameters of {}. {}:{}",
            statement.name, statement.file, statement.line
        ));
        self.rows.push(Interface { name: name.clone(), documentation, fields: fields.collect() });
        name
    }

    /// A fixed statement as the server takes it: every parameter is read as the type that was described.
    fn sql(&self, statement: &Statement) -> String {
        let mut sql = method::opening(self.module, statement);
        for fragment in &statement.sql {
            match fragment {
                Fragment::Text(text) => sql.push_str(text),
                // Not in a fixed statement.
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

/// Joins texts and places of values.
fn added(statement: &Statement, fragments: &[&Fragment], parameters: &[Parameter]) -> Vec<String> {
    let line = |fragment: &&Fragment| match fragment {
        Fragment::Text(text) => Some(format!("joined.add({});", literal::lines(text))),
        Fragment::Parameter(index) => {
            let (parameter, described) = (parameters.get(*index)?, statement.parameters.get(*index)?);
            let written = parameter.written(&parameter.name)?;
            Some(format!("joined.bind({index}, {written}, {});", literal::string(&described.ty.sql)))
        }
        // Not among the fragments of one step.
        Fragment::Choice(_) | Fragment::Optional { .. } => None,
    };
    fragments.iter().filter_map(line).collect()
}

/// Joins the text that is chosen.
fn chosen(parameter: &Parameter) -> Option<String> {
    match &parameter.sent {
        Sent::Choice(constant) => {
            let (name, shown) = (&parameter.name, literal::string(&parameter.name));
            Some(format!("joined.choose({constant}, {name}, {shown});"))
        }
        Sent::Value(_) | Sent::Switch => None,
    }
}
