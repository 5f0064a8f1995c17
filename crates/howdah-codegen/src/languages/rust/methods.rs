//! Statements as functions.

use std::collections::BTreeMap;

use super::parameters::{Parameter, Sent};
use super::view::{Function, Struct};
use super::words::parameter_scope;
use super::{About, Row, Writer, joins, layout, literal, types};
use crate::languages::dynamic;
use crate::languages::method::{self, Form};
use crate::languages::names;
use crate::languages::rows::RowOf;
use crate::model::{Fragment, Kind, Role, Statement};

/// The text of a statement.
enum Text {
    /// A constant, and the parameters as they are numbered in it; their types where it runs without being prepared.
    Fixed { constant: String, used: Vec<usize>, types: Option<String> },
    /// It depends on the parameters: a function joins it.
    Joined { function: String },
}

/// What a statement's functions are made of.
struct Parts<'m> {
    statement: &'m Statement,
    name: String,
    text: Text,
    parameters: Vec<Parameter>,
    row: Row,
    documentation: Vec<String>,
}

impl<'m> Writer<'m> {
    pub(super) fn functions(
        &mut self,
        owners: &[RowOf],
        tables: &[Option<Row>],
        members: &mut names::Scope,
    ) -> Vec<Function> {
        let mut named = BTreeMap::new();
        let module = self.module;
        let mut functions = Vec::new();
        for (statement, owner) in module.statements.iter().zip(owners) {
            let wanted = names::snake(&statement.name, "sql");
            let varies = !dynamic::is_fixed(statement);
            let endings = ["", "_stream", "_batch", "_joined"];
            let given = members.give_all(&wanted, &endings[..endings.len() - usize::from(!varies)]);
            let name = given.name;
            if given.collided {
                let of = &statement.name;
                self.warn(format!("{wanted} is also something else's name: {of} is called {name}"));
            }
            let joined = varies.then(|| format!("{name}_joined"));
            let row = self.row(statement, owner, tables, &mut named);
            let documentation = method::documentation(statement);
            let documentation = documentation.map(|line| literal::documentation(&line)).collect();
            let parameters = self.parameters(statement, &name, joined.as_deref());
            let text = match joined {
                Some(function) => {
                    functions.push(self.join(statement, &function, &parameters));
                    Text::Joined { function }
                }
                None => self.fixed(statement, &name),
            };
            let parts = Parts { statement, name, text, parameters, row, documentation };
            functions.push(parts.function());
            if Form::of(statement) == Form::All {
                functions.push(parts.stream());
            }
            if method::is_batched(statement) {
                let record = self.parameters_struct(&parts);
                functions.push(parts.batch(&record));
            }
        }
        functions
    }

    /// What a statement's rows are: a struct, a value for `:pluck`, nothing for an EXEC.
    fn row(
        &mut self,
        statement: &'m Statement,
        owner: &RowOf,
        tables: &[Option<Row>],
        named: &mut BTreeMap<String, Row>,
    ) -> Row {
        if statement.kind == Kind::Exec {
            return Row::default();
        }
        let about = About { file: &statement.file, line: statement.line, of: &statement.name };
        for column in &statement.columns {
            self.check_readable(&column.name, &column.ty, about);
        }
        if let (true, [column]) = (statement.pluck, statement.columns.as_slice()) {
            let ty = self.types.of(&column.ty);
            return Row { ty: ty.owned(column.nullable), read: ty.read_value(column.nullable) };
        }
        let columns =
            statement.columns.iter().map(|c| (c.name.clone(), c.ty.clone(), c.nullable)).collect::<Vec<_>>();
        let own = names::pascal(&statement.name, "sql") + "Result";
        match owner {
            RowOf::Table(index) => match tables.get(*index).cloned().flatten() {
                Some(row) => row,
                None => self.row_struct(&own, about, &columns, true),
            },
            RowOf::Named(name) => {
                if let Some(row) = named.get(name) {
                    return row.clone();
                }
                let row = self.row_struct(&names::pascal(name, "row"), about, &columns, true);
                named.insert(name.clone(), row.clone());
                row
            }
            RowOf::Own => self.row_struct(&own, about, &columns, true),
        }
    }

    /// Parameters, of which none hides the function that joins the text.
    fn parameters(&mut self, statement: &Statement, function: &str, joined: Option<&str>) -> Vec<Parameter> {
        let mut scope = parameter_scope();
        if let Some(name) = joined {
            scope.give(name);
        }
        let mut parameters = Vec::new();
        for (index, parameter) in statement.parameters.iter().enumerate() {
            let name = scope.give(&names::snake(&parameter.name, "parameter")).name;
            let mut nullable = parameter.nullable;
            let (declared, sent) = match &parameter.role {
                Role::Value => {
                    let ty = self.types.of(&parameter.ty);
                    (ty.borrowed(nullable), Sent::Value { ty, sql: parameter.ty.sql.clone() })
                }
                Role::Switch => ("bool".to_owned(), Sent::Switch),
                Role::Choice { options } => {
                    nullable &= joins::can_be_left_out(statement, index);
                    let ty = self.choice(statement, &parameter.name, options, function);
                    (if nullable { format!("Option<{ty}>") } else { ty }, Sent::Choice)
                }
            };
            parameters.push(Parameter { name, declared, nullable, sent });
        }
        parameters
    }

    fn parameters_struct(&mut self, parts: &Parts<'_>) -> String {
        let name = self.types.scope.give(&(names::pascal(&parts.name, "sql") + "Parameters")).name;
        let fields = parts.parameters.iter().map(Parameter::field);
        let Statement { name: of, file, line, .. } = parts.statement;
        let documentation = literal::documentation(&format!("Parameters of {of}. {file}:{line}"));
        let fields = fields.collect();
        self.structs.push(Struct { name: name.clone(), documentation, fields, made: None });
        name
    }

    /// The constant of the types that a statement tells the server, if it does.
    fn types_constant(&mut self, statement: &Statement, name: &str, used: &[usize]) -> Option<String> {
        let types = told_types(statement, used)?;
        if types.is_empty() {
            return Some("&[]".to_owned());
        }
        let constant = self.constant_names.give(&(names::screaming(name, "sql") + "_TYPES")).name;
        let before = format!("const {constant}: &[pg::Type] = &[");
        self.constants.push(layout::array(&before, &types, "];"));
        Some(constant)
    }

    /// The constant of a fixed statement: every parameter is read as the type that was described.
    fn fixed(&mut self, statement: &Statement, name: &str) -> Text {
        let mut sql = method::opening(self.module, statement);
        let mut used = Vec::new();
        for fragment in &statement.sql {
            match fragment {
                Fragment::Text(text) => sql.push_str(text),
                // Texts that have these are joined.
                Fragment::Optional { .. } | Fragment::Choice(_) => {}
                Fragment::Parameter(index) => {
                    let Some(described) = statement.parameters.get(*index) else { continue };
                    let place = used.iter().position(|before| before == index).unwrap_or_else(|| {
                        used.push(*index);
                        used.len() - 1
                    });
                    sql.push_str(&format!("(${}::{})", place + 1, described.ty.sql));
                }
            }
        }
        let constant = self.constant_names.give(&(names::screaming(name, "sql") + "_SQL")).name;
        let sql = literal::text(sql.trim_end());
        self.constants.push(layout::constant(&format!("const {constant}: &str ="), &sql));
        let types = self.types_constant(statement, name, &used);
        Text::Fixed { constant, used, types }
    }
}

/// The types of parameters that the driver knows by itself, of a statement that runs in one round trip with them.
///
/// While the driver asks what a column's type is, it does not read the rows that have arrived: many rows and a table
/// that has changed would wait for ever. So only statements with few rows run so.
fn told_types(statement: &Statement, used: &[usize]) -> Option<Vec<String>> {
    let few = statement.kind == Kind::Exec
        || statement.one && statement.columns.iter().all(|c| c.ty.name.schema == "pg_catalog");
    let parameters = used.iter().filter_map(|index| statement.parameters.get(*index));
    parameters.map(|parameter| types::constant_of(&parameter.ty)).collect::<Option<_>>().filter(|_| few)
}

impl Parts<'_> {
    fn head(&self, ending: &str, own: Vec<String>, result: &str) -> String {
        let mut parameters = vec!["db: &impl pg::GenericClient".to_owned()];
        parameters.extend(own);
        let before = format!("pub async fn {}{ending}(", self.name);
        layout::head(&before, &parameters, &format!(") -> Result<{result}, pg::Error> {{"))
    }

    fn signature(&self) -> Vec<String> {
        let parameters = self.parameters.iter();
        parameters.map(|p| format!("{}: {}", p.name, p.declared)).collect()
    }

    /// What one run of the statement gives.
    fn result(&self) -> String {
        match (self.statement.kind, self.statement.one) {
            (Kind::Exec, _) => "u64".to_owned(),
            (Kind::Query, true) => format!("Option<{}>", self.row.ty),
            (Kind::Query, false) => format!("Vec<{}>", self.row.ty),
        }
    }

    /// Runs a statement whose parameters are at hand.
    fn call(&self, indent: &str, run: &str, given: &[&str]) -> String {
        let mut arguments = vec!["db".to_owned()];
        arguments.extend(given.iter().map(|argument| (*argument).to_owned()));
        if !self.row.read.is_empty() {
            arguments.push(self.row.read.clone());
        }
        layout::call(&format!("{indent}pg::{run}("), &arguments, ").await")
    }

    /// Binds the parameters and runs the statement.
    fn body(&self, run: &str) -> Vec<String> {
        match &self.text {
            Text::Fixed { constant, used, types: Some(types) } => {
                self.bound("    ", &format!("{run}_typed"), &[constant, types], used, "")
            }
            Text::Fixed { constant, used, types: None } => self.bound("    ", run, &[constant], used, ""),
            Text::Joined { function } => vec![
                self.joined("    ", function, ""),
                "    let parameters = joined.parameters();".to_owned(),
                self.call("    ", run, &["joined.sql()", "&parameters"]),
            ],
        }
    }

    /// A fixed statement, with parameters from a place such as `item.`.
    fn bound(&self, indent: &str, run: &str, sql: &[&str], used: &[usize], of: &str) -> Vec<String> {
        let values = used.iter().filter_map(|index| self.parameters.get(*index));
        let value = |p: &Parameter| match p.mapped(of) {
            Some(mapped) => format!("&{mapped}"),
            None => format!("&pg::Param(&{of}{})", p.name),
        };
        let values = values.map(value).collect::<Vec<_>>();
        if values.is_empty() {
            return vec![self.call(indent, run, &[sql, &["&[]"]].concat())];
        }
        let before = format!("{indent}let parameters: pg::Parameters<'_> = &[");
        vec![layout::array(&before, &values, "];"), self.call(indent, run, &[sql, &["parameters"]].concat())]
    }

    fn joined(&self, indent: &str, function: &str, of: &str) -> String {
        let given = self.parameters.iter().map(|p| p.given(of)).collect::<Vec<_>>();
        layout::call(&format!("{indent}let joined = {function}("), &given, ");")
    }

    fn run(&self) -> &'static str {
        match (self.statement.kind, self.statement.one) {
            (Kind::Exec, _) => "execute",
            (Kind::Query, true) => "one",
            (Kind::Query, false) => "all",
        }
    }

    fn function(&self) -> Function {
        Function {
            documentation: self.documentation.clone(),
            head: self.head("", self.signature(), &self.result()),
            body: self.body(self.run()),
        }
    }

    fn stream(&self) -> Function {
        Function {
            documentation: self.documentation.clone(),
            head: self.head("_stream", self.signature(), &format!("pg::Rows<{}>", self.row.ty)),
            body: self.body("stream"),
        }
    }

    fn batch(&self, record: &str) -> Function {
        let items = vec![format!("batch: impl IntoIterator<Item = {record}>")];
        let mut body = match &self.text {
            Text::Fixed { constant, used, .. } => self.fixed_batch(constant, used),
            Text::Joined { function } => self.joined_batch(function),
        };
        body.push("    pg::pipelined(statements).await".to_owned());
        Function {
            documentation: self.documentation.clone(),
            head: self.head("_batch", items, &format!("Vec<{}>", self.result())),
            body,
        }
    }

    fn fixed_batch(&self, constant: &str, used: &[usize]) -> Vec<String> {
        let prepared = ["db".to_owned(), constant.to_owned()];
        let mut body = vec![
            layout::call("    let statement = &pg::prepare(", &prepared, ").await?;"),
            "    let statements = batch.into_iter().map(|item| async move {".to_owned(),
        ];
        body.extend(self.bound("        ", self.run(), &["statement"], used, "item."));
        body.push("    });".to_owned());
        body
    }

    /// All texts are prepared before one runs: what waits for its text would be overtaken by what is behind it.
    /// No closure makes the futures, since the compiler does not see that those of borrowed values can be sent.
    fn joined_batch(&self, function: &str) -> Vec<String> {
        let mut body = Vec::new();
        let mut add = |lines: &[&str]| body.extend(lines.iter().map(|line| (*line).to_owned()));
        add(&["    let batch = batch.into_iter().collect::<Vec<_>>();"]);
        add(&["    let mut calls = pg::Calls::new(db);", "    for item in &batch {"]);
        add(&[&self.joined("        ", function, "item."), "        calls.add(joined).await?;", "    }"]);
        add(&["    let mut statements = Vec::new();"]);
        add(&["    for (statement, joined) in calls.prepared() {", "        statements.push(async move {"]);
        add(&["            let parameters = joined.parameters();"]);
        add(&[
            &self.call("            ", self.run(), &["&statement", "&parameters"]),
            "        });",
            "    }",
        ]);
        body
    }
}
