//! Statements as methods.

use std::collections::BTreeMap;

use super::literal;
use super::types::JavaType;
use super::view::{Binder, Constant, EnumClass, Field, Joiner, Label, Method, Reader, Record};
use super::words::parameter_scope;
use super::{Row, Writer};
use crate::languages::cursor;
use crate::languages::dynamic::{self, Step};
use crate::languages::method::{self, Form};
use crate::languages::names;
use crate::languages::rows::RowOf;
use crate::model::{self, Fragment, Kind, Role, Statement};
use crate::source::lexer;

struct Parameter {
    name: String,
    ty: JavaType,
    nullable: bool,
    role: Role,
}

impl Parameter {
    /// A statement that sets it at a place.
    fn set(&self, place: &str) -> String {
        let Self { name, ty, nullable, .. } = self;
        let value = if ty.required(*nullable) {
            format!("Objects.requireNonNull({name}, {})", literal::string(name))
        } else {
            name.clone()
        };
        format!("{}.set(s, {place}, {value});", ty.codec)
    }

    /// `long id`.
    fn declared(&self) -> String {
        format!("{} {}", self.ty.declared(self.nullable), self.name)
    }

    /// Whether the lines are there about which it decides.
    fn condition(&self) -> String {
        match self.role {
            Role::Switch => format!("if ({}) {{", self.name),
            Role::Value | Role::Choice { .. } => format!("if ({} != null) {{", self.name),
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
        let stem = names::pascal(&name, "sql");
        let varies = !dynamic::is_fixed(statement);
        let parameters = self.parameters(statement, &stem);
        let (text, item_text) = match varies {
            true => self.joined(statement, &parameters, &stem),
            false => {
                let text = self.types.fields.give(&(names::screaming(&name, "sql") + "_SQL")).name;
                let fragments = statement.sql.iter().collect::<Vec<_>>();
                let value = method::opening(self.module, statement) + &sql(statement, &fragments);
                let value = literal::lines(value.trim_end(), "        ");
                self.texts.push(Constant { ty: "String".into(), name: text.clone(), value });
                (text.clone(), text)
            }
        };
        let row = self.row(statement, owner, tables, named, &stem);
        let signature = parameters.iter().map(Parameter::declared).collect::<Vec<_>>();
        let bind = self.helpers.give(&format!("bind{stem}")).name;
        let bound = parameters.iter().enumerate().filter(|(index, _)| is_bound(statement, *index));
        let bound = bound.map(|(_, parameter)| parameter).collect::<Vec<_>>();
        let arguments = bound.iter().map(|p| format!(", {}", p.name)).collect();
        let item_arguments = bound.iter().map(|p| format!(", {}", item(&parameters, p))).collect();
        let statements =
            if varies { counted(statement, &parameters) } else { places(statement, &parameters) };
        self.binders.push(Binder {
            name: bind.clone(),
            signature: bound.iter().map(|p| format!(", {}", p.declared())).collect(),
            statements,
        });
        let batched = method::is_batched(statement);
        let items = match parameters.as_slice() {
            _ if !batched => String::new(),
            [parameter] => parameter.ty.name.clone(),
            several => self.parameters_record(statement, &stem, several),
        };
        Method {
            stream: format!("{name}Stream"),
            batch: format!("{name}Batch"),
            label: literal::string(&method::label(self.module, &statement.name)),
            form: Form::of(statement),
            streamed: method::is_streamed(statement),
            batched,
            looped: cursor::can_have_a_cursor(statement),
            varies,
            text,
            item_text,
            prepare: if row.plain {
                "HowdahJdbc.prepare(connection, "
            } else {
                "HowdahJdbc.prepareText(connection, "
            },
            documentation: method::documentation(statement)
                .map(|line| literal::documentation(&line))
                .collect(),
            signature: signature.join(", "),
            bind,
            arguments,
            parameters: items,
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

    fn parameters(&mut self, statement: &Statement, stem: &str) -> Vec<Parameter> {
        let mut scope = parameter_scope(!dynamic::is_fixed(statement));
        let mut parameters = Vec::new();
        for parameter in &statement.parameters {
            let name = scope.give(&names::camel(&parameter.name, "parameter")).name;
            let ty = match &parameter.role {
                Role::Value | Role::Switch => self.types.of(&parameter.ty),
                Role::Choice { options } => self.choice(statement, parameter, options, stem),
            };
            let (nullable, role) = (parameter.nullable, parameter.role.clone());
            parameters.push(Parameter { name, ty, nullable, role });
        }
        parameters
    }

    /// Declares the enum of a choice.
    fn choice(
        &mut self,
        statement: &Statement,
        parameter: &model::Parameter,
        options: &[String],
        stem: &str,
    ) -> JavaType {
        let wanted = format!("{stem}{}", names::pascal(&parameter.name, "choice"));
        let name = self.types.classes.give(&wanted).name;
        let members = dynamic::option_names(options, names::screaming).into_iter().zip(options);
        let members = members.map(|(name, text)| Label { name, literal: literal::string(&operators(text)) });
        let documentation = literal::documentation(&format!(
            "What {} of {} can be. {}:{}",
            parameter.name, statement.name, statement.file, statement.line
        ));
        self.choices.push(EnumClass { name: name.clone(), documentation, labels: members.collect() });
        JavaType { name, primitive: None, codec: String::new(), plain: true, binary: false }
    }

    /// Makes a method that joins the text of a statement: the calls of it with parameters, and with those of a batch.
    fn joined(&mut self, statement: &Statement, parameters: &[Parameter], stem: &str) -> (String, String) {
        let mut lines = vec![format!(
            "StringBuilder sql = new StringBuilder({});",
            literal::string(&method::opening(self.module, statement))
        )];
        for part in dynamic::parts(statement) {
            let decides = part.when.and_then(|index| parameters.get(index));
            let indent = if decides.is_some() { "    " } else { "" };
            lines.extend(decides.map(Parameter::condition));
            for step in part.steps {
                let text = match step {
                    Step::Sql(fragments) => {
                        literal::lines(&sql(statement, &fragments), &format!("            {indent}"))
                    }
                    Step::Choice(index) => match parameters.get(index) {
                        Some(p) if p.nullable => format!("{}.sql", p.name),
                        Some(p) => {
                            format!("Objects.requireNonNull({}, {}).sql", p.name, literal::string(&p.name))
                        }
                        None => continue,
                    },
                };
                lines.push(format!("{indent}sql.append({text});"));
            }
            lines.extend(decides.map(|_| "}".to_owned()));
        }
        lines.push("return sql.toString();".to_owned());
        let name = self.helpers.give(&format!("sql{stem}")).name;
        let deciding = parameters.iter().enumerate().filter(|(index, _)| dynamic::decides(statement, *index));
        let deciding = deciding.map(|(_, parameter)| parameter).collect::<Vec<_>>();
        let join = |each: &dyn Fn(&Parameter) -> String| {
            deciding.iter().map(|parameter| each(parameter)).collect::<Vec<_>>().join(", ")
        };
        let call = format!("{name}({})", join(&|p| p.name.clone()));
        let item_call = format!("{name}({})", join(&|p| item(parameters, p)));
        self.joiners.push(Joiner { name, signature: join(&Parameter::declared), statements: lines });
        (call, item_call)
    }

    fn parameters_record(&mut self, statement: &Statement, stem: &str, parameters: &[Parameter]) -> String {
        let name = self.types.classes.give(&format!("{stem}Params")).name;
        let fields = parameters.iter().map(|parameter| Field {
            name: parameter.name.clone(),
            declared: parameter.ty.declared(parameter.nullable),
            required: parameter.ty.required(parameter.nullable),
        });
        let documentation = literal::documentation(&format!(
            "Parameters of {}. {}:{}",
            statement.name, statement.file, statement.line
        ));
        let record = Record { name: name.clone(), documentation, fields: fields.collect() };
        self.check_size(&record, &statement.file, statement.line, &statement.name);
        self.records.push(record);
        name
    }
}

/// A parameter of an item of a batch: a component of its record, or the item where there is only one.
fn item(parameters: &[Parameter], parameter: &Parameter) -> String {
    match parameters {
        [_] => "item".to_owned(),
        _ => format!("item.{}()", parameter.name),
    }
}

/// SQL as pgjdbc takes it: every parameter is read as the type that was described.
fn sql(statement: &Statement, fragments: &[&Fragment]) -> String {
    let mut sql = String::new();
    for fragment in fragments {
        match fragment {
            Fragment::Text(text) => sql.push_str(&operators(text)),
            Fragment::Parameter(index) => {
                let Some(described) = statement.parameters.get(*index) else { continue };
                sql.push_str(&format!("(?::{})", described.ty.sql));
            }
            // Not among the fragments of one step.
            Fragment::Choice(_) | Fragment::Optional { .. } => {}
        }
    }
    sql
}

/// Whether a parameter is set, or decides whether another one is.
fn is_bound(statement: &Statement, index: usize) -> bool {
    let parts = dynamic::parts(statement);
    parts.iter().any(|part| {
        part.binds().any(|bound| bound == index)
            || (part.when == Some(index) && part.binds().next().is_some())
    })
}

/// Statements that set all parameters, at every place where they stand.
fn places(statement: &Statement, parameters: &[Parameter]) -> Vec<String> {
    let parts = dynamic::parts(statement);
    let bound = parts.iter().flat_map(dynamic::Part::binds).filter_map(|index| parameters.get(index));
    bound.enumerate().map(|(place, parameter)| parameter.set(&(place + 1).to_string())).collect()
}

/// The same, at the places that are there.
fn counted(statement: &Statement, parameters: &[Parameter]) -> Vec<String> {
    let mut lines = vec!["int place = 0;".to_owned()];
    for part in dynamic::parts(statement) {
        let sets = part.binds().filter_map(|index| parameters.get(index)).map(|p| p.set("++place"));
        let decides = part.when.and_then(|index| parameters.get(index));
        match decides {
            _ if part.binds().next().is_none() => {}
            None => lines.extend(sets),
            Some(decides) => {
                lines.push(decides.condition());
                lines.extend(sets.map(|set| format!("    {set}")));
                lines.push("}".to_owned());
            }
        }
    }
    lines
}

/// Doubles the `?` of operators, which pgjdbc takes for a parameter; it leaves texts, names and comments alone.
fn operators(sql: &str) -> String {
    let tokens = lexer::lex(sql);
    let text = tokens.iter().map(|token| match token.kind {
        lexer::TokenKind::Other => token.text(sql).replace('?', "??"),
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
