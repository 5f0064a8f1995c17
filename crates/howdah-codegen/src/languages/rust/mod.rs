//! Rust with tokio-postgres: a function a statement, and the structs that they take and give.

mod joins;
mod layout;
mod literal;
mod methods;
mod migrate;
mod parameters;
mod runtime;
mod types;
mod view;
mod words;

use self::types::Types;
use self::view::{Appender, Field, Struct, Upsert, View};
use self::words::{KEYWORDS, type_scope, value_scope};
use super::rows::{self, RowOf};
use super::template::Templates;
use super::upsert::{self, Staged};
use super::{File, Generated, Options, custom, migrations, names};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::model::{Model, Module, Table, TypeRef};

macro_rules! support {
    ($($path:literal),*) => {
        &[$(($path, include_str!(concat!("../../../runtime/rust/", $path)))),*]
    };
}

const SUPPORT: &[(&str, &str)] = support!(
    "howdah_postgres.rs",
    "howdah_postgres/codec.rs",
    "howdah_postgres/containers.rs",
    "howdah_postgres/copy.rs",
    "howdah_postgres/joined.rs",
    "howdah_postgres/numeric.rs",
    "howdah_postgres/own.rs",
    "howdah_postgres/range.rs",
    "howdah_postgres/time.rs",
    "howdah_postgres/upsert.rs"
);
pub(super) const TEMPLATES: Templates = Templates {
    first: ("module.rs", include_str!("../../../templates/rust/module.jinja")),
    others: &[("migrate.rs", include_str!("../../../templates/rust/migrate.jinja"))],
};
/// Modules that the code mentions.
const MODULES: &[&str] = &["howdah_migrate", "howdah_postgres", "howdah_runtime", "lib", "main"];
const RUNTIME: &str = include_str!("../../../runtime/rust/howdah_runtime.rs");

/// A row, or the value of its only column.
#[derive(Debug, Clone, Default)]
struct Row {
    /// Its type.
    ty: String,
    /// What makes it of the driver's row.
    read: String,
}

struct Writer<'m> {
    module: &'m Module,
    /// Appenders and writers are those of howdah's own client.
    runtime: bool,
    types: Types<'m>,
    structs: Vec<Struct>,
    constants: Vec<String>,
    constant_names: names::Scope,
    warnings: Vec<Diagnostic>,
    errors: Vec<Diagnostic>,
}

/// What a person finds a message by.
#[derive(Debug, Clone, Copy)]
struct About<'m> {
    file: &'m str,
    line: usize,
    /// `public.users`, or a statement.
    of: &'m str,
}

/// Generates `shop.rs` and what it shares with other modules.
pub(crate) fn generate(
    model: &Model,
    module: &Module,
    options: &Options,
) -> Result<Generated, Vec<Diagnostic>> {
    let owners = rows::owners(module)?;
    let [mut scope, mut members, mut constant_names] = [type_scope(), value_scope(), value_scope()];
    for names in [&mut scope, &mut members, &mut constant_names] {
        custom::reserve(&options.types, names);
    }
    let mut writer = Writer {
        module,
        runtime: options.runtime,
        types: Types::new(model, &options.types, scope),
        structs: Vec::new(),
        constants: Vec::new(),
        constant_names,
        warnings: Vec::new(),
        errors: Vec::new(),
    };
    let migrates = migrations::wanted(module, options);
    let steps = migrates.then(|| writer.steps(model, &mut members));
    let (tables, appenders) = writer.tables(&owners, &mut members);
    let functions = writer.functions(&owners, &tables, &mut members);
    if !writer.errors.is_empty() {
        return Err(writer.errors);
    }
    let own_client = appenders.iter().any(|appender| appender.runtime.is_some());
    let view = View {
        runtime: own_client,
        documentation: literal::documentation(&module.files.join(", ")),
        imports: writer.types.imports.into_iter().collect(),
        mappings: writer.types.mappings,
        enums: writer.types.enums,
        composites: writer.types.composites,
        structs: writer.structs,
        constants: writer.constants,
        functions,
        appenders,
        migrations: steps,
    };
    let text = TEMPLATES.module(model, options, &view)?;
    let name = names::snake(&module.name, "sql");
    let taken = KEYWORDS.contains(&name.as_str()) || MODULES.contains(&name.as_str());
    let name = if taken { name + "_" } else { name };
    let mut files = vec![File { path: format!("{name}.rs"), text: text.trim_end().to_owned() + "\n" }];
    files.extend(
        SUPPORT.iter().map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() }),
    );
    if own_client {
        files.push(File { path: "howdah_runtime.rs".to_owned(), text: RUNTIME.to_owned() });
    }
    if migrates {
        files.push(File { path: "howdah_migrate.rs".to_owned(), text: migrate::runner()? });
    }
    Ok(Generated { files, warnings: writer.warnings })
}

impl<'m> Writer<'m> {
    /// The structs of tables' rows, for those that write or read them, and what writes them.
    fn tables(&mut self, owners: &[RowOf], members: &mut names::Scope) -> (Vec<Option<Row>>, Vec<Appender>) {
        let mut appenders = Vec::new();
        let mut rows = Vec::new();
        for (index, table) in self.module.tables.iter().enumerate() {
            let read = owners.contains(&RowOf::Table(index));
            let columns = table.columns.iter().filter(|column| column.written);
            let columns = columns.map(|c| (c.name.clone(), c.ty.clone(), c.nullable)).collect::<Vec<_>>();
            if columns.is_empty() || !(table.takes_rows() || read) {
                rows.push(None);
                continue;
            }
            let wanted = names::pascal(&table.name, "table") + "Row";
            let of = format!("{}.{}", table.schema, table.table);
            let about = About { file: &table.file, line: table.line, of: &of };
            let row = self.row_struct(&wanted, about, &columns, read);
            if table.takes_rows() {
                appenders.push(self.appender(table, &row, members));
            }
            rows.push(Some(row));
        }
        (rows, appenders)
    }

    fn appender(&mut self, table: &Table, row: &Row, members: &mut names::Scope) -> Appender {
        let stem = names::snake(&table.name, "table");
        let written = table.columns.iter().filter(|column| column.written).collect::<Vec<_>>();
        let binary = written.iter().all(|column| self.types.of(&column.ty).binary);
        let fields = self.structs.iter().find(|declared| declared.name == row.ty);
        let fields = fields.map_or(&[][..], |declared| &declared.fields);
        let put = |(field, column): (&Field, &&crate::model::TableColumn)| {
            let (ty, place) = (self.types.of(&column.ty), format!("self.{}", field.name));
            let value = ty.given(&ty.borrow(&place, column.nullable), column.nullable).unwrap_or(place);
            let arguments = [literal::word(&column.name), format!("&{value}")];
            layout::call("        row.put(", &arguments, ")?;")
        };
        let puts = fields.iter().zip(&written).map(put).collect();
        let columns = written.iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ");
        let target = format!("{}.{}", quoted(&table.schema), quoted(&table.table));
        let format = if binary { "binary" } else { "text" };
        let copy = format!("COPY {target} ({columns}) FROM STDIN (FORMAT {format})");
        let select = format!("SELECT {columns} FROM {target}");
        let create = members.give(&format!("{stem}_appender")).name;
        let append = members.give(&format!("append_{stem}")).name;
        let documentation = literal::documentation(&format!("{}:{}", table.file, table.line));
        let names = fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
        let runtime = (self.runtime && (table.appender || table.writer)).then(|| {
            let writer = table.writer.then(|| members.give(&format!("{stem}_writer")).name);
            self.own_client(table, row, &names, [Some(&create), Some(&append), writer.as_ref()])
        });
        Appender {
            appends: table.appender && !self.runtime,
            runtime,
            upserts: upsert::staged(self.module, table)
                .into_iter()
                .map(|texts| self.upsert(&texts, &stem, (row, &columns, format), &documentation, members))
                .collect(),
            row: row.ty.clone(),
            copy: layout::constant("    const COPY: &'static str =", &literal::text(&copy)),
            select: layout::constant("    const SELECT: &'static str =", &literal::text(&select)),
            binary,
            puts,
            documentation,
            create_head: layout::head(
                &format!("pub async fn {create}<'a>("),
                &["db: &'a pg::Transaction<'_>".to_owned()],
                &format!(") -> Result<pg::Appender<'a, {}>, pg::Error> {{", row.ty),
            ),
            append_head: layout::head(
                &format!("pub async fn {append}("),
                &[
                    "db: &pg::Transaction<'_>".to_owned(),
                    format!("rows: impl IntoIterator<Item = {}>", row.ty),
                ],
                ") -> Result<u64, pg::Error> {",
            ),
        }
    }

    fn upsert(
        &mut self,
        texts: &Staged,
        stem: &str,
        (row, columns, format): (&Row, &str, &str),
        at: &str,
        members: &mut names::Scope,
    ) -> Upsert {
        let name =
            self.constant_names.give(&names::screaming(&format!("{stem}_{}", texts.verb), "table")).name;
        let method = members.give(&format!("{}_{stem}", texts.verb)).name;
        let place = quoted(&texts.place);
        let select = format!("SELECT {columns}, {place} FROM {}.{}", upsert::SCHEMA, upsert::STAGE);
        // rustfmt leaves a text of several lines behind its field's name.
        let field = |name: &str, literal: &str| {
            if literal.contains('\n') {
                return format!("    {name}: {literal},");
            }
            layout::assigned(&format!("    {name}:"), literal, ",")
        };
        let [does, gives] = texts.conflict.documentation();
        Upsert {
            fields: vec![
                field("create", &literal::text(&texts.create)),
                field("select", &literal::text(&select)),
                field("copy", &literal::text(&format!("{} (FORMAT {format})", texts.copy))),
                field("place", &literal::word(&texts.place)),
                field("write", &literal::text(&texts.write)),
                field("drop", &literal::text(&texts.drop)),
            ],
            documentation: [
                does.to_owned(),
                String::new(),
                format!("All of it is done or nothing: the transaction goes on either way. {gives} {at}"),
            ],
            head: layout::head(
                &format!("pub async fn {method}("),
                &[
                    "db: &mut pg::Transaction<'_>".to_owned(),
                    format!("rows: impl IntoIterator<Item = {}>", row.ty),
                ],
                ") -> Result<u64, pg::Error> {",
            ),
            call: layout::call(
                "    pg::upsert(",
                &["db", &format!("&{name}"), "rows"].map(str::to_owned),
                ").await",
            ),
            name,
        }
    }

    /// Declares a struct of columns and, if rows are read, what makes it.
    fn row_struct(
        &mut self,
        wanted: &str,
        about: About<'_>,
        columns: &[(String, TypeRef, bool)],
        read: bool,
    ) -> Row {
        let given = self.types.scope.give(wanted);
        let name = given.name;
        if given.collided {
            self.warn(format!("{wanted} is also something else's name: this row is called {name}"));
        }
        let mut scope = value_scope();
        let mut fields = Vec::new();
        let mut values = Vec::new();
        for (index, (column, ty, nullable)) in columns.iter().enumerate() {
            let ty = self.types.of(ty);
            let field = scope.give(&names::snake(column, "column"));
            if field.collided {
                self.warn(format!(
                    "the columns {column:?} and another of {name} have one name in Rust: it is called {}",
                    field.name
                ));
            }
            values.push(format!("{}: {}?", field.name, ty.read(index, *nullable)));
            fields.push(Field::new(field.name, &ty.owned(*nullable)));
        }
        let About { file, line, of } = about;
        self.structs.push(Struct {
            name: name.clone(),
            documentation: literal::documentation(&format!("A row of {of}. {file}:{line}")),
            fields,
            made: read.then(|| layout::made(&values)),
        });
        Row { read: format!("{name}::from_row"), ty: name }
    }

    /// The driver asks for results in binary only.
    fn check_readable(&mut self, column: &str, ty: &TypeRef, about: About<'_>) {
        if self.types.of(ty).binary {
            return;
        }
        let message = format!(
            "the column {column:?} of {} is a {}, which has no type in Rust: tokio-postgres reads it in binary only",
            about.of, ty.sql
        );
        let cast = if ty.array { "text[]" } else { "text" };
        self.errors.push(Diagnostic {
            suggestion: Some(format!("cast it in the statement: {}::{cast}", quoted(column))),
            ..super::about(
                Code::TypeMappingError,
                Severity::Error,
                message,
                about.file,
                about.line,
                about.of.to_owned(),
            )
        });
    }

    fn warn(&mut self, message: String) {
        self.warnings.push(Diagnostic {
            severity: Severity::Warning,
            code: Code::NameCollision,
            message,
            suggestion: None,
            place: None,
            block: None,
            sqlstate: None,
        });
    }
}

/// A name as SQL writes it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
