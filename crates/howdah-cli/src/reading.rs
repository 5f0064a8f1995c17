//! What the options mean that are about reading records and about bad ones: the same for a load and for a stream.

use std::path::Path;

use howdah::options::{DateFormat, Delimiter, Format, HeaderOption, OnError, RejectLimit, Thousands};
use howdah::{Error, LoadOptions};

use crate::args::{Columns, Input, Tolerance};
use crate::names::{column_list, map_pair, split_list};

/// The engine's options, as far as these go. `is_json`: `--columns` names keys.
///
/// # Errors
/// A usage error that names the option.
pub(crate) fn options(
    format: Option<Format>,
    input: &Input,
    default: Option<&String>,
    columns: &Columns,
    tolerance: &Tolerance,
    is_json: bool,
) -> Result<LoadOptions, Error> {
    if tolerance.on_error == OnError::Stop
        && (tolerance.reject_limit.is_some() || tolerance.rejects.is_some())
    {
        return Err(Error::usage("--reject-limit and --rejects are about rejected records")
            .with_hint("add --on-error ignore"));
    }
    if tolerance.rejects.as_deref().is_some_and(|path| path == Path::new("-")) {
        return Err(Error::usage("--rejects goes to a file, and - is none")
            .with_hint("./- is a file of that name; standard output is for the result"));
    }
    let byte = |option, text: &Option<String>| text.as_deref().map(|text| one_byte(option, text)).transpose();
    let list = |option, text: &Option<String>| match text.as_deref() {
        None => Ok(Vec::new()),
        Some(text) => column_list(option, text),
    };
    let mut skip_columns = Vec::new();
    for list in &columns.skip_columns {
        skip_columns.extend(split_list("--skip-columns", list)?.into_iter().map(|(_, exact)| exact));
    }
    let named = columns.columns.as_deref().map(|list| match is_json {
        // Keys are spelled in one way only.
        true => Ok(split_list("--columns", list)?.into_iter().map(|(_, exact)| exact).collect()),
        false => column_list("--columns", list),
    });
    let mut options = LoadOptions::default();
    let of_input = &mut options.input;
    of_input.format = format;
    of_input.decimal_comma = input.decimal.as_deref().map(decimal).transpose()?.unwrap_or_default();
    of_input.thousands = input.thousands.as_deref().map(Thousands::parse).transpose()?;
    of_input.booleans = input.booleans.iter().map(|pair| booleans(pair)).collect::<Result<_, _>>()?;
    of_input.date_format = input.date_format.as_deref().map(DateFormat::parse).transpose()?;
    of_input.dialect.delimiter = input.delimiter.as_deref().map(delimiter).transpose()?;
    of_input.dialect.null.clone_from(&input.null);
    of_input.dialect.default = default.cloned();
    of_input.dialect.quote = byte("--quote", &input.quote)?;
    of_input.dialect.escape = byte("--escape", &input.escape)?;
    let of_columns = &mut options.columns;
    of_columns.force_null = list("--force-null", &input.force_null)?;
    of_columns.force_not_null = list("--force-not-null", &input.force_not_null)?;
    of_columns.header = input.header.as_deref().map(header).transpose()?.unwrap_or_default();
    of_columns.column_list = named.transpose()?;
    of_columns.map = columns.map.iter().map(|pair| map_pair(pair)).collect::<Result<_, _>>()?;
    of_columns.skip_columns = skip_columns;
    let of_tolerance = &mut options.tolerance;
    of_tolerance.on_error = tolerance.on_error;
    of_tolerance.reject_limit = tolerance.reject_limit.as_deref().map(reject_limit).transpose()?;
    of_tolerance.rejects.clone_from(&tolerance.rejects);
    of_tolerance.on_nul = tolerance.on_nul;
    Ok(options)
}

fn reject_limit(text: &str) -> Result<RejectLimit, Error> {
    RejectLimit::parse(text)
        .ok_or_else(|| Error::usage(format!("--reject-limit takes a number of records or P%, not {text:?}")))
}

/// What `--delimiter` stands for; shells make a real tab hard to type.
fn delimiter(text: &str) -> Result<Delimiter, Error> {
    match text {
        "tab" => Ok(Delimiter::from(b'\t')),
        "\\n" | "\\r" => one_byte("--delimiter", text).map(Delimiter::from),
        _ => {
            let meant = String::from_utf8(unescaped(text));
            let meant =
                meant.map_err(|_| Error::usage(format!("--delimiter {text} is no character in UTF-8")))?;
            Ok(Delimiter::new(&meant)?)
        }
    }
}

/// The bytes of `text`, in which `\t` stands for a tab and `\x01` for byte 1.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let (byte, length) = match rest {
            [b'\\', b't', ..] => (b'\t', 2),
            [b'\\', b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digits = [*high, *low].map(|digit| char::from(digit).to_digit(16).unwrap_or_default());
                (u8::try_from(digits[0] * 16 + digits[1]).unwrap_or_default(), 4)
            }
            _ => (*first, 1),
        };
        bytes.push(byte);
        rest = &behind[length - 1..];
    }
    bytes
}

/// The single byte of an option; shells make a real tab hard to type.
fn one_byte(option: &str, text: &str) -> Result<u8, Error> {
    let refuse = |why: &str| Error::usage(format!("{option} takes one byte: {text:?} {why}"));
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        b"\n" | b"\r" | b"\\n" | b"\\r" => Err(refuse("ends a line and cannot be used")),
        b"\0" => Err(refuse("cannot occur in PostgreSQL's text")),
        [byte] => Ok(*byte),
        [b'\\', b'x', digits @ ..] if digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit) => {
            match u8::from_str_radix(&text[2..], 16).unwrap_or_default() {
                0 => Err(refuse("cannot occur in PostgreSQL's text")),
                b'\n' | b'\r' => Err(refuse("ends a line and cannot be used")),
                byte @ 0x80.. => Err(refuse(&format!("is byte {byte}, which is no character in UTF-8"))),
                byte => Ok(byte),
            }
        }
        [] => Err(refuse("is empty")),
        bytes if text.chars().count() == 1 => {
            Err(refuse(&format!("has {} bytes in UTF-8", bytes.len())).with_hint("COPY has the same limit"))
        }
        bytes => {
            Err(refuse(&format!("has {}", bytes.len()))
                .with_hint("a tab is written \\t or tab, byte 1 \\x01"))
        }
    }
}

/// Whether `--decimal` says comma.
fn decimal(text: &str) -> Result<bool, Error> {
    match text {
        "." => Ok(false),
        "," => Ok(true),
        _ => Err(Error::usage(format!("--decimal takes . or , and not {text:?}"))),
    }
}

/// The word for true and the one for false.
fn booleans(text: &str) -> Result<(String, String), Error> {
    let words = split_list("--booleans", text)?;
    match &words[..] {
        [(_, yes), (_, no)] => Ok((yes.clone(), no.clone())),
        _ => Err(Error::usage(format!("--booleans takes a word for true and one for false, not {text:?}"))
            .with_hint("--booleans ja,nein; again for other words")),
    }
}

/// PostgreSQL's words for a boolean, and `auto`.
fn header(text: &str) -> Result<HeaderOption, Error> {
    match text.to_ascii_lowercase().as_str() {
        "auto" => Ok(HeaderOption::Auto),
        "true" | "yes" | "on" | "1" => Ok(HeaderOption::Yes),
        "false" | "no" | "off" | "0" => Ok(HeaderOption::No),
        "match" => Err(Error::usage("--header=match is not needed: a header is always matched by its names")
            .with_hint("use --header")),
        _ => Err(Error::usage(format!("--header takes auto, true or false, not {text:?}"))),
    }
}
