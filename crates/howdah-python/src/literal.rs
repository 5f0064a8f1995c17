//! Python values as the literals from which PostgreSQL's input functions make the same values: what kind of value a type
//! is, how a value is spelled, and which type a new table's column of them gets.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyFloat, PyInt, PyIterator, PyList,
    PyMemoryView, PyString, PyTime, PyTuple, PyType,
};

use crate::form::{ConversionError, Spelling, shown, utf8};
use crate::{json_string, moments};

/// Deeper nested lists and dicts are refused: they may contain themselves.
pub(crate) const DEEPEST: usize = 256;

/// More types than that are looked at anew each time: somebody makes them by the thousand.
const MOST_KNOWN: usize = 64;

/// What kind of value a Python type's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Int,
    Float,
    Decimal,
    Text,
    Bytes,
    Timestamp,
    Date,
    Time,
    Interval,
    /// What `str()` makes a literal of, and the type of such values: UUIDs, network addresses, paths.
    Shown(&'static str),
    /// Members of an enumeration that are neither texts nor numbers themselves: their names, as psycopg writes them.
    Member,
    /// Lists, tuples, and numpy's arrays.
    List,
    Dict,
    /// A scalar of numpy's.
    Scalar,
    Strange,
}

/// The kinds of the types met so far: a handful, looked for one by one.
#[derive(Default)]
pub(crate) struct Kinds(Vec<(Py<PyType>, Kind)>);

impl Kinds {
    /// The kind of `value`.
    pub(crate) fn of(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Kind> {
        let r#type = value.get_type();
        if let Some((_, kind)) = self.0.iter().find(|(known, _)| known.is(&r#type)) {
            return Ok(*kind);
        }
        let kind = classify(value, &r#type)?;
        if self.0.len() < MOST_KNOWN {
            self.0.push((r#type.unbind(), kind));
        }
        Ok(kind)
    }

    /// Appends the literal of `value`, lists and dicts as JSON.
    pub(crate) fn spell(
        &mut self,
        value: &Bound<'_, PyAny>,
        out: &mut Vec<u8>,
    ) -> Result<Spelling, ConversionError> {
        self.spell_at(0, value, out)
    }

    fn spell_at(
        &mut self,
        depth: usize,
        value: &Bound<'_, PyAny>,
        out: &mut Vec<u8>,
    ) -> Result<Spelling, ConversionError> {
        match self.of(value)? {
            Kind::Null => return Ok(Spelling::Null),
            Kind::Bool => out.extend_from_slice(if value.is_truthy()? { b"true" } else { b"false" }),
            Kind::Int => int(value, out)?,
            Kind::Float => return float(value.extract()?, out),
            Kind::Decimal => return decimal(value, out),
            Kind::Text => {
                out.extend_from_slice(utf8(value.cast::<PyString>()?)?.as_bytes());
                return Ok(Spelling::Quoted);
            }
            Kind::Bytes => return bytes(value, out),
            Kind::Timestamp => return moments::timestamp(value.cast::<PyDateTime>()?, out),
            Kind::Date => return Ok(moments::date(value.cast::<PyDate>()?, out)),
            Kind::Time => return moments::time(value.cast::<PyTime>()?, out),
            Kind::Interval => return moments::interval(value.cast::<PyDelta>()?, out),
            Kind::Shown(_) => {
                out.extend_from_slice(utf8(&value.str()?)?.as_bytes());
                return Ok(Spelling::Quoted);
            }
            Kind::Member => {
                let name = value.getattr("name")?;
                // Several flags at once may have none.
                let Ok(name) = name.cast::<PyString>() else { return Err(strange(value)) };
                out.extend_from_slice(utf8(name)?.as_bytes());
                return Ok(Spelling::Quoted);
            }
            Kind::List => self.list(depth, value, out)?,
            Kind::Dict => self.dict(depth, value.cast::<PyDict>()?, out)?,
            Kind::Scalar => return self.spell_at(depth + 1, &without_numpy(value)?, out),
            Kind::Strange => return Err(strange(value)),
        }
        Ok(Spelling::Bare)
    }

    fn list(
        &mut self,
        depth: usize,
        list: &Bound<'_, PyAny>,
        out: &mut Vec<u8>,
    ) -> Result<(), ConversionError> {
        out.push(b'[');
        for (at, item) in items(list)?.enumerate() {
            if at > 0 {
                out.push(b',');
            }
            self.json(depth + 1, &item?, out)?;
        }
        out.push(b']');
        Ok(())
    }

    fn dict(
        &mut self,
        depth: usize,
        dict: &Bound<'_, PyDict>,
        out: &mut Vec<u8>,
    ) -> Result<(), ConversionError> {
        out.push(b'{');
        for (at, (key, item)) in dict.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            let Ok(key) = key.cast::<PyString>() else {
                return Err(ConversionError::refused(format!(
                    "{} is no key that JSON could have",
                    shown(&key)
                )));
            };
            json_string::quote(utf8(key)?.as_bytes(), out);
            out.push(b':');
            self.json(depth + 1, &item, out)?;
        }
        out.push(b'}');
        Ok(())
    }

    /// Appends `value` as JSON: as `to_jsonb` would write it, numbers exactly.
    fn json(
        &mut self,
        depth: usize,
        value: &Bound<'_, PyAny>,
        out: &mut Vec<u8>,
    ) -> Result<(), ConversionError> {
        if depth > DEEPEST {
            return Err(ConversionError::refused(format!(
                "lists or dicts are nested more than {DEEPEST} deep"
            )));
        }
        let start = out.len();
        match self.spell_at(depth, value, out)? {
            Spelling::Null => out.extend_from_slice(b"null"),
            Spelling::Bare => {}
            Spelling::Quoted => {
                let text = out.split_off(start);
                json_string::quote(&text, out);
            }
        }
        Ok(())
    }

    /// The type of a new table's column for `value`; `None` where any would do.
    pub(crate) fn column_type(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
        Ok(Some(match self.of(value)? {
            Kind::Null => return Ok(None),
            Kind::Bool => "boolean",
            Kind::Int if value.extract::<i64>().is_ok() => "bigint",
            Kind::Int | Kind::Decimal => "numeric",
            Kind::Float => "double precision",
            Kind::Bytes => "bytea",
            Kind::Timestamp if moments::is_aware(value)? => "timestamp with time zone",
            Kind::Timestamp => "timestamp without time zone",
            Kind::Date => "date",
            Kind::Time if moments::is_aware(value)? => "time with time zone",
            Kind::Time => "time without time zone",
            Kind::Interval => "interval",
            Kind::Shown(r#type) => r#type,
            Kind::List | Kind::Dict => "jsonb",
            Kind::Scalar => match without_numpy(value) {
                Ok(plain) => return self.column_type(&plain),
                Err(_) => "text",
            },
            Kind::Text | Kind::Member | Kind::Strange => "text",
        }))
    }
}

/// The type for values of which some are `one` and some are `other`.
pub(crate) fn common_type(one: &'static str, other: &'static str) -> &'static str {
    if one == other {
        return one;
    }
    let are = |a, b| (one, other) == (a, b) || (other, one) == (a, b);
    if are("bigint", "numeric") {
        "numeric"
    } else if are("bigint", "double precision") {
        "double precision"
    } else if are("date", "timestamp without time zone") {
        "timestamp without time zone"
    } else if are("inet", "cidr") {
        "inet"
    } else {
        "text"
    }
}

/// Classes of Python's own library, and what their values are.
const STANDARD: [(&str, &str, Kind); 7] = [
    ("uuid", "UUID", Kind::Shown("uuid")),
    ("enum", "Enum", Kind::Member),
    ("pathlib", "PurePath", Kind::Shown("text")),
    // Interfaces are addresses.
    ("ipaddress", "IPv4Address", Kind::Shown("inet")),
    ("ipaddress", "IPv6Address", Kind::Shown("inet")),
    ("ipaddress", "IPv4Network", Kind::Shown("cidr")),
    ("ipaddress", "IPv6Network", Kind::Shown("cidr")),
];

fn standard_kind(value: &Bound<'_, PyAny>) -> PyResult<Option<Kind>> {
    for (module, class, kind) in STANDARD {
        if value.is_instance(&value.py().import(module)?.getattr(class)?)? {
            return Ok(Some(kind));
        }
    }
    Ok(None)
}

fn classify(value: &Bound<'_, PyAny>, r#type: &Bound<'_, PyType>) -> PyResult<Kind> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = value.py();
    // pandas' NaT is a datetime, and its NA is nothing at all.
    if value.is_none() || ["NaTType", "NAType"].contains(&&*r#type.name()?.to_string()) {
        return Ok(Kind::Null);
    }
    let is_bytes = value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyByteArray>()
        || value.is_instance_of::<PyMemoryView>();
    // bool is an int, and datetime a date.
    Ok(if value.is_instance_of::<PyBool>() {
        Kind::Bool
    } else if value.is_instance_of::<PyInt>() {
        Kind::Int
    } else if value.is_instance_of::<PyFloat>() {
        Kind::Float
    } else if value.is_instance_of::<PyString>() {
        Kind::Text
    } else if is_bytes {
        Kind::Bytes
    } else if value.is_instance_of::<PyDateTime>() {
        Kind::Timestamp
    } else if value.is_instance_of::<PyDate>() {
        Kind::Date
    } else if value.is_instance_of::<PyTime>() {
        Kind::Time
    } else if value.is_instance_of::<PyDelta>() {
        Kind::Interval
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        Kind::List
    } else if value.is_instance_of::<PyDict>() {
        Kind::Dict
    } else if value.is_instance(DECIMAL.import(py, "decimal", "Decimal")?)? {
        Kind::Decimal
    } else if let Some(kind) = standard_kind(value)? {
        kind
    } else if r#type.module()? != "numpy" {
        Kind::Strange
    } else if r#type.name()? == "ndarray" {
        Kind::List
    } else {
        Kind::Scalar
    })
}

fn int(value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> Result<(), ConversionError> {
    match value.extract::<i64>() {
        Ok(small) => out.extend_from_slice(small.to_string().as_bytes()),
        // Not str(): an IntEnum may have one of its own.
        Err(_) => {
            let digits = value.call_method1("__format__", ("d",))?;
            out.extend_from_slice(digits.cast::<PyString>()?.to_str()?.as_bytes());
        }
    }
    Ok(())
}

/// The shortest decimals that are this float and no other.
fn float(value: f64, out: &mut Vec<u8>) -> Result<Spelling, ConversionError> {
    if value.is_finite() {
        out.extend_from_slice(format!("{value:?}").as_bytes());
        return Ok(Spelling::Bare);
    }
    let text = if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    };
    out.extend_from_slice(text.as_bytes());
    Ok(Spelling::Quoted)
}

fn decimal(value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> Result<Spelling, ConversionError> {
    let text = value.str()?;
    let text = text.to_str()?;
    out.extend_from_slice(text.as_bytes());
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.E".contains(&byte));
    Ok(if is_number { Spelling::Bare } else { Spelling::Quoted })
}

/// What can be bytes, as such.
pub(crate) fn as_bytes<'py>(value: &Bound<'py, PyAny>) -> Result<Bound<'py, PyBytes>, ConversionError> {
    Ok(match value.cast::<PyBytes>() {
        Ok(bytes) => bytes.clone(),
        Err(_) => value.py().get_type::<PyBytes>().call1((value,))?.cast_into::<PyBytes>()?,
    })
}

/// bytea's hexadecimal form.
fn bytes(value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> Result<Spelling, ConversionError> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\\x");
    for byte in as_bytes(value)?.as_bytes() {
        out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    Ok(Spelling::Quoted)
}

/// What is in a list, a tuple or an array of numpy's.
pub(crate) fn items<'py>(list: &Bound<'py, PyAny>) -> Result<Bound<'py, PyIterator>, ConversionError> {
    let list = match list.is_instance_of::<PyList>() || list.is_instance_of::<PyTuple>() || is_times(list)? {
        true => list.clone(),
        false => without_numpy(list)?,
    };
    Ok(list.try_iter()?)
}

/// Whether an array of numpy's is one of times: each of them is looked at by itself.
fn is_times(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let kind = array.getattr("dtype")?.getattr("kind")?.to_string();
    Ok(matches!(kind.as_str(), "M" | "m"))
}

/// The Python value of a scalar, the list of an array.
pub(crate) fn without_numpy<'py>(value: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, ConversionError> {
    let kind = value.getattr("dtype")?.getattr("kind")?.to_string();
    match kind.as_str() {
        "b" | "i" | "u" | "f" | "U" | "S" | "O" => {
            let plain = value.call_method0("tolist")?;
            // Python has no float as long as numpy's longest.
            if plain.get_type().is(value.get_type()) { Err(strange(value)) } else { Ok(plain) }
        }
        "M" | "m" => moments::of_numpy(value, &kind),
        _ => Err(ConversionError::Refused {
            message: format!("{} is of numpy's type {}", shown(value), value.getattr("dtype")?),
            hint: Some("PostgreSQL has no such type: load its parts, or str() of it"),
        }),
    }
}

fn strange(value: &Bound<'_, PyAny>) -> ConversionError {
    let name = value.get_type().fully_qualified_name().map_or_else(|_| "?".into(), |name| name.to_string());
    ConversionError::Refused {
        message: format!("values of type {name} have no form in PostgreSQL that everybody would agree on"),
        hint: Some("convert them first, with str() for example"),
    }
}
