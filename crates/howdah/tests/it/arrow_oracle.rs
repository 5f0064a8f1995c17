//! The oracle for values that have types: random batches of every Arrow type are loaded, and psql's `\copy` loads the
//! literals of the same values; both must store the same bytes. `HOWDAH_BATCH_CASES` cases.

use std::cell::Cell;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, UInt32Array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::take::take;
use howdah::options::{Allowed, Mode};
use howdah::source::Input;
use howdah::{Control, load_inputs};
use howdah_encode::arrow::{ArrowCodec, created_type};
use howdah_encode::literals::{NESTED_SETUP, TYPES, nested_types};
use howdah_encode::{SessionRules, TextCodec, TypeShape, copy_text};
use howdah_testkit::arrays::{behind, lists, maps, scalars, seeds, structs};
use howdah_testkit::{Database, knob};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::common::{options, target};

/// Rows of an array that stand before those of the batch.
const LEADING: usize = 2;

/// What the batches of a case go into.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Table {
    /// One that the load makes.
    New,
    /// One of other types that take the values exactly.
    Existing,
    /// The same, where values may lose what the options name.
    Lossy,
}

impl Table {
    fn allowed(self) -> Allowed {
        let loses = self == Table::Lossy;
        Allowed { nanoseconds: loses, decimals: loses, floats: loses }
    }
}

/// A PostgreSQL type.
#[derive(Debug, Clone)]
struct Target {
    name: String,
    shape: TypeShape,
    typmod: i32,
}

impl Target {
    /// Whether the server alone judges its literals: what is json already is passed on.
    fn is_json(&self) -> bool {
        let shape = match &self.shape {
            TypeShape::Array { element, .. } => element,
            shape => shape,
        };
        matches!(shape, TypeShape::Base { oid: 114 | 3802 })
    }
}

/// A column of a batch and of the table. Its codec tells what is refused, and writes literals.
struct Column {
    array: ArrayRef,
    target: Target,
    codec: ArrowCodec,
}

impl Column {
    fn new(array: ArrayRef, target: Target, rules: &SessionRules, table: Table) -> Option<Self> {
        let field = Field::new("c", array.data_type().clone(), true);
        let text = TextCodec::of(&target.shape, target.typmod, rules)?;
        let Target { name, shape, typmod } = &target;
        let codec = ArrowCodec::of(&field, shape, *typmod, name, Some(&text), table.allowed()).ok()?;
        Some(Column { array, target, codec })
    }

    /// The column with so many rows, NULL where the type refuses the value, in an array that starts before them.
    fn accepted(self, rows: usize) -> Self {
        let column = self.codec.bind(&self.array).unwrap();
        let is_accepted = |row: &usize| {
            let mut literal = Vec::new();
            !column.is_null(*row)
                && column.put(*row, &mut Vec::new()).is_ok()
                && column.literal(*row, &mut literal).is_ok()
                && !(self.target.is_json() && literal.windows(6).any(|bytes| bytes == b"\\u0000"))
        };
        let places = (0..LEADING + rows).map(|row| row % self.array.len());
        let places = places.map(|row| is_accepted(&row).then(|| u32::try_from(row).unwrap()));
        let taken = take(&self.array, &places.collect::<UInt32Array>(), None).unwrap();
        Column { array: taken.slice(LEADING, rows), ..self }
    }

    /// The literals of all values, `None` for NULL. Those of a `foreign` writer, where one writes what PostgreSQL reads as
    /// the same value.
    fn literals(&self, foreign: bool) -> Vec<Option<Vec<u8>>> {
        let column = self.codec.bind(&self.array).unwrap();
        let literal = |row| {
            if column.is_null(row) {
                return None;
            }
            let theirs = if foreign { foreign_literal(&self.array, row) } else { None };
            Some(theirs.unwrap_or_else(|| {
                let mut ours = Vec::new();
                column.literal(row, &mut ours).unwrap();
                ours
            }))
        };
        (0..self.array.len()).map(literal).collect()
    }
}

/// How arrow-rs shows a value, if PostgreSQL has the same spelling.
fn foreign_literal(array: &ArrayRef, row: usize) -> Option<Vec<u8>> {
    use DataType as T;
    let kind = innermost(array.data_type());
    let is_dated = matches!(kind, T::Date32 | T::Date64 | T::Timestamp(_, None));
    let is_common = kind.is_integer()
        || kind.is_decimal()
        || kind.is_string()
        || matches!(kind, T::Boolean | T::Float32 | T::Float64 | T::Time32(_) | T::Time64(_));
    let options = FormatOptions::new().with_display_error(false);
    let text = ArrayFormatter::try_new(array, &options).ok()?.value(row).try_to_string().ok()?;
    if is_dated {
        // Years beyond four digits, and those before the first, are written otherwise.
        (text.starts_with(|c: char| c.is_ascii_digit()) && !text.starts_with("0000"))
            .then(|| text.into_bytes())
    } else if kind.is_binary() {
        Some(format!("\\x{text}").into_bytes())
    } else {
        is_common.then(|| text.into_bytes())
    }
}

/// The type of the values behind keys and runs.
fn innermost(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => innermost(values),
        DataType::RunEndEncoded(_, values) => innermost(values.data_type()),
        kind => kind,
    }
}

/// Whether values, or the items of lists, are literals already.
fn is_text(kind: &DataType) -> bool {
    use DataType as T;
    match kind {
        T::List(item) | T::LargeList(item) | T::ListView(item) | T::LargeListView(item) => {
            is_text(item.data_type())
        }
        T::FixedSizeList(item, _) => is_text(item.data_type()),
        kind => kind.is_string() || kind.is_binary(),
    }
}

/// Arrays of every type, of different lengths.
fn arrays(seeds: &[Option<i64>], turn: usize) -> Vec<ArrayRef> {
    let mut arrays = scalars(seeds);
    let of = |kind: DataType| arrays.iter().find(|array| *array.data_type() == kind).unwrap().clone();
    let triple = [of(DataType::Int32), of(DataType::Utf8), of(DataType::Decimal32(9, 2))];
    arrays.push(Arc::new(structs(&triple)));
    arrays.push(Arc::new(maps(seeds)));
    let layout = |at: usize| (at + turn) % 5;
    let inner: Vec<_> =
        arrays.iter().enumerate().map(|(at, array)| lists(array).remove(layout(at))).collect();
    let outer = inner.iter().enumerate().filter(|(at, _)| at % 4 == turn % 4);
    let outer: Vec<_> = outer.map(|(at, list)| lists(list).remove(layout(at / 4))).collect();
    arrays.into_iter().chain(inner).chain(outer).collect()
}

struct Oracle {
    database: Database,
    rules: SessionRules,
    /// Types of all kinds.
    existing: Vec<Target>,
    fields: Cell<usize>,
    values: Cell<usize>,
}

impl Oracle {
    fn new() -> Self {
        let database = Database::new();
        database.sql(NESTED_SETUP);
        let [zone, dates, intervals, money] = ["timezone", "datestyle", "intervalstyle", "lc_monetary"]
            .map(|name| database.sql(&format!("SHOW {name}")));
        let plain = TYPES.iter().map(|&(name, oid, typmod)| (name, TypeShape::Base { oid }, typmod));
        let nested = nested_types().into_iter().map(|nested| (nested.name, nested.shape, nested.typmod));
        // A column of a domain that refuses NULL refuses whole rows.
        let existing = plain.chain(nested).filter(|(name, ..)| *name != "given");
        Oracle {
            rules: SessionRules::from_settings(&zone, &dates, &intervals, &money),
            existing: existing
                .map(|(name, shape, typmod)| Target { name: name.to_owned(), shape, typmod })
                .collect(),
            database,
            fields: Cell::new(0),
            values: Cell::new(0),
        }
    }

    /// The types of new columns, as the server knows them by their names.
    fn named(&self, names: &[String]) -> Vec<Target> {
        let columns = names.iter().enumerate().map(|(at, name)| format!("c{at} {name}"));
        let known = self.database.sql(&format!(
            "DROP TABLE IF EXISTS named; CREATE TABLE named ({});
             SELECT atttypid, atttypmod, CASE typcategory WHEN 'A' THEN typelem ELSE 0 END
               FROM pg_attribute JOIN pg_type t ON t.oid = atttypid
              WHERE attrelid = 'named'::regclass AND attnum > 0 ORDER BY attnum",
            columns.collect::<Vec<_>>().join(", ")
        ));
        let target = |(line, name): (&str, &String)| {
            let numbers: Vec<i64> = line.split('|').map(|number| number.parse().unwrap()).collect();
            let base = |oid: i64| TypeShape::Base { oid: u32::try_from(oid).unwrap() };
            let shape = match numbers[2] {
                0 => base(numbers[0]),
                element => TypeShape::Array {
                    element_oid: u32::try_from(element).unwrap(),
                    delimiter: b',',
                    element: Box::new(base(element)),
                },
            };
            Target { name: name.clone(), shape, typmod: i32::try_from(numbers[1]).unwrap() }
        };
        known.lines().zip(names).map(target).collect()
    }

    /// The columns of a case.
    fn columns(&self, seeds: &[Option<i64>], turn: usize, table: Table) -> Vec<Column> {
        let (arrays, rows) = (arrays(seeds, turn), seeds.len());
        let column = |array: &ArrayRef, target: &Target| {
            Column::new(array.clone(), target.clone(), &self.rules, table)
        };
        let columns: Vec<Column> = if table == Table::New {
            let field = |array: &ArrayRef| Field::new("c", array.data_type().clone(), true);
            let names: Vec<_> = arrays.iter().map(|array| created_type(&field(array)).unwrap()).collect();
            arrays
                .iter()
                .zip(&self.named(&names))
                .map(|(array, target)| column(array, target).unwrap())
                .collect()
        } else {
            let fitting = |(at, array): (usize, &ArrayRef)| {
                let (before, from) = self.existing.split_at((7 * at + turn) % self.existing.len());
                let judged = |target: &&Target| !(target.is_json() && is_text(array.data_type()));
                from.iter().chain(before).filter(judged).find_map(|target| column(array, target))
            };
            arrays.iter().enumerate().filter_map(fitting).collect()
        };
        let accepted: Vec<Column> = columns.into_iter().map(|column| column.accepted(rows)).collect();
        let hidden = accepted.iter().enumerate().filter(|(_, column)| !column.array.data_type().is_nested());
        let hidden: Vec<Column> = hidden
            .map(|(at, Column { array, target, .. })| {
                let twice = &behind(array)[(at + turn) % 2];
                column(&twice.slice(turn % rows, rows), target).unwrap()
            })
            .collect();
        accepted.into_iter().chain(hidden).collect()
    }

    /// Loads the columns by us, their literals by psql, and compares.
    fn compare(
        &self,
        columns: &[Column],
        rows: usize,
        turn: usize,
        table: Table,
    ) -> Result<(), TestCaseError> {
        let database = &self.database;
        let definitions =
            columns.iter().enumerate().map(|(at, column)| format!("c{at} {}", column.target.name));
        let definitions = definitions.collect::<Vec<_>>().join(", ");
        database.sql(&format!(
            "DROP TABLE IF EXISTS by_us, by_psql; CREATE TABLE by_psql (id bigint, {definitions})"
        ));
        let mode = if table == Table::New { Mode::Create } else { Mode::Append };
        if mode == Mode::Append {
            database.sql("CREATE TABLE by_us (LIKE by_psql)");
        }
        let wanted = options("", "by_us").mode(mode).jobs(1 + turn % 2).allow_loss(table.allowed());
        let input = Input::record_batches("batches", batches(columns, rows, turn));
        if let Err(error) = load_inputs(vec![input], &wanted, &target(database), &Control::new()) {
            return Err(TestCaseError::fail(format!("{error:?}")));
        }
        let types = |table: &str| {
            database.sql(&format!(
                "SELECT string_agg(format_type(atttypid, atttypmod), ', ' ORDER BY attnum)
                   FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0"
            ))
        };
        prop_assert_eq!(types("by_us"), types("by_psql"));
        let file = database.file("literals.copy", self.lines(columns, rows, table == Table::New));
        database.sql(&format!(r"\copy by_psql FROM '{file}'"));
        if database.binary_rows("by_us") == database.binary_rows("by_psql") {
            return Ok(());
        }
        Err(TestCaseError::fail(self.differences(columns)))
    }

    /// COPY text of the literals.
    fn lines(&self, columns: &[Column], rows: usize, foreign: bool) -> Vec<u8> {
        let literals: Vec<_> = columns.iter().map(|column| column.literals(foreign)).collect();
        let values = literals.iter().flatten().flatten().count();
        self.fields.set(self.fields.get() + columns.len() * rows);
        self.values.set(self.values.get() + values);
        let mut lines = Vec::new();
        for row in 0..rows {
            lines.extend_from_slice(row.to_string().as_bytes());
            for literal in literals.iter().map(|column| &column[row]) {
                lines.push(b'\t');
                match literal {
                    Some(literal) => copy_text::put_field(&mut lines, literal),
                    None => lines.extend_from_slice(copy_text::NULL),
                }
            }
            lines.push(b'\n');
        }
        lines
    }

    /// The values that differ, one a line.
    fn differences(&self, columns: &[Column]) -> String {
        let differing = columns.iter().enumerate().filter_map(|(at, column)| {
            let found = self.database.sql(&format!(
                "SELECT id, u.c{at}::text, p.c{at}::text FROM by_us u JOIN by_psql p USING (id)
                  WHERE u.c{at}::text IS DISTINCT FROM p.c{at}::text ORDER BY id LIMIT 3"
            ));
            let kind = column.array.data_type();
            (!found.is_empty()).then(|| format!("{kind} in {}: row|ours|psql's\n{found}", column.target.name))
        });
        let differing: Vec<String> = differing.collect();
        if differing.is_empty() {
            "bytes differ that look the same as text".to_owned()
        } else {
            differing.join("\n")
        }
    }
}

/// The columns behind a number of the row, in two batches.
fn batches(columns: &[Column], rows: usize, turn: usize) -> Box<dyn arrow_array::RecordBatchReader + Send> {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..i64::try_from(rows).unwrap()));
    let field =
        |(at, column): (usize, &Column)| Field::new(format!("c{at}"), column.array.data_type().clone(), true);
    let fields = columns.iter().enumerate().map(field);
    let fields: Vec<Field> = std::iter::once(Field::new("id", DataType::Int64, true)).chain(fields).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = std::iter::once(ids).chain(columns.iter().map(|column| column.array.clone())).collect();
    let batch = RecordBatch::try_new(schema.clone(), arrays).unwrap();
    let cut = turn % rows;
    let cut = [batch.slice(0, cut), batch.slice(cut, rows - cut)];
    Box::new(RecordBatchIterator::new(cut.map(Ok), schema))
}

#[test]
fn random_batches_land_as_the_literals_of_their_values() {
    let oracle = Oracle::new();
    let cases = u32::try_from(knob("HOWDAH_BATCH_CASES", 24)).unwrap();
    let tables = proptest::sample::select(&[Table::New, Table::Existing, Table::Lossy][..]);
    let config = Config { cases, max_shrink_iters: 100, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&(seeds(16..48), 0_usize..1000, tables), |(seeds, turn, table)| {
            let columns = oracle.columns(&seeds, turn, table);
            oracle.compare(&columns, seeds.len(), turn, table)
        })
        .unwrap();
    let (fields, values) = (oracle.fields.get(), oracle.values.get());
    println!("{cases} batches, {fields} fields, {values} of them not NULL");
    assert!(values > 1_000 * usize::try_from(cases).unwrap(), "hardly anything was compared");
}
