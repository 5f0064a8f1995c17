//! Names that are longer than PostgreSQL takes are shortened to what tells them apart, and equal ones get a number.

use std::collections::HashSet;

use crate::catalog::name::MAX_NAME_BYTES;

/// So many bytes of a beginning that names share are kept, if what follows leaves them.
const KEPT_OF_SHARED: usize = 16;

/// At most `bytes` of `name`, and whole characters.
pub(super) fn shortened(name: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(name.len())).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    &name[..end]
}

/// The names, each at most as long as PostgreSQL takes. Of a long one that begins as another does, the shared beginning is
/// shortened, and `gap` put in its place: what follows tells them apart.
pub(super) fn fitting(names: &[&str], gap: &str) -> Vec<String> {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    let is_between = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric();
    let fit = |name: &&str| {
        let name = *name;
        if name.len() <= MAX_NAME_BYTES {
            return name.to_owned();
        }
        let (first, behind) =
            (sorted.partition_point(|other| *other < name), sorted.partition_point(|other| *other <= name));
        let neighbours = first.checked_sub(1).into_iter().chain(Some(behind).filter(|at| *at < sorted.len()));
        let shared = neighbours.map(|at| shared_words(name, sorted[at])).max().unwrap_or(0);
        let (beginning, end) = name.split_at(shared);
        let kept = MAX_NAME_BYTES.saturating_sub(end.len() + gap.len()).max(KEPT_OF_SHARED);
        let kept = shortened(beginning, kept.min(beginning.len())).trim_end_matches(is_between);
        let joined = if kept.is_empty() { end.to_owned() } else { format!("{kept}{gap}{end}") };
        let fits = shortened(&joined, MAX_NAME_BYTES);
        Some(fits.trim_end_matches(is_between)).filter(|fits| !fits.is_empty()).unwrap_or(fits).to_owned()
    };
    names.iter().map(fit).collect()
}

/// The bytes of whole words, with what stands behind them, with which both names begin.
fn shared_words(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let is_between = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric();
    one.as_bytes()[..same].iter().rposition(is_between).map_or(0, |at| at + 1)
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
