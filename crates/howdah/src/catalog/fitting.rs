//! Names that are longer than PostgreSQL takes get a form of their own, and equal ones a number.

use std::collections::HashSet;

use ring::digest::{SHA256, digest};

/// A name longer than this is cut by PostgreSQL (NAMEDATALEN - 1); we refuse instead.
pub const MAX_NAME_BYTES: usize = 63;

/// At most so many bytes of a long name's end are kept.
const END: usize = 24;

/// What stands between the parts that are kept of a long name.
pub(super) struct Marks {
    /// In place of its middle.
    pub(super) gap: &'static str,
    /// Before its checksum.
    pub(super) sum: &'static str,
}

/// A name that PostgreSQL takes. A long one keeps its beginning and its end, and gets a checksum that tells it from all that begin
/// and end alike: another file with that name finds the column, and one with another name does not.
pub(super) fn fit(name: &str, marks: &Marks) -> String {
    if name.len() <= MAX_NAME_BYTES {
        return name.to_owned();
    }
    let digest = digest(&SHA256, name.as_bytes());
    let sum: String = digest.as_ref()[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let room = MAX_NAME_BYTES - END - marks.gap.len() - marks.sum.len() - sum.len();
    format!("{}{}{}{}{sum}", beginning(name, room), marks.gap, end(name), marks.sum)
}

fn is_between(c: char) -> bool {
    c.is_ascii() && !c.is_ascii_alphanumeric()
}

/// At most `bytes` of the beginning, whole words where these are not too long.
fn beginning(name: &str, bytes: usize) -> &str {
    let cut = shortened(name, bytes);
    let word =
        if name[cut.len()..].starts_with(is_between) { Some(cut.len()) } else { cut.rfind(is_between) };
    cut[..word.filter(|end| *end >= bytes / 2).unwrap_or(cut.len())].trim_end_matches(is_between)
}

/// The end, whole words where these are not too long.
fn end(name: &str) -> &str {
    let at = (name.len() - END..).find(|at| name.is_char_boundary(*at)).unwrap_or(name.len());
    let (before, cut) = name.split_at(at);
    let word = if before.ends_with(is_between) { Some(0) } else { cut.find(is_between) };
    let whole = cut[word.unwrap_or(0)..].trim_start_matches(is_between);
    if whole.is_empty() { cut } else { whole }
}

/// At most `bytes` of `name`, and whole characters.
fn shortened(name: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(name.len())).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    &name[..end]
}

/// `base`, with a number where it is `used` already; it is so from now on.
pub(super) fn unused(base: String, used: &mut HashSet<String>) -> String {
    let mut name = base.clone();
    let mut number = 2;
    while !used.insert(name.clone()) {
        let suffix = format!("_{number}");
        name = shortened(&base, MAX_NAME_BYTES - suffix.len()).to_owned() + &suffix;
        number += 1;
    }
    name
}
