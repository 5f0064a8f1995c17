//! Statements as functions.

use std::collections::BTreeMap;

use super::types::RustType;
use super::view::{Field, Function, Struct};
use super::words::parameter_scope;
use super::{About, Row, Writer, layout, literal};
use crate::languages::method::{self, Form};
use crate::languages::rows::RowOf;
use crate::languages::{literal::sql_comment, names};
use crate::model::{Fragment, Kind, Statement};

struct Parameter {
    name: String,
    ty: RustType,
    nullable: bool,
}

/// What a statement's functions are made of.
struct Parts<'m> {
    statement: &'m Statement,
    name: String,
    /// The constant of its text.
    text: String,
    parameters: Vec<Parameter>,
    /// The parameters as they are numbered in the text.
    used: Vec<usize>,
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
            let given = members.give_all(&wanted, &["", "_stream", "_batch"]);
            let name = given.name;
            if given.collided {
                let of = &statement.name;
                self.warn(format!("{wanted} is also something else's name: {of} is called {name}"));
            }
            let (sql, used) = self.sql(statement);
            let text = self.constant_names.give(&(names::screaming(&name, "sql") + "_SQL")).name;
            self.constants.push(layout::constant(&format!("const {text}: &str ="), &literal::text(&sql)));
            let row = self.row(statement, owner, tables, &mut named);
            let documentation = method::documentation(statement);
            let documentation = documentation.map(|line| literal::documentation(&line)).collect();
            let parameters = self.parameters(statement);
            let parts = Parts { statement, name, text, parameters, used, row, documentation };
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

    fn parameters(&mut self, statement: &Statement) -> Vec<Parameter> {
        let mut scope = parameter_scope();
        let parameters = statement.parameters.iter().map(|parameter| Parameter {
            name: scope.give(&names::snake(&parameter.name, "parameter")).name,
            ty: self.types.of(&parameter.ty),
            nullable: parameter.nullable,
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

    /// The statement: every parameter is read as the type that was described.
    fn sql(&self, statement: &Statement) -> (String, Vec<usize>) {
        let (module, name) = (sql_comment(&self.module.name), sql_comment(&statement.name));
        let mut sql = format!("/* {module}.{name} */ ");
        let mut used = Vec::new();
        for fragment in &statement.sql {
            match fragment {
                Fragment::Text(text) => sql.push_str(text),
                // Statements that have these are refused before.
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

    /// Binds the parameters and runs the statement.
    fn body(&self, indent: &str, run: &str, text: &str, of: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let mut arguments = vec!["db".to_owned(), text.to_owned()];
        if self.used.is_empty() {
            arguments.push("&[]".to_owned());
        } else {
            let values = self.used.iter().filter_map(|index| self.parameters.get(*index));
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
            body: self.body("    ", self.run(), &self.text, ""),
        }
    }

    fn stream(&self) -> Function {
        Function {
            documentation: self.documentation.clone(),
            head: self.head("_stream", self.signature(), &format!("pg::Rows<{}>", self.row.ty)),
            body: self.body("    ", "stream", &self.text, ""),
        }
    }

    fn batch(&self, record: &str) -> Function {
        let items = vec![format!("batch: impl IntoIterator<Item = {record}>")];
        let mut body = vec![
            layout::call(
                "    let statement = &pg::prepare(",
                &["db".to_owned(), self.text.clone()],
                ").await?;",
            ),
            "    let statements = batch.into_iter().map(|item| async move {".to_owned(),
        ];
        body.extend(self.body("        ", self.run(), "statement", "item."));
        body.extend(["    });".to_owned(), "    pg::pipelined(statements).await".to_owned()]);
        Function {
            documentation: self.documentation.clone(),
            head: self.head("_batch", items, &format!("Vec<{}>", self.result())),
            body,
        }
    }
}
