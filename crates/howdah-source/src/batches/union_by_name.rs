//! Columns of several inputs as one list: united by name, their types widened to one that holds the values of all exactly.

use std::sync::Arc;

use arrow_cast::can_cast_types;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};

use crate::Progress;
use crate::error::{Error, ErrorKind};
use crate::layout::{self, Header};
use crate::listing::listing;

/// So many inputs are named one by one.
const INPUTS_TO_NAME: usize = 10;

/// The columns of one input: for each of the united ones, which of the input's it is; `None`: the input lacks it.
pub(super) type Places = Vec<Option<usize>>;

/// The columns of all inputs in order of appearance, and where each input has them.
///
/// # Errors
/// Two inputs without a common column, a name that an input has twice, types that no type unites.
pub(super) fn unite(
    inputs: &[(Arc<str>, SchemaRef)],
    same_name: fn(&str, &str) -> bool,
    progress: &Progress,
) -> Result<(SchemaRef, Vec<Places>), Error> {
    if let [(_, schema)] = inputs {
        return Ok((schema.clone(), vec![(0..schema.fields().len()).map(Some).collect()]));
    }
    let headers = headers(inputs)?;
    let names: Vec<Vec<String>> = headers.iter().map(|(_, header)| header.clone()).collect();
    let (union, mut layouts) = layout::unite(&headers, &names, same_name);
    let places: Vec<Places> = headers
        .iter()
        .map(|(key, header)| match layouts.remove(key) {
            Some(layout) => layout.sources,
            None => (0..header.len()).map(Some).collect(),
        })
        .collect();
    check_columns(inputs, &places)?;
    let fields = union.iter().enumerate().map(|(at, name)| {
        let field = field(name, at, inputs, &places)?;
        tell_widened(&field, at, inputs, &places, progress);
        Ok(field)
    });
    let fields = fields.collect::<Result<Vec<_>, Error>>()?;
    tell_lacking(&union, inputs, &places, progress);
    Ok((Arc::new(Schema::new(fields)), places))
}

/// The inputs' columns, under keys of their own: two inputs may have one name.
fn headers(inputs: &[(Arc<str>, SchemaRef)]) -> Result<Vec<Header>, Error> {
    let mut headers = Vec::with_capacity(inputs.len());
    for (number, (input, schema)) in inputs.iter().enumerate() {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        if let Some((_, twice)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            return Err(Error::usage(format!("{input} has two columns {twice:?}")).with_hint(
                "of several inputs, columns are told apart by their names: load this one by itself",
            ));
        }
        headers.push((Arc::from(number.to_string()), names));
    }
    Ok(headers)
}

fn check_columns(inputs: &[(Arc<str>, SchemaRef)], places: &[Places]) -> Result<(), Error> {
    let (Some((first_input, first)), Some(of_first)) = (inputs.first(), places.first()) else {
        return Ok(());
    };
    for ((input, schema), places) in inputs.iter().zip(places).skip(1) {
        let is_shared = |(at, place): (usize, &Option<usize>)| {
            place.is_some() && of_first.get(at).is_some_and(Option::is_some)
        };
        if !places.iter().enumerate().any(is_shared) {
            let names =
                |schema: &Schema| schema.fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>();
            return Err(Error::usage(format!("{input} has none of the columns of {first_input}"))
                .with_detail(format!("there: {}; here: {}", listing(&names(first)), listing(&names(schema))))
                .with_hint("other tables need a run of their own"));
        }
    }
    Ok(())
}

/// The field of `input` at the united column `at`.
fn field_of<'a>(schema: &'a Schema, places: &Places, at: usize) -> Option<&'a Field> {
    places.get(at).copied().flatten().map(|place| schema.field(place))
}

/// The united column `at`.
fn field(name: &str, at: usize, inputs: &[(Arc<str>, SchemaRef)], places: &[Places]) -> Result<Field, Error> {
    let mut united: Option<(Field, &Arc<str>)> = None;
    let mut is_lacking = false;
    for ((input, schema), places) in inputs.iter().zip(places) {
        let Some(field) = field_of(schema, places, at) else {
            is_lacking = true;
            continue;
        };
        united = Some(match united {
            None => (field.clone(), input),
            Some((before, first)) => {
                let Some(kind) = widen(before.data_type(), field.data_type()) else {
                    return Err(Error::new(
                        ErrorKind::Source,
                        format!("it is {} in {first} and {} in {input}", before.data_type(), field.data_type()),
                    )
                    .in_column(name)
                    .with_hint("no type holds the values of both exactly: write these files with one type, or load them one by one"));
                };
                let nullable = before.is_nullable() || field.is_nullable();
                // Of two types the one that had to be widened last is named in errors.
                let first = if kind == *before.data_type() { first } else { input };
                (before.with_data_type(kind).with_nullable(nullable), first)
            }
        });
    }
    let field = united.map_or_else(|| Field::new(name, DataType::Null, true), |(field, _)| field);
    let nullable = field.is_nullable() || is_lacking;
    Ok(field.with_name(name).with_nullable(nullable))
}

/// The type that holds the values of both exactly.
pub(super) fn widen(one: &DataType, other: &DataType) -> Option<DataType> {
    if one == other {
        return Some(one.clone());
    }
    let kind = wider(one, other).or_else(|| wider(other, one))?;
    (can_cast_types(one, &kind) && can_cast_types(other, &kind)).then_some(kind)
}

/// [`widen`] for the pairs of which `one` comes first in this list.
fn wider(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType::{
        Binary, BinaryView, Date32, Date64, Dictionary, Duration, FixedSizeBinary, FixedSizeList, Float16,
        Float32, Float64, LargeBinary, LargeList, LargeUtf8, List, Null, RunEndEncoded, Struct, Time32,
        Time64, Timestamp, Utf8, Utf8View,
    };
    if let (Some((is_signed, bits)), Some((other_is_signed, other_bits))) = (integer(one), integer(other)) {
        return match (is_signed, other_is_signed) {
            (true, true) | (false, false) => integer_of(is_signed, bits.max(other_bits)),
            (true, false) => integer_of(true, bits.max(other_bits * 2)),
            (false, true) => integer_of(true, other_bits.max(bits * 2)),
        };
    }
    if let (Some(one), Some(other)) = (decimal(one), decimal(other)) {
        return decimal_of(one, other);
    }
    match (one, other) {
        (Null, kind) => Some(kind.clone()),
        (Dictionary(_, values), kind) => widen(values, kind),
        (RunEndEncoded(_, values), kind) => widen(values.data_type(), kind),
        (Float16, Float32) => Some(Float32),
        (Float16 | Float32, Float64) => Some(Float64),
        (Date32, Date64) => Some(Date64),
        (Utf8, Utf8View) => Some(Utf8View),
        (Utf8 | Utf8View, LargeUtf8) => Some(LargeUtf8),
        (Binary, BinaryView) => Some(BinaryView),
        (Binary | BinaryView, LargeBinary) => Some(LargeBinary),
        (FixedSizeBinary(_), FixedSizeBinary(_)) => Some(Binary),
        (FixedSizeBinary(_), Binary | LargeBinary | BinaryView) => Some(other.clone()),
        (Timestamp(unit, zone), Timestamp(other, other_zone))
            // All zones mean instants; without one it means something else.
            if zone.is_some() == other_zone.is_some() =>
        {
            Some(Timestamp(finer(*unit, *other), zone.clone()))
        }
        (Time32(unit) | Time64(unit), Time32(other) | Time64(other)) => Some(match finer(*unit, *other) {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) => Time32(unit),
            unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond) => Time64(unit),
        }),
        (Duration(unit), Duration(other)) => Some(Duration(finer(*unit, *other))),
        (FixedSizeList(item, length), FixedSizeList(other, other_length)) if length == other_length => {
            Some(FixedSizeList(item_of(item, other)?, *length))
        }
        (FixedSizeList(item, _) | List(item), FixedSizeList(other, _) | List(other)) => {
            Some(List(item_of(item, other)?))
        }
        (FixedSizeList(item, _) | List(item) | LargeList(item), LargeList(other)) => {
            Some(LargeList(item_of(item, other)?))
        }
        (Struct(fields), Struct(others)) if fields.len() == others.len() => {
            let both = fields.iter().zip(others);
            let fields = both.map(|(one, other)| {
                let is_same = one.name() == other.name();
                if is_same { item_of(one, other) } else { None }
            });
            Some(Struct(fields.collect::<Option<Fields>>()?))
        }
        // What is left are names and whether NULL may stand within.
        _ => one.equals_datatype(other).then(|| one.clone()),
    }
}

/// The field of which both are.
fn item_of(one: &Field, other: &Field) -> Option<Arc<Field>> {
    let kind = widen(one.data_type(), other.data_type())?;
    let nullable = one.is_nullable() || other.is_nullable();
    Some(Arc::new(one.clone().with_data_type(kind).with_nullable(nullable)))
}

/// Whether an integer has a sign, and its bits.
fn integer(kind: &DataType) -> Option<(bool, u32)> {
    Some(match kind {
        DataType::Int8 => (true, 8),
        DataType::Int16 => (true, 16),
        DataType::Int32 => (true, 32),
        DataType::Int64 => (true, 64),
        DataType::UInt8 => (false, 8),
        DataType::UInt16 => (false, 16),
        DataType::UInt32 => (false, 32),
        DataType::UInt64 => (false, 64),
        _ => return None,
    })
}

fn integer_of(is_signed: bool, bits: u32) -> Option<DataType> {
    Some(match (is_signed, bits) {
        (true, 8) => DataType::Int8,
        (true, 16) => DataType::Int16,
        (true, 32) => DataType::Int32,
        (true, 64) => DataType::Int64,
        (false, 8) => DataType::UInt8,
        (false, 16) => DataType::UInt16,
        (false, 32) => DataType::UInt32,
        (false, 64) => DataType::UInt64,
        // An unsigned integer of 64 bits beside a signed one.
        _ => return None,
    })
}

/// The digits that a decimal's array can hold, its precision, its scale.
fn decimal(kind: &DataType) -> Option<(i16, i16, i16)> {
    let of = |holds, precision: u8, scale: i8| (holds, i16::from(precision), i16::from(scale));
    Some(match kind {
        DataType::Decimal32(precision, scale) => of(9, *precision, *scale),
        DataType::Decimal64(precision, scale) => of(18, *precision, *scale),
        DataType::Decimal128(precision, scale) => of(38, *precision, *scale),
        DataType::Decimal256(precision, scale) => of(76, *precision, *scale),
        _ => return None,
    })
}

fn decimal_of(one: (i16, i16, i16), other: (i16, i16, i16)) -> Option<DataType> {
    let scale = one.2.max(other.2);
    let precision = (one.1 - one.2).max(other.1 - other.2) + scale;
    let (digits, scale) = (u8::try_from(precision).ok()?, i8::try_from(scale).ok()?);
    Some(match one.0.max(other.0).max(precision) {
        ..=9 => DataType::Decimal32(digits, scale),
        10..=18 => DataType::Decimal64(digits, scale),
        19..=38 => DataType::Decimal128(digits, scale),
        39..=76 => DataType::Decimal256(digits, scale),
        _ => return None,
    })
}

fn finer(one: TimeUnit, other: TimeUnit) -> TimeUnit {
    let rank = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    };
    std::cmp::max_by_key(one, other, rank)
}

fn tell_widened(
    field: &Field,
    at: usize,
    inputs: &[(Arc<str>, SchemaRef)],
    places: &[Places],
    progress: &Progress,
) {
    let differing = inputs.iter().zip(places).filter_map(|((input, schema), places)| {
        let kind = field_of(schema, places, at)?.data_type();
        (!kind.equals_datatype(field.data_type())).then_some((input, kind))
    });
    let differing: Vec<_> = differing.collect();
    let Some((input, kind)) = differing.first() else { return };
    let more = match differing.len() {
        1 => String::new(),
        count => format!(" (the first of {count} files)"),
    };
    let (name, united) = (field.name(), field.data_type());
    progress.notice(format!("column {name}: {kind} in {input}{more}, read as {united}"));
}

fn tell_lacking(union: &[String], inputs: &[(Arc<str>, SchemaRef)], places: &[Places], progress: &Progress) {
    let lacking = inputs.iter().zip(places).filter_map(|((input, _), places)| {
        let names = union.iter().enumerate();
        let names = names.filter(|(at, _)| places.get(*at).copied().flatten().is_none());
        let names: Vec<&str> = names.map(|(_, name)| name.as_str()).collect();
        (!names.is_empty()).then_some((input, names))
    });
    let lacking: Vec<_> = lacking.collect();
    for (input, names) in lacking.iter().take(INPUTS_TO_NAME) {
        progress.notice(format!("{input} has no {}: NULL in its rows", listing(names)));
    }
    if lacking.len() > INPUTS_TO_NAME {
        let more = lacking.len() - INPUTS_TO_NAME;
        progress.notice(format!("{more} more files lack columns: NULL in their rows"));
    }
}
