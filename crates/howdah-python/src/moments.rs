//! Python's dates and times as PostgreSQL's literals, in ISO's form, which no DateStyle reads otherwise.

use std::io::Write;

use pyo3::prelude::*;
use pyo3::types::{
    PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyInt, PyTime, PyTimeAccess, PyTzInfoAccess,
};

use crate::form::{ConversionError, Spelling, shown};

/// `2024-01-31 12:00:00.5+02:00`, the offset only where there is a zone.
pub(crate) fn timestamp(
    value: &Bound<'_, PyDateTime>,
    out: &mut Vec<u8>,
) -> Result<Spelling, ConversionError> {
    // pandas' Timestamp is a datetime with more digits.
    if !value.is_exact_instance_of::<PyDateTime>()
        && let Some(nanoseconds) = value.getattr_opt("nanosecond")?
        && nanoseconds.is_truthy()?
    {
        return Err(ConversionError::Refused {
            message: format!("{} has nanoseconds, and PostgreSQL's times have none", shown(value)),
            hint: Some("round them first: Timestamp.floor(\"us\")"),
        });
    }
    date(value, out);
    out.push(b' ');
    clock(value, out);
    offset(value, value.get_tzinfo().is_some(), out)
}

/// `2024-01-31`.
pub(crate) fn date(value: &impl PyDateAccess, out: &mut Vec<u8>) -> Spelling {
    let (year, month, day) = (value.get_year(), value.get_month(), value.get_day());
    out.extend_from_slice(format!("{year:04}-{month:02}-{day:02}").as_bytes());
    Spelling::Quoted
}

/// `12:00:00.5+02:00`.
pub(crate) fn time(value: &Bound<'_, PyTime>, out: &mut Vec<u8>) -> Result<Spelling, ConversionError> {
    clock(value, out);
    offset(value, value.get_tzinfo().is_some(), out)
}

fn clock(value: &impl PyTimeAccess, out: &mut Vec<u8>) {
    let (hour, minute, second) = (value.get_hour(), value.get_minute(), value.get_second());
    out.extend_from_slice(format!("{hour:02}:{minute:02}:{second:02}").as_bytes());
    fraction(value.get_microsecond(), out);
}

fn fraction(microseconds: u32, out: &mut Vec<u8>) {
    if microseconds > 0 {
        out.extend_from_slice(format!(".{microseconds:06}").as_bytes());
    }
}

/// The offset from UTC of an aware time.
fn offset(value: &Bound<'_, PyAny>, has_zone: bool, out: &mut Vec<u8>) -> Result<Spelling, ConversionError> {
    if !has_zone {
        return Ok(Spelling::Quoted);
    }
    let offset = value.call_method0("utcoffset")?;
    if offset.is_none() {
        return Ok(Spelling::Quoted);
    }
    let offset = offset.cast::<PyDelta>()?;
    if offset.get_microseconds() != 0 {
        return Err(ConversionError::refused(format!("{} is no whole seconds from UTC", shown(value))));
    }
    let seconds = i64::from(offset.get_days()) * 86_400 + i64::from(offset.get_seconds());
    let (sign, seconds) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs());
    let _ = write!(out, "{sign}{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
    if seconds % 60 > 0 {
        let _ = write!(out, ":{:02}", seconds % 60);
    }
    Ok(Spelling::Quoted)
}

/// Days and a time, both with the sign of the whole: Python's own are days before, and a time after.
pub(crate) fn interval(value: &Bound<'_, PyDelta>, out: &mut Vec<u8>) -> Result<Spelling, ConversionError> {
    const SECOND: i128 = 1_000_000;
    const DAY: i128 = 86_400 * SECOND;
    if !value.is_exact_instance_of::<PyDelta>()
        && let Some(nanoseconds) = value.getattr_opt("nanoseconds")?
        && nanoseconds.is_truthy()?
    {
        return Err(ConversionError::refused(format!(
            "{} has nanoseconds, and PostgreSQL's intervals have none",
            shown(value)
        )));
    }
    let whole = i128::from(value.get_days()) * DAY
        + i128::from(value.get_seconds()) * SECOND
        + i128::from(value.get_microseconds());
    let (sign, whole) = (if whole < 0 { "-" } else { "" }, whole.abs());
    let (days, rest) = (whole / DAY, whole % DAY);
    let seconds = rest / SECOND;
    let _ = write!(
        out,
        "{sign}{days} days {sign}{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    fraction(u32::try_from(rest % SECOND).unwrap_or_default(), out);
    Ok(Spelling::Quoted)
}

/// Whether a datetime or time has an offset from UTC.
pub(crate) fn is_aware(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(!value.getattr("tzinfo")?.is_none() && !value.call_method0("utcoffset")?.is_none())
}

/// The date, datetime or timedelta of a scalar of numpy's, whose `kind` is `M` or `m`; `None` of its NaT.
pub(crate) fn of_numpy<'py>(
    value: &Bound<'py, PyAny>,
    kind: &str,
) -> Result<Bound<'py, PyAny>, ConversionError> {
    // Such as `<M8[ns]`.
    let unit = value.getattr("dtype")?.getattr("str")?.to_string();
    let is_finer = ["ns]", "ps]", "fs]", "as]"].iter().any(|finer| unit.ends_with(finer));
    let kept =
        if is_finer { value.call_method1("astype", (format!("{kind}8[us]"),))? } else { value.clone() };
    let number = |of: &Bound<'py, PyAny>| of.call_method1("view", ("i8",));
    if is_finer && !number(&kept.call_method1("astype", (&unit,))?)?.eq(number(value)?)? {
        return Err(ConversionError::Refused {
            message: format!("{} has nanoseconds, and PostgreSQL's times have none", shown(value)),
            hint: Some("round it first: .astype(\"datetime64[us]\") or .astype(\"timedelta64[us]\")"),
        });
    }
    let plain = kept.call_method0("tolist")?;
    // numpy gives what Python has no value for as a number: a year of five digits, a span of months.
    if plain.is_instance_of::<PyInt>() {
        return Err(ConversionError::refused(format!("{} is no date or time that Python has", shown(value))));
    }
    Ok(plain)
}
