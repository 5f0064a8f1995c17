//! Names of columns as the command line takes them: SQL identifiers in lists, folded unless quoted.

use howdah::Error;
use howdah::name;

/// `--columns`, `--key`: SQL identifiers, folded unless quoted.
pub(crate) fn column_list(option: &str, text: &str) -> Result<Vec<String>, Error> {
    let mut columns: Vec<String> = Vec::new();
    for (folded, _) in split_list(option, text)? {
        name::check(&folded)?;
        if columns.contains(&folded) {
            return Err(Error::usage(format!("{option} names {folded:?} twice")));
        }
        columns.push(folded);
    }
    Ok(columns)
}

/// `--file-column`: one SQL identifier.
pub(crate) fn column_name(text: &str) -> Result<String, Error> {
    match split_list("--file-column", text)?.as_slice() {
        [(name, _)] => name::check(name).map(|()| name.clone()),
        _ => Err(Error::usage(format!("--file-column takes one name, not {text:?}"))),
    }
}

/// `--map SRC=DST`: the header's own spelling, and an SQL identifier. A source name may contain `=`.
pub(crate) fn map_pair(text: &str) -> Result<(String, String), Error> {
    let expected = || Error::usage(format!("--map takes SRC=DST, not {text:?}"));
    let divide =
        if text.ends_with('"') { text.rfind("=\"") } else { text.rfind('=') }.ok_or_else(expected)?;
    let (source, target) = (&text[..divide], &text[divide + 1..]);
    match split_list("--map", target)?.as_slice() {
        [(target, _)] if !source.is_empty() => {
            name::check(target)?;
            Ok((source.to_owned(), target.clone()))
        }
        _ => Err(expected()),
    }
}

/// The items of a list between commas, each as SQL folds it and as it was typed. Double quotes keep case, commas and
/// spaces, and are doubled to mean themselves.
pub(crate) fn split_list(option: &str, text: &str) -> Result<Vec<(String, String)>, Error> {
    let mut items = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let item;
        if let Some(quoted) = rest.strip_prefix('"') {
            let (inner, after) = quoted_part(quoted)
                .ok_or_else(|| Error::usage(format!("{option}: unterminated quote in {text:?}")))?;
            rest = after.trim_start();
            if !rest.is_empty() && !rest.starts_with(',') {
                return Err(Error::usage(format!("{option}: a comma is missing after {inner:?}")));
            }
            item = (inner.clone(), inner);
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let word = rest[..end].trim_end();
            if word.is_empty() {
                return Err(Error::usage(format!("{option}: an item of {text:?} is empty")));
            }
            rest = &rest[end..];
            // As TableName: PostgreSQL folds ASCII only where the encoding is multi-byte.
            item = (word.to_ascii_lowercase(), word.to_owned());
        }
        items.push(item);
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None => return Ok(items),
        }
    }
}

/// The text up to the closing quote, and what follows it.
fn quoted_part(text: &str) -> Option<(String, &str)> {
    let mut inner = String::new();
    let mut from = 0;
    loop {
        let quote = from + text[from..].find('"')?;
        inner.push_str(&text[from..quote]);
        if !text[quote + 1..].starts_with('"') {
            return Some((inner, &text[quote + 1..]));
        }
        inner.push('"');
        from = quote + 2;
    }
}
