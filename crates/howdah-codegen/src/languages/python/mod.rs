//! Python 3.11 with psycopg 3: a class for connections, one for asynchronous ones, and the rows that they give.

mod literal;
mod methods;
mod types;
mod view;
mod words;

use self::types::Types;
use self::view::{Appender, Assigned, Builder, Choice, Class, Face, Field, Maker, Runner, Upsert, View};
use super::rows::{self, RowOf};
use super::template::Templates;
use super::upsert::{self, Conflict, Staged};
use super::{File, Generated, Options, custom, method, migrations, names};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::model::{Kind, Model, Module, Table};

const SUPPORT: &str = include_str!("../../../runtime/python/howdah_psycopg.py");
const CURSORS: &str = include_str!("../../../runtime/python/howdah_cursors.py");
const COPY: &str = include_str!("../../../runtime/python/howdah_copy.py");
const UPSERT: &str = include_str!("../../../runtime/python/howdah_upsert.py");
const RUNTIME: &str = include_str!("../../../runtime/python/howdah_runtime.py");
const OBSERVER: &str = include_str!("../../../runtime/python/howdah_observer.py");
pub(super) const TEMPLATES: Templates = Templates {
    first: ("module.py", include_str!("../../../templates/python/module.jinja")),
    others: &[
        ("class.py", include_str!("../../../templates/python/class.jinja")),
        ("migrate.py", include_str!("../../../templates/python/migrate.jinja")),
    ],
};

/// A row class and the function that makes it.
#[derive(Clone)]
struct RowClass {
    name: String,
    maker: String,
    raw_hint: String,
    raw_maker: String,
}

struct Writer<'m> {
    module: &'m Module,
    runtime: bool,
    types: Types<'m>,
    rows: Vec<Class>,
    makers: Vec<Maker>,
    texts: Vec<Assigned>,
    choices: Vec<Choice>,
    builders: Vec<Builder>,
    warnings: Vec<Diagnostic>,
}

/// Generates `shop.py` and what it shares with other modules.
pub(crate) fn generate(
    model: &Model,
    module: &Module,
    options: &Options,
) -> Result<Generated, Vec<Diagnostic>> {
    let owners = rows::owners(module)?;
    let mut scope = words::module_scope();
    custom::reserve(&options.types, &mut scope);
    let class = scope.give_all(&names::pascal(&module.name, "sql"), &[""]).name;
    let async_class = scope.give(&format!("Async{class}")).name;
    let mut writer = Writer {
        module,
        runtime: options.runtime,
        types: Types::new(model, &options.types, scope),
        rows: Vec::new(),
        makers: Vec::new(),
        texts: Vec::new(),
        choices: Vec::new(),
        builders: Vec::new(),
        warnings: Vec::new(),
    };
    let migrates = migrations::wanted(module, options);
    let mut members = words::member_scope();
    if migrates {
        for name in ["get_migrations", "apply_migrations"] {
            members.give(name);
        }
    }
    if options.observer {
        members.give("observer");
    }
    // A method of such a name would stand for it in the hints behind it.
    members.avoid(writer.types.words());
    let (tables, appenders) = writer.tables(&owners, &mut members);
    let methods = writer.methods(&owners, &tables, &mut members);
    let steps = migrates.then(|| {
        let name = writer.types.scope.give("_MIGRATIONS").name;
        migrations::migrations(model, module, name, literal::string, literal::lines)
    });
    let imports = writer.imports(&methods, &appenders, options);
    let view = View {
        documentation: literal::documentation(&format!(
            "Typed access to the SQL of {}.",
            module.files.join(", ")
        )),
        imports,
        enums: writer.types.enums,
        aliases: writer.types.aliases,
        composites: writer.types.composites,
        rows: writer.rows,
        codecs: writer.types.codecs,
        converters: writer.types.converters,
        texts: writer.texts,
        choices: writer.choices,
        builders: writer.builders,
        makers: writer.makers,
        appenders,
        migrations: steps,
        faces: faces(class, async_class),
        methods,
        observed: options.observer,
    };
    let text = TEMPLATES.module(model, options, &view)?;
    let file = |path: &str, text: String| File { path: path.to_owned(), text };
    let name = names::snake(&module.name, "sql");
    let name = if words::is_keyword(&name) { name + "_" } else { name };
    let shared = |text: &str| {
        ["copy", "cursors", "psycopg"].into_iter().fold(text.to_owned(), |text, part| {
            let (module, name) = (format!("howdah_{part}"), if part == "psycopg" { "pg" } else { part });
            text.replace(&format!("import {module} as {name}"), &support(options, &module, name))
        })
    };
    let mut files = vec![
        file(&format!("{name}.py"), text),
        file("howdah_psycopg.py", SUPPORT.to_owned()),
        file("howdah_cursors.py", shared(CURSORS)),
        file("howdah_copy.py", shared(COPY)),
    ];
    if module.tables.iter().any(Table::upserts) {
        files.push(file("howdah_upsert.py", shared(UPSERT)));
    }
    if writer.runtime && module.tables.iter().any(|table| table.appender || table.writer) {
        files.push(file("howdah_runtime.py", shared(RUNTIME)));
    }
    if options.observer {
        files.push(file("howdah_observer.py", OBSERVER.to_owned()));
    }
    if migrates {
        let contract = migrations::contract(|_| "%s".to_owned(), literal::string, literal::lines, runners());
        let text = TEMPLATES.other("migrate.py", &contract)?;
        files.push(file("howdah_migrate.py", text));
    }
    Ok(Generated { files, warnings: writer.warnings })
}

fn runners() -> Vec<Runner> {
    vec![
        Runner {
            name: "Runner",
            connection: "psycopg.Connection[Any]",
            def: "def",
            with: "with",
            wait: "",
            work: "T",
            pause: "time.sleep",
        },
        Runner {
            name: "AsyncRunner",
            connection: "psycopg.AsyncConnection[Any]",
            def: "async def",
            with: "async with",
            wait: "await ",
            work: "Awaitable[T]",
            pause: "await asyncio.sleep",
        },
    ]
}

fn support(options: &Options, module: &str, name: &str) -> String {
    match &options.package {
        Some(package) => format!("from {package} import {module} as {name}"),
        None => format!("import {module} as {name}"),
    }
}

fn faces(name: String, async_name: String) -> Vec<Face> {
    vec![
        Face {
            name,
            documentation: "Runs the statements on a connection. Transactions are the connection's.".into(),
            connection: "psycopg.Connection[Any]",
            cursor: "_cursors.Cursor",
            appender: "copy.Appender",
            writer: "_runtime.Writer",
            staged: "staged.write",
            iterator: "Iterator",
            stream: "_cursors.stream",
            runner: "Runner",
            together: "_cursors.together",
            asynchronous: "",
            observed: "Call",
            wait: "",
        },
        Face {
            name: async_name,
            documentation:
                "Runs the statements on an asynchronous connection. Transactions are the connection's.".into(),
            connection: "psycopg.AsyncConnection[Any]",
            cursor: "_cursors.AsyncCursor",
            appender: "copy.AsyncAppender",
            writer: "_runtime.AsyncWriter",
            staged: "staged.write_async",
            iterator: "AsyncIterator",
            stream: "_cursors.async_stream",
            runner: "AsyncRunner",
            together: "_cursors.async_together",
            asynchronous: "async ",
            observed: "AsyncCall",
            wait: "await ",
        },
    ]
}

impl Writer<'_> {
    /// The classes of tables' rows, for those that write or read them, and the appenders.
    fn tables(
        &mut self,
        owners: &[RowOf],
        members: &mut names::Scope,
    ) -> (Vec<Option<RowClass>>, Vec<Appender>) {
        let mut appenders = Vec::new();
        let mut classes = Vec::new();
        for (index, table) in self.module.tables.iter().enumerate() {
            let read = owners.contains(&RowOf::Table(index));
            let columns = table.columns.iter().filter(|column| column.written);
            let columns = columns.map(|c| (c.name.clone(), c.ty.clone(), c.nullable)).collect::<Vec<_>>();
            if columns.is_empty() || !(table.takes_rows() || read) {
                classes.push(None);
                continue;
            }
            let wanted = names::pascal(&table.name, "table") + "Row";
            let documentation =
                format!("A row of {}.{}. {}:{}", table.schema, table.table, table.file, table.line);
            let class = self.row_class(&wanted, &documentation, &columns, read);
            if table.takes_rows() {
                appenders.push(self.appender(table, &class, members));
            }
            classes.push(Some(class));
        }
        (classes, appenders)
    }

    fn appender(&mut self, table: &Table, class: &RowClass, members: &mut names::Scope) -> Appender {
        let stem = names::snake(&table.name, "table");
        let written = table.columns.iter().filter(|column| column.written).collect::<Vec<_>>();
        let types = written.iter().map(|column| self.types.of(&column.ty)).collect::<Vec<_>>();
        let pairs = written.iter().zip(&types);
        let pairs = pairs
            .map(|(column, ty)| Assigned { name: literal::string(&column.name), value: ty.codec.clone() });
        let pairs = pairs.collect();
        let fields = self.rows.iter().find(|row| row.name == class.name).map_or(&[][..], |row| &row.fields);
        let values = fields.iter().zip(written.iter().zip(&types)).map(|(field, (column, ty))| {
            methods::encoded(ty, &format!("row.{}", field.name), column.nullable)
        });
        let values = values.collect::<Vec<_>>().join(", ");
        let screaming = stem.to_ascii_uppercase();
        let documentation = literal::documentation(&format!("{}:{}", table.file, table.line));
        let name = match table.appender {
            true => self.types.scope.give(&(names::pascal(&table.name, "table") + "Appender")).name,
            false => String::new(),
        };
        Appender {
            appends: table.appender,
            runtime: self.runtime,
            writer: table.writer.then(|| members.give(&format!("create_{stem}_writer")).name),
            name,
            table: self.types.scope.give(&format!("_{screaming}_TABLE")).name,
            columns: self.types.scope.give(&format!("_{screaming}_COLUMNS")).name,
            values: self.types.scope.give(&format!("_{stem}_values")).name,
            row: class.name.clone(),
            literal: format!("({}, {})", literal::string(&table.schema), literal::string(&table.table)),
            pairs,
            expression: format!("({values},)"),
            create: members.give(&format!("create_{stem}_appender")).name,
            insert: members.give(&format!("bulk_insert_{stem}_rows")).name,
            label: literal::string(&method::label(self.module, &table.name)),
            upserts: upsert::staged(self.module, table)
                .into_iter()
                .map(|texts| self.upsert(texts, table, &documentation, members))
                .collect(),
            documentation,
        }
    }

    fn upsert(&mut self, texts: Staged, table: &Table, place: &str, members: &mut names::Scope) -> Upsert {
        let stem = names::snake(&table.name, "table");
        let documentation = match texts.conflict {
            Conflict::Update => {
                "Insert rows, or update those whose key is there; of several with one key the last counts. \
             Give the number of rows inserted or updated."
            }
            Conflict::Nothing => {
                "Insert the rows whose key is not there yet; of several with one key the first counts. \
             Give the number of rows inserted."
            }
        };
        Upsert {
            label: literal::string(&method::label(self.module, &format!("{}_{}", texts.verb, table.name))),
            method: members.give(&format!("{}_{stem}", texts.verb)).name,
            documentation: format!("{documentation} {place}"),
            name: self.types.scope.give(&format!("_{stem}_{}", texts.verb).to_ascii_uppercase()).name,
            stage: format!("({}, {})", literal::string(upsert::SCHEMA), literal::string(upsert::STAGE)),
            place: literal::string(&texts.place),
            create: literal::lines(&texts.create),
            write: literal::lines(&texts.write),
            drop: literal::lines(&texts.drop),
        }
    }

    /// Declares a dataclass of columns and, if rows are read, the functions that make it and its tuple.
    fn row_class(
        &mut self,
        wanted: &str,
        documentation: &str,
        columns: &[(String, crate::model::TypeRef, bool)],
        read: bool,
    ) -> RowClass {
        let given = self.types.scope.give(wanted);
        let name = given.name;
        if given.collided {
            let message = format!("{wanted} is also something else's name: this row is called {name}");
            self.warn(message);
        }
        let mut scope = words::field_scope();
        scope.avoid(self.types.words());
        let mut fields = Vec::new();
        let mut values = Vec::new();
        for (index, (column, ty, nullable)) in columns.iter().enumerate() {
            let ty = self.types.of(ty);
            let field = scope.give(&names::snake(column, "column"));
            if field.collided {
                self.warn(format!(
                    "the columns {column:?} and another of {name} have one name in Python: it is called {}",
                    field.name
                ));
            }
            fields.push(Field { name: field.name, hint: optional(&ty.hint, *nullable) });
            values.push(methods::read(&ty, &format!("row[{index}]"), *nullable));
        }
        let hints = fields.iter().map(|field| field.hint.clone()).collect::<Vec<_>>().join(", ");
        let as_they_come = values.iter().enumerate().all(|(index, value)| *value == format!("row[{index}]"));
        let values = values.join(", ");
        let stem = names::snake(&name, "row");
        let documentation = literal::documentation(documentation);
        self.rows.push(Class { name: name.clone(), documentation, fields });
        let mut class = RowClass {
            name,
            maker: String::new(),
            raw_hint: format!("tuple[{hints}]"),
            raw_maker: String::new(),
        };
        if read {
            class.maker = self.types.scope.give(&format!("_{stem}")).name;
            class.raw_maker = self.types.scope.give(&format!("_{stem}_raw")).name;
            // Python takes a row apart faster than it takes ten values out of it.
            let arguments = if as_they_come { "*row" } else { values.as_str() };
            let value = format!("{}({arguments})", class.name);
            self.makers.push(Maker { name: class.maker.clone(), hint: class.name.clone(), value });
            let (hint, name) = (class.raw_hint.clone(), class.raw_maker.clone());
            self.makers.push(Maker { name, hint, value: format!("({values},)") });
        }
        class
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

    fn imports(&self, methods: &[view::Method], appenders: &[Appender], options: &Options) -> Vec<String> {
        let migrates = migrations::wanted(self.module, options);
        let appends = appenders.iter().any(|appender| appender.appends);
        let queries = self.module.statements.iter().any(|s| s.kind == Kind::Query && !methods.is_empty());
        let arrays = methods
            .iter()
            .any(|method| method.signature.contains("Sequence[") || method.batch_hint.contains("Sequence["));
        let batches = methods.iter().any(|method| method.batched) || !appenders.is_empty();
        let abc = [
            (queries, "AsyncIterator"),
            (batches, "Iterable"),
            (queries, "Iterator"),
            (!self.choices.is_empty(), "Mapping"),
            (queries || arrays || migrates || !appenders.is_empty(), "Sequence"),
        ];
        let abc = abc.iter().filter(|(used, _)| *used).map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
        let mut standard = Vec::new();
        if self.types.imports.contains("import datetime as dt") {
            standard.push("import datetime as dt".to_owned());
        }
        if !abc.is_empty() {
            standard.push(format!("from collections.abc import {abc}"));
        }
        if !self.rows.is_empty() || !self.types.composites.is_empty() {
            standard.push("from dataclasses import dataclass".to_owned());
        }
        if self.types.imports.contains("from decimal import Decimal") {
            standard.push("from decimal import Decimal".to_owned());
        }
        if !self.types.enums.is_empty() {
            standard.push("from enum import StrEnum".to_owned());
        }
        let typing = [
            (true, "Any"),
            (
                !(self.texts.is_empty() && self.choices.is_empty() && appenders.is_empty()) || migrates,
                "Final",
            ),
            (!self.builders.is_empty(), "LiteralString"),
            (appends || !self.types.aliases.is_empty(), "TypeAlias"),
            (appenders.iter().any(|appender| appender.writer.is_some()), "Unpack"),
        ];
        let typing =
            typing.iter().filter(|(used, _)| *used).map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
        standard.push(format!("from typing import {typing}"));
        if self.types.imports.contains("from uuid import UUID") {
            standard.push("from uuid import UUID".to_owned());
        }
        standard.push(String::new());
        standard.extend(self.types.custom_imports.iter().cloned());
        standard.push("import psycopg".to_owned());
        let multi = self.types.imports.iter().filter(|import| import.contains("psycopg.types"));
        standard.extend(multi.map(|import| (*import).to_owned()));
        standard.push(String::new());
        if appends {
            standard.push(support(options, "howdah_copy", "copy"));
        }
        if !methods.is_empty() {
            standard.push(support(options, "howdah_cursors", "_cursors"));
        }
        if migrates {
            standard.push(support(options, "howdah_migrate", "migrate"));
        }
        if options.observer {
            standard.push(support(options, "howdah_observer", "_observed"));
        }
        standard.push(support(options, "howdah_psycopg", "pg"));
        if appenders.iter().any(|a| a.writer.is_some() || a.appends && a.runtime) {
            standard.push(support(options, "howdah_runtime", "_runtime"));
        }
        if appenders.iter().any(|appender| !appender.upserts.is_empty()) {
            standard.push(support(options, "howdah_upsert", "staged"));
        }
        standard
    }
}

/// A hint that admits null.
pub(super) fn optional(hint: &str, nullable: bool) -> String {
    if nullable { format!("{hint} | None") } else { hint.to_owned() }
}
