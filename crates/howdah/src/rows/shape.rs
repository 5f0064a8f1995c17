//! The columns that rows are made for, looked up once, and how a row becomes binary.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use howdah_encode::wire::MAX_FIELD_BYTES;
use howdah_encode::{SessionRules, TextCodec, TypeShape};

use super::open::OpenField;
use super::row::{Fields, Row};
use crate::error::{Error, ErrorKind};
use crate::name::quote;
use crate::table::{Column, Table};

/// The OID of `text`.
const TEXT_OID: u32 = 25;

/// A column that rows have a field for.
#[derive(Debug, Clone)]
pub struct RowColumn {
    /// As the catalog has it.
    pub name: String,
    /// As `format_type` writes it.
    pub type_name: String,
    /// OID and modifier of the type, domains resolved.
    pub(crate) base_type: (u32, i32),
    pub(crate) shape: TypeShape,
    pub(crate) typmod: i32,
    /// `None`: only the server can read the type's literals.
    pub(crate) codec: Option<TextCodec>,
    /// Its field is the literal itself.
    pub(crate) as_text: bool,
    /// Why NULL is certain to be refused, if it is.
    pub(crate) null_refusal: Option<String>,
    /// Of an array: a column of the literals of its elements, and what stands between them.
    pub(crate) element: Option<Box<(RowColumn, u8)>>,
}

impl RowColumn {
    fn of(column: &Column, table: &Table, rules: &SessionRules, array_columns_as_text: bool) -> RowColumn {
        let null_refusal = match &column.not_null_domain {
            Some(domain) => Some(format!("domain {domain} does not allow null values")),
            None if column.not_null && table.checks_not_null_itself() => Some(format!(
                "null value in column {:?} of relation {:?} violates not-null constraint",
                column.name, table.name
            )),
            None => None,
        };
        let element = RowColumn::element(column);
        let as_text = array_columns_as_text && element.is_some();
        let codec =
            if as_text { Some(TextCodec::Text) } else { TextCodec::of(&column.shape, column.typmod, rules) };
        RowColumn {
            name: column.name.clone(),
            type_name: column.type_name.clone(),
            base_type: column.base_type,
            shape: column.shape.clone(),
            typmod: column.typmod,
            codec,
            as_text,
            null_refusal,
            element,
        }
    }

    /// The elements of an array column, as a column of literals.
    fn element(column: &Column) -> Option<Box<(RowColumn, u8)>> {
        let TypeShape::Array { element_oid, delimiter, element } = below_domains(&column.shape) else {
            return None;
        };
        let null_refusal = match &**element {
            TypeShape::Domain { name, not_null: true, .. } => {
                Some(format!("domain {name} does not allow null values"))
            }
            _ => None,
        };
        let base_oid = match below_domains(element) {
            TypeShape::Base { oid } => *oid,
            _ => *element_oid,
        };
        let type_name = column.type_name.strip_suffix("[]").unwrap_or(&column.type_name);
        let element = RowColumn {
            name: column.name.clone(),
            type_name: type_name.to_owned(),
            base_type: (base_oid, -1),
            shape: TypeShape::Base { oid: TEXT_OID },
            typmod: -1,
            codec: Some(TextCodec::Text),
            as_text: true,
            null_refusal,
            element: None,
        };
        Some(Box::new((element, *delimiter)))
    }
}

fn below_domains(mut shape: &TypeShape) -> &TypeShape {
    while let TypeShape::Domain { over, .. } = shape {
        shape = over;
    }
    shape
}

/// The columns that rows are made for. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RowShape(Arc<Shape>);

#[derive(Debug)]
struct Shape {
    columns: Vec<RowColumn>,
    /// The field count that starts every row.
    row_start: [u8; 2],
    /// Quoted and qualified.
    relation: String,
    /// Bare, as the server's messages name it.
    relation_name: String,
    /// The address of the [`Row::COLUMNS`] that were found to be these columns last.
    known: AtomicUsize,
}

impl RowShape {
    /// The columns, in the order of a row's fields.
    pub fn columns(&self) -> &[RowColumn] {
        &self.0.columns
    }

    /// The table, quoted and qualified.
    pub(crate) fn relation(&self) -> &str {
        &self.0.relation
    }

    /// The table's bare name, as the server's messages name it.
    pub(crate) fn relation_name(&self) -> &str {
        &self.0.relation_name
    }

    /// The columns, quoted, with commas between.
    pub(crate) fn column_list(&self) -> String {
        let names = self.0.columns.iter().map(|column| quote(&column.name));
        names.collect::<Vec<_>>().join(", ")
    }

    /// Of the columns of `table` that are named, in that order; `columns: None`: all that are neither generated nor
    /// identity nor have a default. With `array_columns_as_text`, fields of array columns are literals.
    ///
    /// # Errors
    /// A usage error: a name is no column, or that of a generated one, or stands twice; no column is left.
    pub(crate) fn of(
        table: &Table,
        rules: &SessionRules,
        columns: Option<&[String]>,
        array_columns_as_text: bool,
    ) -> Result<RowShape, Error> {
        let chosen: Vec<&Column> = match columns {
            Some(names) => named(table, names)?,
            None => {
                let is_given = |column: &&Column| !column.generated && !column.has_default;
                table.columns.iter().filter(is_given).collect()
            }
        };
        if chosen.is_empty() {
            return Err(Error::usage(format!("no column of {} needs a value", table.display()))
                .with_hint("name the columns that the rows have fields for"));
        }
        let columns: Vec<RowColumn> = chosen
            .into_iter()
            .map(|column| RowColumn::of(column, table, rules, array_columns_as_text))
            .collect();
        // PostgreSQL allows 1,600 columns.
        let count = i16::try_from(columns.len()).map_err(|_| {
            Error::new(ErrorKind::Internal, "the rows have more columns than a table can have")
        })?;
        Ok(RowShape(Arc::new(Shape {
            columns,
            row_start: count.to_be_bytes(),
            relation: table.sql(),
            relation_name: table.name.clone(),
            known: AtomicUsize::new(0),
        })))
    }

    /// Appends the binary row, field count first. A literal that only the server can read stands in its field as it is,
    /// and is noted in `open`. On an error, or a panic of the row, nothing is left behind.
    ///
    /// # Errors
    /// A value is none of its column's type, with SQLSTATE and column; the row has other columns.
    #[inline]
    pub fn encode<R: Row + ?Sized>(
        &self,
        row: &R,
        out: &mut Vec<u8>,
        open: &mut Vec<OpenField>,
    ) -> Result<(), Error> {
        if let Some(columns) = R::COLUMNS {
            self.check_columns(columns)?;
        }
        self.put_row(out, open, |fields| row.put(fields))
    }

    /// Appends the row whose fields `put` puts.
    #[inline]
    pub(super) fn put_row(
        &self,
        out: &mut Vec<u8>,
        open: &mut Vec<OpenField>,
        put: impl FnOnce(&mut Fields<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut row = Unfinished { start: out.len(), open_before: open.len(), out, open, is_whole: false };
        row.out.extend_from_slice(&self.0.row_start);
        let mut fields = Fields {
            columns: &self.0.columns,
            count: 0,
            start: row.start,
            out: &mut *row.out,
            open: &mut *row.open,
        };
        put(&mut fields)?;
        fields.finish()?;
        if row.out.len() - row.start > MAX_FIELD_BYTES {
            return Err(too_large(row.out.len() - row.start));
        }
        row.is_whole = true;
        Ok(())
    }

    /// Whether a row type's columns are these.
    #[inline]
    fn check_columns(&self, columns: &'static [&'static str]) -> Result<(), Error> {
        // What was looked at before is not read again: a row type has one list of names, at one address.
        let address = columns.as_ptr().addr();
        if columns.len() == self.0.columns.len() && self.0.known.load(Ordering::Relaxed) == address {
            return Ok(());
        }
        let own = self.0.columns.iter().map(|column| column.name.as_str());
        if own.clone().eq(columns.iter().copied()) {
            self.0.known.store(address, Ordering::Relaxed);
            return Ok(());
        }
        let own: Vec<&str> = own.collect();
        Err(Error::usage(format!("the row is for the columns ({})", columns.join(", ")))
            .with_sqlstate("42601")
            .with_detail(format!("the writer is for ({})", own.join(", ")))
            .with_hint("make the writer for the row's own columns: COLUMNS of its type"))
    }
}

/// A row under way, which is taken back unless it becomes whole.
struct Unfinished<'r> {
    out: &'r mut Vec<u8>,
    open: &'r mut Vec<OpenField>,
    start: usize,
    open_before: usize,
    is_whole: bool,
}

impl Drop for Unfinished<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_whole {
            self.out.truncate(self.start);
            self.open.truncate(self.open_before);
        }
    }
}

#[cold]
fn too_large(bytes: usize) -> Error {
    Error::new(ErrorKind::Data, format!("the row has {bytes} bytes; PostgreSQL takes less than 1 GiB"))
        .with_sqlstate("54000")
}

/// The columns that are named, in that order.
fn named<'t>(table: &'t Table, names: &[String]) -> Result<Vec<&'t Column>, Error> {
    let refused = |sqlstate: &str, name: &str, what: &str| {
        Err(Error::usage(format!("column {name:?} of {} {what}", table.display())).with_sqlstate(sqlstate))
    };
    let mut chosen = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        match table.columns.iter().find(|column| column.name == *name) {
            _ if names[..at].contains(name) => return refused("42701", name, "is named twice"),
            None => {
                let all: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
                return refused("42703", name, "does not exist")
                    .map_err(|error| error.with_detail(format!("columns: {}", all.join(", "))));
            }
            Some(column) if column.generated => {
                return refused("42P10", name, "is generated: the server computes it");
            }
            Some(column) => chosen.push(column),
        }
    }
    Ok(chosen)
}
