//! `runtime: howdah`: rows are appended and written by howdah's own client, on a connection of its own.

use super::view::Runtime;
use super::{Row, Writer, layout, literal, quoted};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::model::{Table, TableColumn};

impl Writer<'_> {
    /// The functions of these names that write a table's rows, whose struct has these fields.
    pub(super) fn own_client(
        &mut self,
        table: &Table,
        row: &Row,
        fields: &[String],
        [create, append, writer]: [Option<&String>; 3],
    ) -> Runtime {
        let written = table.columns.iter().filter(|column| column.written);
        let mut puts = Vec::new();
        let mut names = Vec::new();
        for (field, column) in fields.iter().zip(written) {
            names.push(literal::word(&column.name));
            let put = self.types.of(&column.ty).put(&format!("self.{field}"), column.nullable);
            puts.extend(put);
            if puts.len() < names.len() {
                self.not_carried(table, column);
                break;
            }
        }
        let target = "target: &howdah::Target".to_owned();
        let head = |name: &String, more: Option<String>, gives: &str| {
            let parameters = [Some(target.clone()), more].into_iter().flatten().collect::<Vec<_>>();
            let behind = format!(") -> Result<{gives}, howdah::Error> {{");
            layout::head(&format!("pub async fn {name}("), &parameters, &behind)
        };
        let ty = &row.ty;
        let rows = format!("rows: impl IntoIterator<Item = {ty}>");
        let appends = create.zip(append).filter(|_| table.appender).map(|(create, append)| {
            [head(create, None, &format!("runtime::Appender<{ty}>")), head(append, Some(rows), "u64")]
        });
        let options = || Some("options: howdah::WriterOptions".to_owned());
        let name = format!("{}.{}", quoted(&table.schema), quoted(&table.table));
        Runtime {
            table: layout::constant("    const TABLE: &'static str =", &literal::text(&name)),
            names: layout::array("    const NAMES: &'static [&'static str] = &[", &names, "];"),
            puts,
            appends,
            writer: writer.map(|name| head(name, options(), &format!("runtime::Writer<{ty}>"))),
        }
    }

    /// Says that a column's type is not among those of `runtime: howdah`.
    fn not_carried(&mut self, table: &Table, column: &TableColumn) {
        let of = format!("{}.{}", table.schema, table.table);
        let message = format!(
            "the column {:?} of {of} is a {}, which `runtime: howdah` does not carry in Rust: only the server knows \
             the types of its parts",
            column.name, column.ty.sql
        );
        let block = format!("TABLE {}", table.name);
        let error =
            super::super::about(Code::NotSupported, Severity::Error, message, &table.file, table.line, block);
        let help = "leave it out of `:appender(…)`, or generate this file without `runtime`";
        self.errors.push(Diagnostic { suggestion: Some(help.to_owned()), ..error });
    }
}
