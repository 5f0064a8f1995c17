//! Values that RETURNING gave, as Python's.

use std::error::Error as StdError;

use howdah::writer::ReturnedRow;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDate, PyDateTime, PyDelta, PyList, PyString, PyTime, PyTuple, PyTzInfo};
use tokio_postgres::types::{FromSql, Kind, Type};

/// Of PostgreSQL's day 0, from Python's.
const EPOCH_YEAR: i32 = 2000;

/// The values of `row` as a tuple of the type `row_type`.
///
/// # Errors
/// Python could not make one.
pub(super) fn row<'py>(row_type: &Bound<'py, PyAny>, row: &ReturnedRow) -> PyResult<Bound<'py, PyAny>> {
    let py = row_type.py();
    let mut values = Vec::with_capacity(row.columns().len());
    for (at, column) in row.columns().iter().enumerate() {
        // Raw takes every type.
        let raw = row.at::<Option<Raw<'_>>>(at).flatten();
        values.push(match raw {
            Some(Raw(bytes)) => value(py, column.type_(), bytes)?,
            None => py.None().into_bound(py),
        });
    }
    row_type.call1(PyTuple::new(py, values)?)
}

/// A value as it travelled.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Raw(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// What has no form in Python is text where it travels as text, else bytes; lists are of one dimension.
fn value<'py>(py: Python<'py>, r#type: &Type, raw: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    if let Kind::Domain(base) = r#type.kind() {
        return value(py, base, raw);
    }
    if let Some(known) = known(py, r#type, raw)? {
        return Ok(known);
    }
    if let Kind::Array(element) = r#type.kind()
        && let Ok(items) = Vec::<Option<Raw<'_>>>::from_sql(r#type, raw)
    {
        let list = PyList::empty(py);
        for item in items {
            list.append(item.map(|Raw(bytes)| value(py, element, bytes)).transpose()?)?;
        }
        return Ok(list.into_any());
    }
    // Values of jsonb begin with the number of their form.
    let text = if *r#type == Type::JSONB { raw.strip_prefix(&[1]).unwrap_or(raw) } else { raw };
    match std::str::from_utf8(text) {
        Ok(text) if travels_as_text(r#type) => Ok(PyString::new(py, text).into_any()),
        _ => Ok(PyBytes::new(py, raw).into_any()),
    }
}

fn travels_as_text(r#type: &Type) -> bool {
    const TEXTS: [Type; 8] =
        [Type::TEXT, Type::VARCHAR, Type::BPCHAR, Type::CHAR, Type::NAME, Type::JSON, Type::JSONB, Type::XML];
    TEXTS.contains(r#type) || matches!(r#type.kind(), Kind::Enum(_)) || r#type.name() == "citext"
}

/// A value of a type that Python has too.
fn known<'py>(py: Python<'py>, r#type: &Type, raw: &[u8]) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(number) = integer(raw) else { return numeric_or_uuid(py, r#type, raw) };
    Ok(Some(match *r#type {
        Type::BOOL => (number != 0).into_bound_py_any(py)?,
        Type::INT2 | Type::INT4 | Type::INT8 => number.into_bound_py_any(py)?,
        Type::OID | Type::XID | Type::CID => (number & 0xFFFF_FFFF).into_bound_py_any(py)?,
        Type::FLOAT4 => match raw.try_into() {
            // As Python would read what PostgreSQL prints.
            Ok(bytes) => f32::from_be_bytes(bytes).to_string().parse::<f64>().ok().into_bound_py_any(py)?,
            Err(_) => return Ok(None),
        },
        Type::FLOAT8 => match raw.try_into() {
            Ok(bytes) => f64::from_be_bytes(bytes).into_bound_py_any(py)?,
            Err(_) => return Ok(None),
        },
        Type::DATE | Type::TIMESTAMP | Type::TIMESTAMPTZ => return moment(py, r#type, number),
        Type::TIME => return time(py, number),
        _ => return numeric_or_uuid(py, r#type, raw),
    }))
}

/// What is as long as an integer, as one.
fn integer(raw: &[u8]) -> Option<i64> {
    Some(match raw.len() {
        1 => i64::from(i8::from_be_bytes(raw.try_into().ok()?)),
        2 => i64::from(i16::from_be_bytes(raw.try_into().ok()?)),
        4 => i64::from(i32::from_be_bytes(raw.try_into().ok()?)),
        8 => i64::from_be_bytes(raw.try_into().ok()?),
        _ => return None,
    })
}

fn numeric_or_uuid<'py>(py: Python<'py>, r#type: &Type, raw: &[u8]) -> PyResult<Option<Bound<'py, PyAny>>> {
    static DECIMAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static UUID: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    match *r#type {
        Type::NUMERIC => match decimal(raw) {
            Some(text) => DECIMAL.import(py, "decimal", "Decimal")?.call1((text,)).map(Some),
            None => Ok(None),
        },
        Type::UUID if raw.len() == 16 => {
            let hexadecimal: String = raw.iter().map(|byte| format!("{byte:02x}")).collect();
            UUID.import(py, "uuid", "UUID")?.call1((hexadecimal,)).map(Some)
        }
        _ => Ok(None),
    }
}

/// A date, in days, or a timestamp, in microseconds since 2000; infinities are text, what Python's years do not reach
/// is `None`.
fn moment<'py>(py: Python<'py>, r#type: &Type, number: i64) -> PyResult<Option<Bound<'py, PyAny>>> {
    let is_date = *r#type == Type::DATE;
    let (least, most) =
        if is_date { (i64::from(i32::MIN), i64::from(i32::MAX)) } else { (i64::MIN, i64::MAX) };
    if number == least || number == most {
        let text = if number == least { "-infinity" } else { "infinity" };
        return Ok(Some(PyString::new(py, text).into_any()));
    }
    let epoch = if is_date {
        PyDate::new(py, EPOCH_YEAR, 1, 1)?.into_any()
    } else {
        let zone = (*r#type == Type::TIMESTAMPTZ).then(|| PyTzInfo::utc(py)).transpose()?;
        PyDateTime::new(py, EPOCH_YEAR, 1, 1, 0, 0, 0, 0, zone.as_deref())?.into_any()
    };
    const DAY: i64 = 86_400_000_000;
    let (days, micros) = if is_date { (number, 0) } else { (number.div_euclid(DAY), number.rem_euclid(DAY)) };
    let parts = (days, micros / 1_000_000, micros % 1_000_000);
    let (Ok(days), Ok(seconds), Ok(micros)) =
        (i32::try_from(parts.0), i32::try_from(parts.1), i32::try_from(parts.2))
    else {
        return Ok(None);
    };
    Ok(PyDelta::new(py, days, seconds, micros, false).and_then(|since| epoch.add(since)).ok())
}

/// Microseconds of a day; 24:00 is `None`.
fn time(py: Python<'_>, number: i64) -> PyResult<Option<Bound<'_, PyAny>>> {
    let seconds = number / 1_000_000;
    let part = |number: i64| u8::try_from(number).ok().filter(|number| *number < 60);
    let micros = u32::try_from(number % 1_000_000).ok();
    let hour = part(seconds / 3600).filter(|hour| *hour < 24);
    match (hour, part(seconds / 60 % 60), part(seconds % 60), micros) {
        (Some(hour), Some(minute), Some(second), Some(micros)) => {
            Ok(Some(PyTime::new(py, hour, minute, second, micros, None)?.into_any()))
        }
        _ => Ok(None),
    }
}

/// A numeric: the number of its digits (to the base 10,000), the weight of the first, its sign, and how many decimals
/// are shown.
fn decimal(raw: &[u8]) -> Option<String> {
    let words: Vec<i16> = raw.chunks_exact(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]])).collect();
    let [_, weight, sign, scale, digits @ ..] = &words[..] else { return None };
    let sign = match sign.cast_unsigned() {
        0x0000 => "",
        0x4000 => "-",
        0xC000 => return Some("NaN".to_owned()),
        0xD000 => return Some("Infinity".to_owned()),
        0xF000 => return Some("-Infinity".to_owned()),
        _ => return None,
    };
    let digit = |place: i32| {
        usize::try_from(i32::from(*weight) - place).ok().and_then(|at| digits.get(at)).copied().unwrap_or(0)
    };
    let mut out = sign.to_owned();
    let whole: String =
        (0..=i32::from(*weight).max(0)).rev().map(|place| format!("{:04}", digit(place))).collect();
    let whole = whole.trim_start_matches('0');
    out.push_str(if whole.is_empty() { "0" } else { whole });
    let scale = usize::try_from(*scale).ok()?;
    if scale > 0 {
        let places = i32::try_from(scale.div_ceil(4)).ok()?;
        let fraction: String = (1..=places).map(|place| format!("{:04}", digit(-place))).collect();
        out.push('.');
        out.push_str(&fraction[..scale]);
    }
    Some(out)
}
