//! Java 17 with pgjdbc: a class for connections, with the records that it gives.

mod literal;
mod methods;
mod types;
mod view;
mod words;

use std::collections::BTreeSet;

use self::types::Types;
use self::view::{Appender, Binder, Constant, EnumClass, Field, Joiner, Reader, Record, Upsert, View};
use self::words::{IMPORTED, class_scope, component_scope, constant_scope, mentions, method_scope};
use super::rows::{self, RowOf};
use super::template::Templates;
use super::upsert::{self, Staged};
use super::{File, Generated, Options, custom, method, migrations, names};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::model::{Model, Module, Table, TypeRef};

const SUPPORT: &[(&str, &str)] = &[
    ("HowdahJdbc.java", include_str!("../../../runtime/java/HowdahJdbc.java")),
    ("HowdahBinary.java", include_str!("../../../runtime/java/HowdahBinary.java")),
    ("HowdahCodec.java", include_str!("../../../runtime/java/HowdahCodec.java")),
    ("HowdahCopy.java", include_str!("../../../runtime/java/HowdahCopy.java")),
];
const UPSERT: &str = include_str!("../../../runtime/java/HowdahUpsert.java");
const OBSERVER: &str = include_str!("../../../runtime/java/HowdahObserver.java");
pub(super) const TEMPLATES: Templates = Templates {
    first: ("class.java", include_str!("../../../templates/java/class.jinja")),
    others: &[
        ("methods.java", include_str!("../../../templates/java/methods.jinja")),
        ("HowdahMigrate.java", include_str!("../../../templates/java/HowdahMigrate.jinja")),
    ],
};
/// A method of Java takes 255 words of arguments, of which `this` is one.
const MOST_WORDS: usize = 254;

/// A row, or the value of its only column.
#[derive(Debug, Clone, Default)]
struct Row {
    /// Its class.
    name: String,
    /// With its annotation, as the result that may be none.
    declared: String,
    reader: String,
    /// All its columns are read without loss in whatever form pgjdbc asks for.
    plain: bool,
}

struct Writer<'m> {
    module: &'m Module,
    types: Types<'m>,
    records: Vec<Record>,
    readers: Vec<Reader>,
    binders: Vec<Binder>,
    joiners: Vec<Joiner>,
    choices: Vec<EnumClass>,
    texts: Vec<Constant>,
    /// Names of private methods.
    helpers: names::Scope,
    warnings: Vec<Diagnostic>,
    errors: Vec<Diagnostic>,
}

/// Generates `Shop.java` and what it shares with other modules.
pub(crate) fn generate(
    model: &Model,
    module: &Module,
    options: &Options,
) -> Result<Generated, Vec<Diagnostic>> {
    let owners = rows::owners(module)?;
    let mut classes = class_scope();
    custom::reserve(&options.types, &mut classes);
    let class = classes.give(&names::pascal(&module.name, "sql")).name;
    let mut writer = Writer {
        module,
        types: Types::new(model, &options.types, classes, constant_scope()),
        records: Vec::new(),
        readers: Vec::new(),
        binders: Vec::new(),
        joiners: Vec::new(),
        choices: Vec::new(),
        texts: Vec::new(),
        helpers: method_scope(),
        warnings: Vec::new(),
        errors: Vec::new(),
    };
    let migrates = migrations::wanted(module, options);
    let mut members = method_scope();
    if migrates {
        for name in ["getMigrations", "applyMigrations"] {
            members.give(name);
        }
    }
    let (tables, appenders) = writer.tables(&owners, &mut members);
    let methods = writer.methods(&owners, &tables, &mut members);
    if !writer.errors.is_empty() {
        return Err(writer.errors);
    }
    let steps = migrates.then(|| {
        let name = writer.types.fields.give("MIGRATIONS").name;
        migrations::migrations(model, module, name, literal::string, |text| {
            literal::lines(text, "            ")
        })
    });
    let own_imports = writer.types.imports;
    let mut records = writer.types.composites;
    records.extend(writer.records);
    let mut constants = writer.types.codecs;
    constants.extend(writer.texts);
    let view = View {
        class: class.clone(),
        documentation: literal::documentation(&module.files.join(", ")),
        enums: writer.types.enums,
        choices: writer.choices,
        records,
        constants,
        readers: writer.readers,
        binders: writer.binders,
        joiners: writer.joiners,
        methods,
        appenders,
        migrations: steps,
        observed: options.observer,
    };
    let body = TEMPLATES.module(model, options, &view)?;
    let mut files = vec![File {
        path: format!("{class}.java"),
        text: head(options, &body, &own_imports) + body.trim_end() + "\n",
    }];
    files.extend(
        SUPPORT.iter().map(|(path, text)| File { path: (*path).to_owned(), text: package(options) + text }),
    );
    if module.tables.iter().any(Table::upserts) {
        files.push(File { path: "HowdahUpsert.java".to_owned(), text: package(options) + UPSERT });
    }
    if options.observer {
        files.push(File { path: "HowdahObserver.java".to_owned(), text: package(options) + OBSERVER });
    }
    if migrates {
        let lines = |text: &str| literal::lines(text, "        ");
        let contract = migrations::contract(|_| "?".to_owned(), literal::string, lines, Vec::<()>::new());
        let text = TEMPLATES.other("HowdahMigrate.java", &contract)?;
        files.push(File { path: "HowdahMigrate.java".to_owned(), text: package(options) + &text });
    }
    Ok(Generated { files, warnings: writer.warnings })
}

fn package(options: &Options) -> String {
    options.package.as_ref().map_or_else(String::new, |package| format!("package {package};\n\n"))
}

fn head(options: &Options, body: &str, own: &BTreeSet<String>) -> String {
    let imports = IMPORTED.iter().filter(|(name, _)| mentions(body, name)).map(|(_, path)| *path);
    let known = imports.clone().collect::<BTreeSet<_>>();
    let own = own.iter().map(String::as_str).filter(|path| !known.contains(path));
    let imports = imports.chain(own).map(|path| format!("import {path};\n")).collect::<String>();
    format!("// Generated by `howdah codegen`: changes are lost.\n{}{imports}", package(options))
}

impl Writer<'_> {
    /// The records of tables' rows, for those that write or read them, and the appenders.
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
            let row = self.record(&wanted, (&table.file, table.line, &of), &columns, read);
            if table.takes_rows() {
                appenders.push(self.appender(table, &row, members));
            }
            rows.push(Some(row));
        }
        (rows, appenders)
    }

    fn appender(&mut self, table: &Table, row: &Row, members: &mut names::Scope) -> Appender {
        let stem = names::pascal(&table.name, "table");
        let written = table.columns.iter().filter(|column| column.written).collect::<Vec<_>>();
        let types = written.iter().map(|column| self.types.of(&column.ty)).collect::<Vec<_>>();
        let fields = self.records.iter().find(|record| record.name == row.name);
        let fields = fields.map_or(&[][..], |record| &record.fields);
        let puts = fields.iter().zip(&types).map(|(field, ty)| match ty.primitive {
            Some((primitive, _)) if field.declared == primitive => {
                let method = ty.codec.trim_start_matches("HowdahCodec.");
                let method = if method.contains(|c: char| !c.is_ascii_alphanumeric()) || method == ty.codec {
                    return format!("out.put({}, row.{}());", ty.codec, field.name);
                } else {
                    method.to_ascii_lowercase()
                };
                format!("out.{method}(row.{}());", field.name)
            }
            _ => format!("out.put({}, row.{}());", ty.codec, field.name),
        });
        let puts = puts.collect();
        let documentation = literal::documentation(&format!("{}:{}", table.file, table.line));
        let target = self.types.fields.give(&(names::screaming(&table.name, "table") + "_COPY")).name;
        let binary = types.iter().all(|ty| ty.binary);
        let columns = written.iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ");
        let form = if binary { "(FORMAT binary)" } else { "(FORMAT text)" };
        let copy =
            format!("COPY {}.{} ({columns}) FROM STDIN {form}", quoted(&table.schema), quoted(&table.table));
        Appender {
            appends: table.appender,
            row: row.name.clone(),
            target,
            target_value: literal::lines(&copy, "        "),
            columns: written.iter().map(|column| literal::string(&column.name)).collect(),
            codecs: types.into_iter().map(|ty| ty.codec).collect(),
            encode: self.helpers.give(&format!("encode{stem}")).name,
            puts,
            create: members.give(&format!("create{stem}Appender")).name,
            insert: members.give(&format!("bulkInsert{stem}Row")).name,
            label: literal::string(&method::label(self.module, &table.name)),
            upserts: upsert::staged(self.module, table)
                .into_iter()
                .map(|texts| self.upsert(texts, (table, form), &documentation, members))
                .collect(),
            documentation,
        }
    }

    fn upsert(
        &mut self,
        texts: Staged,
        (table, form): (&Table, &str),
        place: &str,
        members: &mut names::Scope,
    ) -> Upsert {
        let lines = |text: &str| literal::lines(text, "        ");
        let name = format!("{}_{}", table.name, texts.verb);
        let label = method::label(self.module, &format!("{}_{}", texts.verb, table.name));
        Upsert {
            label: literal::string(&label),
            method: members.give(&(texts.verb.to_owned() + &names::pascal(&table.name, "table"))).name,
            documentation: format!("{} {place}", texts.conflict.documentation().join(" ")),
            name: self.types.fields.give(&names::screaming(&name, "table")).name,
            create: lines(&texts.create),
            copy: lines(&format!("{} {form}", texts.copy)),
            place: literal::string(&texts.place),
            write: lines(&texts.write),
            drop: lines(&texts.drop),
        }
    }

    /// Declares a record of columns and, if rows are read, the method that makes it.
    fn record(
        &mut self,
        wanted: &str,
        (file, line, of): (&str, usize, &str),
        columns: &[(String, TypeRef, bool)],
        read: bool,
    ) -> Row {
        let given = self.types.classes.give(wanted);
        let name = given.name;
        if given.collided {
            self.warn(format!("{wanted} is also something else's name: this row is called {name}"));
        }
        let mut scope = component_scope();
        let mut fields = Vec::new();
        let mut values = Vec::new();
        let mut plain = true;
        for (index, (column, ty, nullable)) in columns.iter().enumerate() {
            let ty = self.types.of(ty);
            let field = scope.give(&names::camel(column, "column"));
            if field.collided {
                self.warn(format!(
                    "the columns {column:?} and another of {name} have one name in Java: it is called {}",
                    field.name
                ));
            }
            let (declared, required) = (ty.declared(*nullable), ty.required(*nullable));
            fields.push(Field { name: field.name, declared, required });
            values.push(ty.read(index + 1, *nullable));
            plain &= ty.plain;
        }
        let documentation = literal::documentation(&format!("A row of {of}. {file}:{line}"));
        let record = Record { name: name.clone(), documentation, fields };
        self.check_size(&record, file, line, of);
        self.records.push(record);
        let declared = format!("@HowdahJdbc.Nullable {name}");
        let mut row = Row { declared, reader: String::new(), plain, name };
        if read {
            row.reader = self.helpers.give(&format!("read{}", row.name)).name;
            let value = format!("new {}({})", row.name, values.join(", "));
            self.readers.push(Reader { name: row.reader.clone(), ty: row.name.clone(), value });
        }
        row
    }

    /// Refuses a record of more components than a constructor takes.
    fn check_size(&mut self, record: &Record, file: &str, line: usize, block: &str) {
        let two = |field: &&Field| matches!(field.declared.as_str(), "long" | "double");
        let size = record.fields.len() + record.fields.iter().filter(two).count();
        if size > MOST_WORDS {
            let message = format!(
                "Java has no record of {} components that hold {size} words: it takes {MOST_WORDS}",
                record.fields.len()
            );
            let error =
                super::about(Code::TypeMappingError, Severity::Error, message, file, line, block.to_owned());
            self.errors.push(error);
        }
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
