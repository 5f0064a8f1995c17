//! Statements as methods.

use std::collections::BTreeMap;

use super::literal;
use super::types::PyType;
use super::view::{Assigned, Builder, Choice, EnumClass, Label, Maker, Method};
use super::words::parameter_scope;
use super::{RowClass, Writer, optional};
use crate::languages::dynamic::{self, Step};
use crate::languages::method::{self, Form};
use crate::languages::names;
use crate::languages::rows::RowOf;
use crate::model::{self, Fragment, Kind, Role, Statement};

/// Reads a value that psycopg gave.
pub(super) fn read(ty: &PyType, value: &str, nullable: bool) -> String {
    let plain = match (ty.read, nullable && ty.decode.is_none()) {
        (true, _) => value.to_owned(),
        (false, true) => format!("{}.value({value})", ty.codec),
        (false, false) => format!("{}.load({value})", ty.codec),
    };
    converted(ty.decode.as_deref(), &plain, value, nullable)
}

/// Writes a value of a row, as the codec takes it.
pub(super) fn encoded(ty: &PyType, value: &str, nullable: bool) -> String {
    converted(ty.encode.as_deref(), value, value, nullable)
}

/// Makes one value of another, where neither is null.
fn converted(call: Option<&str>, plain: &str, value: &str, nullable: bool) -> String {
    match call.map(|call| call.replace("{}", plain)) {
        None => plain.to_owned(),
        Some(made) if nullable => format!("None if {value} is None else {made}"),
        Some(made) => made,
    }
}

/// Writes a parameter.
fn written(ty: &PyType, name: &str, nullable: bool) -> String {
    if let Some(encode) = &ty.encode {
        let plain = encode.replace("{}", name);
        let made = if ty.written { plain } else { format!("{}.dump({plain})", ty.codec) };
        return if nullable { format!("None if {name} is None else {made}") } else { made };
    }
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
        let wanted = match dynamic::is_fixed(statement) {
            true => format!("_{}", name.to_ascii_uppercase()),
            false => format!("_{name}_sql"),
        };
        let text = self.types.scope.give(&wanted).name;
        let parameters = self.parameters(statement, &name);
        let text = self.text(statement, &parameters, text);
        let row = self.row(statement, owner, tables, named, &name);
        let (deciding, plain): (Vec<_>, Vec<_>) = parameters.iter().partition(|p| p.decides);
        let mut signature = plain.iter().map(|p| format!(", {}: {}", p.name, p.hint)).collect::<String>();
        let keywords = deciding.iter().map(|p| format!(", {}: {}{}", p.name, p.hint, p.default())).collect();
        // What decides has names where it is called: true or None alone says nothing.
        let star = if deciding.is_empty() { "" } else { ", *" };
        signature.push_str(star);
        let signature = [signature, keywords].concat();
        let sent = parameters.iter().filter(|p| p.role == Sent::Value);
        let values = sent.map(|p| format!("{}: {}", literal::string(&p.name), p.value)).collect::<Vec<_>>();
        let hints = parameters.iter().map(|p| p.hint.as_str()).collect::<Vec<_>>().join(", ");
        Method {
            label: literal::string(&method::label(self.module, &statement.name)),
            raw: format!("{name}_raw"),
            stream: format!("{name}_stream"),
            batch: format!("{name}_batch"),
            form: Form::of(statement),
            streamed: method::is_streamed(statement),
            batched: method::is_batched(statement),
            varies: !dynamic::is_fixed(statement),
            has_raw: row.raw_maker != row.maker,
            text,
            documentation: method::documentation(statement)
                .map(|line| literal::documentation(&line))
                .collect(),
            streams: format!("{signature}{}", if deciding.is_empty() { ", *" } else { "" }),
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

    fn parameters(&mut self, statement: &Statement, method: &str) -> Vec<Parameter> {
        let mut scope = parameter_scope(!dynamic::is_fixed(statement));
        let mut parameters = Vec::new();
        for (index, parameter) in statement.parameters.iter().enumerate() {
            let name = scope.give(&names::snake(&parameter.name, "parameter")).name;
            let (hint, value, role) = match &parameter.role {
                Role::Value => {
                    let ty = self.types.of(&parameter.ty);
                    (ty.parameter.clone(), written(&ty, &name, parameter.nullable), Sent::Value)
                }
                Role::Switch => ("bool".to_owned(), String::new(), Sent::Switch),
                Role::Choice { options } => {
                    let (class, texts) = self.choice(statement, parameter, options, method);
                    (class.clone(), String::new(), Sent::Choice { class, texts })
                }
            };
            let hint = optional(&hint, parameter.nullable);
            let decides = dynamic::decides(statement, index);
            parameters.push(Parameter { hint, value, name, role, decides });
        }
        parameters
    }

    /// Declares the class of a choice, and the texts of its members as psycopg takes them.
    fn choice(
        &mut self,
        statement: &Statement,
        parameter: &model::Parameter,
        options: &[String],
        method: &str,
    ) -> (String, String) {
        let stem = format!("{method}_{}", names::snake(&parameter.name, "choice"));
        let class = self.types.scope.give(&names::pascal(&stem, "choice")).name;
        let texts = self.types.scope.give(&format!("_{}", stem.to_ascii_uppercase())).name;
        let members = dynamic::option_names(options, names::screaming);
        let (mut labels, mut pairs) = (Vec::new(), Vec::new());
        for (name, text) in members.into_iter().zip(options) {
            let value = literal::string(&text.replace('%', "%%"));
            pairs.push(Assigned { name: format!("{class}.{name}"), value });
            labels.push(Label { name, literal: literal::string(text) });
        }
        let about = format!(
            "What {} of {} can be. {}:{}",
            parameter.name, statement.name, statement.file, statement.line
        );
        let documentation = literal::documentation(&about);
        self.types.enums.push(EnumClass { name: class.clone(), documentation, labels });
        self.choices.push(Choice { name: texts.clone(), class: class.clone(), pairs });
        (class, texts)
    }

    /// The expression of the text that runs: a constant, or a call of a function that joins some.
    fn text(&mut self, statement: &Statement, parameters: &[Parameter], given: String) -> String {
        let opening = method::opening(self.module, statement);
        let parts = dynamic::parts(statement);
        if dynamic::is_fixed(statement) {
            let fragments = statement.sql.iter().collect::<Vec<_>>();
            let value = opening + &sql(statement, &fragments, parameters);
            self.texts.push(Assigned { name: given.clone(), value: literal::lines(value.trim_end()) });
            return given;
        }
        let mut lines = vec![format!("sql: LiteralString = {}", literal::string(&opening))];
        for part in parts {
            let decides = part.when.and_then(|index| parameters.get(index));
            let indent = if decides.is_some() { "    " } else { "" };
            lines.extend(decides.map(|p| match p.role {
                Sent::Switch => format!("if {}:", p.name),
                _ => format!("if {} is not None:", p.name),
            }));
            for step in part.steps {
                let text = match step {
                    Step::Sql(fragments) => literal::lines(&sql(statement, &fragments, parameters)),
                    Step::Choice(index) => match parameters.get(index) {
                        Some(Parameter { name, role: Sent::Choice { class, texts }, .. }) => {
                            format!("{texts}[{class}({name})]")
                        }
                        _ => continue,
                    },
                };
                lines.push(format!("{indent}sql += {text}"));
            }
        }
        let deciding = parameters.iter().filter(|p| p.decides).collect::<Vec<_>>();
        let signature = deciding.iter().map(|p| format!("{}: {}", p.name, p.hint)).collect::<Vec<_>>();
        let names = deciding.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
        let call = format!("{given}({names})");
        self.builders.push(Builder { name: given, signature: signature.join(", "), lines });
        call
    }
}

/// SQL as psycopg takes it: every parameter is read as the type that was described.
fn sql(statement: &Statement, fragments: &[&Fragment], parameters: &[Parameter]) -> String {
    let mut sql = String::new();
    for fragment in fragments {
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
            // Not among the fragments of one step.
            Fragment::Choice(_) | Fragment::Optional { .. } => {}
        }
    }
    sql
}

struct Parameter {
    name: String,
    hint: String,
    /// How a value is written.
    value: String,
    role: Sent,
    /// The text depends on it.
    decides: bool,
}

impl Parameter {
    /// Without it, its lines are not there.
    fn default(&self) -> &'static str {
        match self.role {
            Sent::Switch => " = False",
            _ if self.hint.ends_with(" | None") => " = None",
            _ => "",
        }
    }
}

/// What becomes of a parameter.
#[derive(PartialEq)]
enum Sent {
    Value,
    Switch,
    /// Its class, and the constant with the SQL of its members.
    Choice {
        class: String,
        texts: String,
    },
}
