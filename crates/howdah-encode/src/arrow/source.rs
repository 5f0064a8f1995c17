//! Typed access to an Arrow array: one value at a time, dictionaries and runs looked through.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType,
    IntervalMonthDayNanoType, IntervalYearMonthType, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray};
use arrow_buffer::{BooleanBuffer, IntervalDayTime, IntervalMonthDayNano, NullBuffer, i256};
use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use half::f16;

use super::decimal::Decimal;
use super::extension::Extension;
use super::mapping::NoMapping;
use super::moments::{Interval, Timestamp, clock_nanos};
use super::places::{Keys, Ranges, Runs};
use super::strings::Strings;

/// One value, as Arrow means it. Never NULL: that is asked before.
pub(super) enum Cell<'s> {
    Bool(bool),
    Int(i128),
    Single(f32),
    Double(f64),
    Decimal(Decimal),
    /// UTF-8, says the array.
    Text(&'s [u8]),
    /// Text that the schema says to be JSON.
    Json(&'s [u8]),
    Bytes(&'s [u8]),
    /// Sixteen bytes.
    Uuid(&'s [u8]),
    /// Days since 1970-01-01.
    Date(i64),
    /// Nanoseconds since midnight.
    Time(i64),
    /// A date and a time of day in no particular zone.
    Local(Timestamp),
    /// A point in time, in UTC.
    Instant(Timestamp),
    Interval(Interval),
    List(&'s Source<'s>, Range<usize>),
    Struct(&'s [StructColumn<'s>], usize),
    /// Keys, values, and where the map's entries are in both.
    Map(&'s Source<'s>, &'s Source<'s>, Range<usize>),
}

impl Cell<'_> {
    /// Whether it may be a literal of any type.
    pub(super) fn is_literal(&self) -> bool {
        matches!(self, Cell::Text(_) | Cell::Json(_) | Cell::Bytes(_))
    }
}

/// A column of a struct.
pub(super) struct StructColumn<'a> {
    pub(super) name: &'a str,
    pub(super) source: Source<'a>,
}

impl<'a> StructColumn<'a> {
    fn bind((field, column): (&'a FieldRef, &'a ArrayRef)) -> Result<Self, NoMapping> {
        Ok(StructColumn { name: field.name(), source: Source::of(column, field)? })
    }
}

/// An array and what is needed to read it.
pub(super) struct Source<'a> {
    nulls: Option<&'a NullBuffer>,
    /// Whether a value can be NULL where `nulls` does not say so.
    hides_nulls: bool,
    values: Values<'a>,
}

/// The values of an array by their type.
pub(super) enum Values<'a> {
    Null,
    Bool(&'a BooleanBuffer),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    UInt8(&'a [u8]),
    UInt16(&'a [u16]),
    UInt32(&'a [u32]),
    UInt64(&'a [u64]),
    Half(&'a [f16]),
    Single(&'a [f32]),
    Double(&'a [f64]),
    Decimal32(&'a [i32], i8),
    Decimal64(&'a [i64], i8),
    Decimal128(&'a [i128], i8),
    Decimal256(&'a [i256], i8),
    Text(Strings<'a>),
    Json(Strings<'a>),
    Bytes(Strings<'a>),
    Uuid(&'a FixedSizeBinaryArray),
    Date32(&'a [i32]),
    Date64(&'a [i64]),
    Time32(&'a [i32], TimeUnit),
    Time64(&'a [i64], TimeUnit),
    Local(&'a [i64], TimeUnit),
    Instant(&'a [i64], TimeUnit),
    Duration(&'a [i64], TimeUnit),
    Months(&'a [i32]),
    DaysAndTime(&'a [IntervalDayTime]),
    MonthsDaysAndTime(&'a [IntervalMonthDayNano]),
    List(Ranges<'a>, Box<Source<'a>>),
    Struct(Box<[StructColumn<'a>]>),
    Map(Ranges<'a>, Box<(Source<'a>, Source<'a>)>),
    Dictionary(Keys<'a>, Box<Source<'a>>),
    Runs(Runs<'a>, Box<Source<'a>>),
}

fn slice<T: ArrowPrimitiveType>(array: &dyn Array) -> &[T::Native] {
    array.as_primitive::<T>().values()
}

/// The counts of a timestamp array, whatever its unit.
fn timestamps(array: &dyn Array, unit: TimeUnit) -> &[i64] {
    match unit {
        TimeUnit::Second => slice::<TimestampSecondType>(array),
        TimeUnit::Millisecond => slice::<TimestampMillisecondType>(array),
        TimeUnit::Microsecond => slice::<TimestampMicrosecondType>(array),
        TimeUnit::Nanosecond => slice::<TimestampNanosecondType>(array),
    }
}

fn durations(array: &dyn Array, unit: TimeUnit) -> &[i64] {
    match unit {
        TimeUnit::Second => slice::<DurationSecondType>(array),
        TimeUnit::Millisecond => slice::<DurationMillisecondType>(array),
        TimeUnit::Microsecond => slice::<DurationMicrosecondType>(array),
        TimeUnit::Nanosecond => slice::<DurationNanosecondType>(array),
    }
}

impl<'a> Source<'a> {
    /// Reads `array`, which a field with this extension describes.
    pub(super) fn bind(array: &'a dyn Array, extension: Extension) -> Result<Self, NoMapping> {
        let values = Values::bind(array, extension)?;
        let hides_nulls = matches!(values, Values::Null | Values::Dictionary(..) | Values::Runs(..));
        Ok(Source { nulls: array.nulls(), hides_nulls, values })
    }

    fn of(array: &'a dyn Array, field: &Field) -> Result<Self, NoMapping> {
        Source::bind(array, Extension::of(field))
    }

    #[inline]
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row)) || (self.hides_nulls && self.is_null_behind(row))
    }

    fn is_null_behind(&self, row: usize) -> bool {
        match &self.values {
            Values::Null => true,
            Values::Dictionary(keys, values) => values.is_null(keys.at(row)),
            Values::Runs(runs, values) => values.is_null(runs.at(row)),
            _ => false,
        }
    }

    /// Where the value is, dictionaries and runs looked through.
    #[inline]
    pub(super) fn place(&self, row: usize) -> usize {
        if self.hides_nulls { self.place_behind(row) } else { row }
    }

    fn place_behind(&self, row: usize) -> usize {
        match &self.values {
            Values::Dictionary(keys, values) => values.place(keys.at(row)),
            Values::Runs(runs, values) => values.place(runs.at(row)),
            _ => row,
        }
    }

    /// The values behind dictionaries and runs: [`Source::place`] says where in them a row's value is.
    pub(super) fn innermost(&self) -> &Values<'a> {
        match &self.values {
            Values::Dictionary(_, values) | Values::Runs(_, values) => values.innermost(),
            values => values,
        }
    }

    /// The values of an array in which none is NULL and nothing is looked through.
    pub(super) fn plain(&self) -> Option<&Values<'a>> {
        (self.nulls.is_none() && !self.hides_nulls).then_some(&self.values)
    }

    /// The value of a row that is not NULL; `None` only of an array of NULLs.
    pub(super) fn cell(&self, row: usize) -> Option<Cell<'_>> {
        self.innermost().cell(self.place(row))
    }
}

impl<'a> Values<'a> {
    fn bind(array: &'a dyn Array, extension: Extension) -> Result<Self, NoMapping> {
        Ok(match array.data_type() {
            DataType::Null => Values::Null,
            DataType::Boolean => Values::Bool(array.as_boolean().values()),
            DataType::Int8 => Values::Int8(slice::<Int8Type>(array)),
            DataType::Int16 => Values::Int16(slice::<Int16Type>(array)),
            DataType::Int32 => Values::Int32(slice::<Int32Type>(array)),
            DataType::Int64 => Values::Int64(slice::<Int64Type>(array)),
            DataType::UInt8 => Values::UInt8(slice::<UInt8Type>(array)),
            DataType::UInt16 => Values::UInt16(slice::<UInt16Type>(array)),
            DataType::UInt32 => Values::UInt32(slice::<UInt32Type>(array)),
            DataType::UInt64 => Values::UInt64(slice::<UInt64Type>(array)),
            DataType::Float16 => Values::Half(slice::<Float16Type>(array)),
            DataType::Float32 => Values::Single(slice::<Float32Type>(array)),
            DataType::Float64 => Values::Double(slice::<Float64Type>(array)),
            DataType::Decimal32(_, scale) => Values::Decimal32(slice::<Decimal32Type>(array), *scale),
            DataType::Decimal64(_, scale) => Values::Decimal64(slice::<Decimal64Type>(array), *scale),
            DataType::Decimal128(_, scale) => Values::Decimal128(slice::<Decimal128Type>(array), *scale),
            DataType::Decimal256(_, scale) => Values::Decimal256(slice::<Decimal256Type>(array), *scale),
            DataType::Utf8 => Values::text(Strings::Utf8(array.as_string()), extension),
            DataType::LargeUtf8 => Values::text(Strings::LargeUtf8(array.as_string()), extension),
            DataType::Utf8View => Values::text(Strings::Utf8View(array.as_string_view()), extension),
            DataType::Binary => Values::Bytes(Strings::Binary(array.as_binary())),
            DataType::LargeBinary => Values::Bytes(Strings::LargeBinary(array.as_binary())),
            DataType::BinaryView => Values::Bytes(Strings::BinaryView(array.as_binary_view())),
            DataType::FixedSizeBinary(16) if extension == Extension::Uuid => {
                Values::Uuid(array.as_fixed_size_binary())
            }
            DataType::FixedSizeBinary(_) => Values::Bytes(Strings::Fixed(array.as_fixed_size_binary())),
            DataType::Date32 => Values::Date32(slice::<Date32Type>(array)),
            DataType::Date64 => Values::Date64(slice::<Date64Type>(array)),
            DataType::Time32(unit @ TimeUnit::Second) => {
                Values::Time32(slice::<Time32SecondType>(array), *unit)
            }
            DataType::Time32(unit) => Values::Time32(slice::<Time32MillisecondType>(array), *unit),
            DataType::Time64(unit @ TimeUnit::Microsecond) => {
                Values::Time64(slice::<Time64MicrosecondType>(array), *unit)
            }
            DataType::Time64(unit) => Values::Time64(slice::<Time64NanosecondType>(array), *unit),
            DataType::Timestamp(unit, None) => Values::Local(timestamps(array, *unit), *unit),
            DataType::Timestamp(unit, Some(_)) => Values::Instant(timestamps(array, *unit), *unit),
            DataType::Duration(unit) => Values::Duration(durations(array, *unit), *unit),
            DataType::Interval(IntervalUnit::YearMonth) => {
                Values::Months(slice::<IntervalYearMonthType>(array))
            }
            DataType::Interval(IntervalUnit::DayTime) => {
                Values::DaysAndTime(slice::<IntervalDayTimeType>(array))
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                Values::MonthsDaysAndTime(slice::<IntervalMonthDayNanoType>(array))
            }
            _ => Values::bind_nested(array, extension)?,
        })
    }

    /// Arrays that hold other arrays.
    fn bind_nested(array: &'a dyn Array, extension: Extension) -> Result<Self, NoMapping> {
        let list = |ranges, items: &'a dyn Array, item: &Field| -> Result<Self, NoMapping> {
            Ok(Values::List(ranges, Box::new(Source::of(items, item)?)))
        };
        match array.data_type() {
            DataType::List(item) => {
                let lists = array.as_list::<i32>();
                list(Ranges::Small(lists.value_offsets()), lists.values(), item)
            }
            DataType::LargeList(item) => {
                let lists = array.as_list::<i64>();
                list(Ranges::Large(lists.value_offsets()), lists.values(), item)
            }
            DataType::FixedSizeList(item, size) => {
                let Ok(size) = usize::try_from(*size) else { return Err(NoMapping::of_array(array)) };
                list(Ranges::Fixed(size), array.as_fixed_size_list().values(), item)
            }
            DataType::ListView(item) => {
                let lists = array.as_list_view::<i32>();
                list(Ranges::SmallView(lists.value_offsets(), lists.value_sizes()), lists.values(), item)
            }
            DataType::LargeListView(item) => {
                let lists = array.as_list_view::<i64>();
                list(Ranges::LargeView(lists.value_offsets(), lists.value_sizes()), lists.values(), item)
            }
            DataType::Struct(_) => {
                let structs = array.as_struct();
                let columns = structs.fields().iter().zip(structs.columns());
                Ok(Values::Struct(columns.map(StructColumn::bind).collect::<Result<_, _>>()?))
            }
            DataType::Map(..) => {
                let maps = array.as_map();
                let (key, value) = maps.entries_fields();
                let entries = (Source::of(maps.keys(), key)?, Source::of(maps.values(), value)?);
                Ok(Values::Map(Ranges::Small(maps.value_offsets()), Box::new(entries)))
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let keys = Keys::bind(dictionary.keys()).ok_or_else(|| NoMapping::of_array(array))?;
                let values = Source::bind(dictionary.values(), extension)?;
                Ok(Values::Dictionary(keys, Box::new(values)))
            }
            DataType::RunEndEncoded(..) => {
                let (runs, values) = Runs::bind(array).ok_or_else(|| NoMapping::of_array(array))?;
                Ok(Values::Runs(runs, Box::new(Source::bind(values, extension)?)))
            }
            _ => Err(NoMapping::of_array(array)),
        }
    }

    fn text(strings: Strings<'a>, extension: Extension) -> Self {
        if extension == Extension::Json { Values::Json(strings) } else { Values::Text(strings) }
    }

    fn cell(&self, row: usize) -> Option<Cell<'_>> {
        let decimal = |mantissa, scale: i8| Cell::Decimal(Decimal { mantissa, scale: scale.into() });
        Some(match self {
            Values::Null | Values::Dictionary(..) | Values::Runs(..) => return None,
            Values::Bool(values) => Cell::Bool(values.value(row)),
            Values::Int8(values) => Cell::Int(values[row].into()),
            Values::Int16(values) => Cell::Int(values[row].into()),
            Values::Int32(values) => Cell::Int(values[row].into()),
            Values::Int64(values) => Cell::Int(values[row].into()),
            Values::UInt8(values) => Cell::Int(values[row].into()),
            Values::UInt16(values) => Cell::Int(values[row].into()),
            Values::UInt32(values) => Cell::Int(values[row].into()),
            Values::UInt64(values) => Cell::Int(values[row].into()),
            Values::Half(values) => Cell::Single(values[row].to_f32()),
            Values::Single(values) => Cell::Single(values[row]),
            Values::Double(values) => Cell::Double(values[row]),
            Values::Decimal32(values, scale) => decimal(values[row].into(), *scale),
            Values::Decimal64(values, scale) => decimal(values[row].into(), *scale),
            Values::Decimal128(values, scale) => decimal(values[row].into(), *scale),
            Values::Decimal256(values, scale) => decimal(values[row], *scale),
            Values::Text(values) => Cell::Text(values.at(row)),
            Values::Json(values) => Cell::Json(values.at(row)),
            Values::Bytes(values) => Cell::Bytes(values.at(row)),
            Values::Uuid(values) => Cell::Uuid(values.value(row)),
            Values::Date32(values) => Cell::Date(values[row].into()),
            Values::Date64(values) => match Timestamp::of(values[row], TimeUnit::Millisecond) {
                Timestamp { days, nanos: 0 } => Cell::Date(days),
                moment => Cell::Local(moment),
            },
            Values::Time32(values, unit) => Cell::Time(clock_nanos(values[row].into(), *unit)),
            Values::Time64(values, unit) => Cell::Time(clock_nanos(values[row], *unit)),
            Values::Local(values, unit) => Cell::Local(Timestamp::of(values[row], *unit)),
            Values::Instant(values, unit) => Cell::Instant(Timestamp::of(values[row], *unit)),
            Values::Duration(values, unit) => Cell::Interval(Interval::of_duration(values[row], *unit)),
            Values::Months(values) => Cell::Interval(Interval { months: values[row], days: 0, nanos: 0 }),
            Values::DaysAndTime(values) => {
                let IntervalDayTime { days, milliseconds } = values[row];
                Cell::Interval(Interval { months: 0, days, nanos: i128::from(milliseconds) * 1_000_000 })
            }
            Values::MonthsDaysAndTime(values) => {
                let IntervalMonthDayNano { months, days, nanoseconds } = values[row];
                Cell::Interval(Interval { months, days, nanos: nanoseconds.into() })
            }
            Values::List(ranges, items) => Cell::List(items, ranges.at(row)),
            Values::Struct(members) => Cell::Struct(members, row),
            Values::Map(ranges, entries) => Cell::Map(&entries.0, &entries.1, ranges.at(row)),
        })
    }
}
