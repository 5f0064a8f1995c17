//! Statements as functions.

use std::collections::BTreeMap;

use super::types::RustType;
use super::view::{Field, Function, Struct};
use super::words::parameter_scope;
use super::{About, Row, Writer, layout, literal};
use crate::languages::method::{self, Form};
use crate::languages::rows::RowOf;
use crate::languages::{dynamic, literal::sql_comment, names};
use crate::model::{Fragment, Kind, Role, Statement};

/// What names of a statement's functions end with; the last, of one that makes calls.
const ENDINGS: [&str; 4] = ["", "_stream", "_batch", "_call"];

/// What a caller gives.
pub(super) struct Parameter<'m> {
    pub(super) name: String,
    pub(super) ty: RustType,
    pub(super) nullable: bool,
    pub(super) role: &'m Role,
}

/// What a statement's functions are made of.
pub(super) struct Parts<'m> {
    pub(super) statement: &'m Statement,
    pub(super) name: String,
    text: Text,
    pub(super) parameters: Vec<Parameter<'m>>,
    pub(super) row: Row,
    documentation: Vec<String>,
}

/// The text of a statement.
enum Text {
    /// A constant, by its name, and the parameters as they are numbered in it.
    Fixed(String, Vec<usize>),
    /// A function joins it.
    Joined,
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
            let is_fixed = dynamic::is_fixed(statement);
            let endings: &[&str] = if is_fixed { &ENDINGS[..3] } else { &ENDINGS };
            let given = members.give_all(&wanted, endings);
            let name = given.name;
            if given.collided {
                let of = &statement.name;
                self.warn(format!("{wanted} is also something else's name: {of} is called {name}"));
            }
            let text = if is_fixed { self.constant(statement, &name) } else { Text::Joined };
            let row = self.row(statement, owner, tables, &mut named);
            let documentation = method::documentation(statement);
            let documentation = documentation.map(|line| literal::documentation(&line)).collect();
            let parameters = self.parameters(statement);
            let parts = Parts { statement, name, text, parameters, row, documentation };
            functions.push(parts.function());
            if Form::of(statement) == Form::All {
                functions.push(parts.stream());
            }
            if method::is_batched(statement) {
                let record = self.parameters_struct(&parts);
                functions.push(parts.batch(&record));
            }
            if !is_fixed {
                functions.push(parts.call(&self.opening(statement)));
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
        if let (true, [column]) = (statement.pluck, statement.columns.as_slice()) {
            self.check_readable(&column.name, &column.ty, about);
            let ty = self.types.of(&column.ty).owned(column.nullable);
            let read = if column.nullable { "pg::nullable_value" } else { "pg::value" };
            return Row { ty, read: read.to_owned() };
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

    fn parameters(&mut self, statement: &'m Statement) -> Vec<Parameter<'m>> {
        let mut scope = parameter_scope();
        let parameters = statement.parameters.iter().map(|parameter| Parameter {
            name: scope.give(&names::snake(&parameter.name, "parameter")).name,
            ty: match &parameter.role {
                Role::Choice { options } => self.choice(statement, parameter, options),
                Role::Value | Role::Switch => self.types.of(&parameter.ty),
            },
            nullable: parameter.nullable,
            role: &parameter.role,
        });
        parameters.collect()
    }

    fn parameters_struct(&mut self, parts: &Parts<'_>) -> String {
        let name = self.types.scope.give(&(names::pascal(&parts.name, "sql") + "Parameters")).name;
        let fields = parts.parameters.iter();
        let fields = fields.map(|p| Field::new(p.name.clone(), &p.ty.owned(p.nullable)));
        let Statement { name: of, file, line, .. } = parts.statement;
        let documentation = literal::documentation(&format!("Parameters of {of}. {file}:{line}"));
        let fields = fields.collect();
        self.structs.push(Struct { name: name.clone(), documentation, fields, made: None });
        name
    }

    /// Declares the constant of a fixed text.
    fn constant(&mut self, statement: &Statement, function: &str) -> Text {
        let (sql, used) = self.sql(statement);
        let name = self.constant_names.give(&(names::screaming(function, "sql") + "_SQL")).name;
        self.constants.push(layout::constant(&format!("const {name}: &str ="), &literal::text(&sql)));
        Text::Fixed(name, used)
    }

    /// What begins the text of a statement, for those who look at a server.
    fn opening(&self, statement: &Statement) -> String {
        let (module, name) = (sql_comment(&self.module.name), sql_comment(&statement.name));
        format!("/* {module}.{name} */ ")
    }

    /// A fixed text: every parameter is read as the type that was described.
    fn sql(&self, statement: &Statement) -> (String, Vec<usize>) {
        let mut sql = self.opening(statement);
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
        (sql.trim_end().to_owned(), used)
    }
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
        parameters.map(|p| format!("{}: {}", p.name, p.ty.borrowed(p.nullable))).collect()
    }

    /// What one run of the statement gives.
    fn result(&self) -> String {
        match (self.statement.kind, self.statement.one) {
            (Kind::Exec, _) => "u64".to_owned(),
            (Kind::Query, true) => format!("Option<{}>", self.row.ty),
            (Kind::Query, false) => format!("Vec<{}>", self.row.ty),
        }
    }

    /// Runs the statement.
    fn body(&self, run: &str) -> Vec<String> {
        match &self.text {
            Text::Fixed(constant, used) => self.bound("    ", run, constant, used, ""),
            Text::Joined => self.called(run),
        }
    }

    /// Binds the parameters of a fixed text and runs it.
    fn bound(&self, indent: &str, run: &str, text: &str, used: &[usize], of: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let mut arguments = vec!["db".to_owned(), text.to_owned()];
        if used.is_empty() {
            arguments.push("&[]".to_owned());
        } else {
            let values = used.iter().filter_map(|index| self.parameters.get(*index));
            let values = values.map(|p| format!("&pg::Param(&{of}{})", p.name)).collect::<Vec<_>>();
            let before = format!("{indent}let parameters: pg::Parameters<'_> = &[");
            lines.push(layout::array(&before, &values, "];"));
            arguments.push("parameters".to_owned());
        }
        if !self.row.read.is_empty() {
            arguments.push(self.row.read.clone());
        }
        lines.push(layout::call(&format!("{indent}pg::{run}("), &arguments, ").await"));
        lines
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
        let body = match &self.text {
            Text::Fixed(constant, used) => self.prepared(constant, used),
            Text::Joined => self.one_by_one(),
        };
        Function {
            documentation: self.documentation.clone(),
            head: self.head("_batch", items, &format!("Vec<{}>", self.result())),
            body,
        }
    }

    /// Prepares a fixed text, and runs it for each item.
    fn prepared(&self, text: &str, used: &[usize]) -> Vec<String> {
        let arguments = ["db".to_owned(), text.to_owned()];
        let mut body = vec![
            layout::call("    let statement = &pg::prepare(", &arguments, ").await?;"),
            "    let statements = batch.into_iter().map(|item| async move {".to_owned(),
        ];
        body.extend(self.bound("        ", self.run(), "statement", used, "item."));
        body.extend(["    });".to_owned(), "    pg::pipelined(statements).await".to_owned()]);
        body
    }
}
