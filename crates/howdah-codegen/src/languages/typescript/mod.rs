//! TypeScript with node-postgres: a class for pools and clients, with the rows that it gives.

mod literal;
mod methods;
mod types;
mod view;
mod words;

use self::types::Types;
use self::view::{Appender, Constant, Field, Interface, Join, Reader, Upsert, View};
use self::words::{file_scope, member_scope, property_scope};
use super::rows::{self, RowOf};
use super::template::Templates;
use super::upsert::{self, Staged};
use super::{File, Generated, Options, custom, method, migrations, names};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::model::{Model, Module, Table, TypeRef};

const SUPPORT: &[(&str, &str)] = &[
    ("howdah_pg.ts", include_str!("../../../runtime/typescript/howdah_pg.ts")),
    ("howdah_codec.ts", include_str!("../../../runtime/typescript/howdah_codec.ts")),
    ("howdah_time.ts", include_str!("../../../runtime/typescript/howdah_time.ts")),
    ("howdah_copy.ts", include_str!("../../../runtime/typescript/howdah_copy.ts")),
];
const UPSERT: &str = include_str!("../../../runtime/typescript/howdah_upsert.ts");
const OBSERVER: &str = include_str!("../../../runtime/typescript/howdah_observer.ts");
pub(super) const TEMPLATES: Templates = Templates {
    first: ("module.ts", include_str!("../../../templates/typescript/module.jinja")),
    others: &[
        ("class.ts", include_str!("../../../templates/typescript/class.jinja")),
        ("migrate.ts", include_str!("../../../templates/typescript/migrate.jinja")),
    ],
};

/// A row, or the value of its only column.
#[derive(Debug, Clone, Default)]
struct Row {
    /// Its type.
    name: String,
    reader: String,
}

struct Writer<'m> {
    module: &'m Module,
    types: Types<'m>,
    rows: Vec<Interface>,
    readers: Vec<Reader>,
    texts: Vec<Constant>,
    joins: Vec<Join>,
    warnings: Vec<Diagnostic>,
}

/// Generates `shop.ts` and what it shares with other modules.
pub(crate) fn generate(
    model: &Model,
    module: &Module,
    options: &Options,
) -> Result<Generated, Vec<Diagnostic>> {
    let owners = rows::owners(module)?;
    let mut scope = file_scope();
    custom::reserve(&options.types, &mut scope);
    let class = scope.give(&names::pascal(&module.name, "sql")).name;
    let mut writer = Writer {
        module,
        types: Types::new(model, &options.types, scope, options.text_timestamps),
        rows: Vec::new(),
        readers: Vec::new(),
        texts: Vec::new(),
        joins: Vec::new(),
        warnings: Vec::new(),
    };
    let mut members = member_scope();
    let (tables, appenders) = writer.tables(&owners, &mut members);
    let methods = writer.methods(&owners, &tables, &mut members);
    let migrates = migrations::wanted(module, options);
    let steps = migrates.then(|| {
        let name = writer.types.scope.give("MIGRATIONS").name;
        migrations::migrations(model, module, name, literal::string, literal::lines)
    });
    let mut interfaces = writer.types.composites;
    interfaces.extend(writer.rows);
    let mut constants = writer.types.codecs;
    constants.extend(writer.texts);
    let has_parameters = methods.iter().any(|method| !method.values.is_empty());
    let view = View {
        documentation: literal::documentation(&module.files.join(", ")),
        class,
        has_codecs: has_parameters || !writer.readers.is_empty() || !appenders.is_empty(),
        imports: writer.types.imports,
        aliases: writer.types.aliases,
        interfaces,
        constants,
        readers: writer.readers,
        joins: writer.joins,
        methods,
        upserts: appenders.iter().any(|appender| !appender.upserts.is_empty()),
        appenders,
        migrations: steps,
        observed: options.observer,
    };
    let text = TEMPLATES.module(model, options, &view)?;
    let file = |path: &str, text: String| File { path: path.to_owned(), text };
    let name = names::snake(&module.name, "sql");
    let mut files = vec![file(&format!("{name}.ts"), text)];
    files.extend(SUPPORT.iter().map(|(path, text)| file(path, (*text).to_owned())));
    if module.tables.iter().any(Table::upserts) {
        files.push(file("howdah_upsert.ts", UPSERT.to_owned()));
    }
    if options.observer {
        files.push(file("howdah_observer.ts", OBSERVER.to_owned()));
    }
    if migrates {
        let faces = Vec::<()>::new();
        let contract = migrations::contract(|n| format!("${n}"), literal::string, literal::lines, faces);
        let text = TEMPLATES.other("migrate.ts", &contract)?;
        files.push(file("howdah_migrate.ts", text));
    }
    Ok(Generated { files, warnings: writer.warnings })
}

impl Writer<'_> {
    /// The interfaces of tables' rows, for those that write or read them, and what writes them.
    fn tables(&mut self, owners: &[RowOf], members: &mut names::Scope) -> (Vec<Option<Row>>, Vec<Appender>) {
        let mut appenders = Vec::new();
        let mut rows = Vec::new();
        for (index, table) in self.module.tables.iter().enumerate() {
            let read = owners.contains(&RowOf::Table(index));
            let columns = table.columns.iter().filter(|column| column.written);
            let columns = columns.map(|c| (c.name.clone(), c.ty.clone(), c.nullable)).collect::<Vec<_>>();
            if columns.is_empty() || !(table.appender || table.upserts() || read) {
                rows.push(None);
                continue;
            }
            let wanted = names::pascal(&table.name, "table") + "Row";
            let documentation =
                format!("A row of {}.{}. {}:{}", table.schema, table.table, table.file, table.line);
            let row = self.interface(&wanted, &documentation, &columns, read);
            if table.appender || table.upserts() {
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
        let fields = self.rows.iter().find(|interface| interface.name == row.name);
        let fields = fields.map_or(&[][..], |interface| &interface.fields);
        let puts = fields.iter().zip(&types).zip(&written).map(|((field, ty), column)| {
            let method = if column.nullable { "put" } else { "set" };
            format!("out.{method}({}, row.{});", ty.codec, field.name)
        });
        let puts = puts.collect();
        let binary = types.iter().all(|ty| ty.binary);
        let form = if binary { "(FORMAT binary)" } else { "(FORMAT text)" };
        let columns = written.iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ");
        let copy =
            format!("COPY {}.{} ({columns}) FROM STDIN {form}", quoted(&table.schema), quoted(&table.table));
        let documentation = literal::documentation(&format!("{}:{}", table.file, table.line));
        Appender {
            appends: table.appender,
            upserts: upsert::staged(self.module, table)
                .into_iter()
                .map(|texts| self.upsert(&texts, (table, form), &documentation, members))
                .collect(),
            row: row.name.clone(),
            target: self.types.scope.give(&(names::screaming(&table.name, "table") + "_TABLE")).name,
            copy: literal::string(&copy),
            binary,
            columns: written.iter().map(|column| literal::string(&column.name)).collect(),
            codecs: types.into_iter().map(|ty| ty.codec).collect(),
            puts,
            documentation,
            create: members.give(&format!("create{stem}Appender")).name,
            insert: members.give(&format!("bulkInsert{stem}Row")).name,
            label: literal::string(&method::label(self.module, &table.name)),
        }
    }

    fn upsert(
        &mut self,
        texts: &Staged,
        (table, form): (&Table, &str),
        place: &str,
        members: &mut names::Scope,
    ) -> Upsert {
        let name = names::screaming(&format!("{}_{}", table.name, texts.verb), "table");
        let [does, gives] = texts.conflict.documentation();
        let label = method::label(self.module, &format!("{}_{}", texts.verb, table.name));
        Upsert {
            label: literal::string(&label),
            method: members.give(&(texts.verb.to_owned() + &names::pascal(&table.name, "table"))).name,
            documentation: [does.to_owned(), format!("{gives} {place}")],
            name: self.types.scope.give(&name).name,
            create: literal::lines(&texts.create),
            copy: literal::string(&format!("{} {form}", texts.copy)),
            place: literal::string(&texts.place),
            write: literal::lines(&texts.write),
            drop: literal::string(&texts.drop),
        }
    }

    /// Declares an interface of columns and, if rows are read, the function that makes it.
    fn interface(
        &mut self,
        wanted: &str,
        documentation: &str,
        columns: &[(String, TypeRef, bool)],
        read: bool,
    ) -> Row {
        let given = self.types.scope.give(wanted);
        let name = given.name;
        if given.collided {
            self.warn(format!("{wanted} is also something else's name: this row is called {name}"));
        }
        let mut scope = property_scope();
        let mut fields = Vec::new();
        let mut values = Vec::new();
        for (index, (column, ty, nullable)) in columns.iter().enumerate() {
            let ty = self.types.of(ty);
            let field = scope.give(&names::camel(column, "column"));
            if field.collided {
                self.warn(format!(
                    "the columns {column:?} and another of {name} have one name in TypeScript: it is called {}",
                    field.name
                ));
            }
            values.push(format!("{}: {}", field.name, ty.read(index, column, *nullable)));
            fields.push(Field { name: field.name, ty: ty.declared(*nullable) });
        }
        let documentation = literal::documentation(documentation);
        self.rows.push(Interface { name: name.clone(), documentation, fields });
        let mut row = Row { name, reader: String::new() };
        if read {
            row.reader = self.types.scope.give(&format!("read{}", row.name)).name;
            let (reader, ty) = (row.reader.clone(), row.name.clone());
            self.readers.push(Reader { name: reader, ty, values, single: false });
        }
        row
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
