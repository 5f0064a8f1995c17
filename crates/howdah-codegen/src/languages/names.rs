//! Names of databases as identifiers of languages: words, case, and what happens where two become one.

use std::collections::BTreeSet;

/// Divides a name into words of ASCII letters and digits, in lower case: `userID`, `user-id` and `user_id` are `user`, `id`.
///
/// A character that no language takes everywhere becomes `x` and its number, so that names stay apart.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let new_word = (c.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit()))
            || matches!(c, '_' | ' ' | '-' | '.');
        if new_word && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            if c.is_ascii_alphanumeric() {
                word.push(c.to_ascii_lowercase());
            } else if !matches!(c, '_' | ' ' | '-' | '.') {
                word.push_str(&format!("x{:x}", u32::from(c)));
            }
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// `get_user`; a name that begins with a digit or has no letter gets `prefix` first.
pub(crate) fn snake(name: &str, prefix: &str) -> String {
    begun(words(name).join("_"), &format!("{prefix}_"))
}

/// `GET_USER`.
pub(crate) fn screaming(name: &str, prefix: &str) -> String {
    snake(name, prefix).to_ascii_uppercase()
}

/// `GetUser`.
pub(crate) fn pascal(name: &str, prefix: &str) -> String {
    let capital = |word: String| word[..1].to_ascii_uppercase() + &word[1..];
    let capitals = words(name).into_iter().map(capital).collect::<String>();
    begun(capitals, &pascal_prefix(prefix))
}

/// `getUser`.
pub(crate) fn camel(name: &str, prefix: &str) -> String {
    let pascal = pascal(name, prefix);
    let (first, rest) = pascal.split_at(usize::from(!pascal.is_empty()));
    first.to_ascii_lowercase() + rest
}

fn pascal_prefix(prefix: &str) -> String {
    prefix.chars().take(1).map(|c| c.to_ascii_uppercase()).chain(prefix.chars().skip(1)).collect()
}

pub(crate) fn begun(name: String, prefix: &str) -> String {
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return name;
    }
    if name.is_empty() { prefix.trim_end_matches('_').to_owned() } else { prefix.to_owned() + &name }
}

/// The names of one scope, each given once.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    taken: BTreeSet<String>,
    reserved: &'static [&'static [&'static str]],
    avoided: BTreeSet<String>,
}

/// A name that a scope gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    /// The identifier.
    pub(crate) name: String,
    /// Something else has the name that was asked for, which a person should hear.
    pub(crate) collided: bool,
}

impl Scope {
    /// A scope in which these lists of words are no names.
    pub(crate) fn new(reserved: &'static [&'static [&'static str]]) -> Self {
        Self { taken: BTreeSet::new(), reserved, avoided: BTreeSet::new() }
    }

    /// Makes more words no names.
    pub(crate) fn avoid(&mut self, words: BTreeSet<String>) {
        self.avoided.extend(words);
    }

    /// Gives `wanted`, with `_` behind it if it is a word of the language, with a number if it is taken.
    pub(crate) fn give(&mut self, wanted: &str) -> Given {
        self.give_all(wanted, &[""])
    }

    /// Gives a name so that it is free with each of these endings, and takes all of them.
    pub(crate) fn give_all(&mut self, wanted: &str, endings: &[&str]) -> Given {
        let free = |name: &str, taken: &BTreeSet<String>| {
            endings.iter().all(|end| !taken.contains(&format!("{name}{end}")))
        };
        let reserved = endings.iter().any(|end| self.is_reserved(&format!("{wanted}{end}")));
        let wanted = if reserved { format!("{wanted}_") } else { wanted.to_owned() };
        let mut name = wanted.clone();
        for number in 2_usize.. {
            if free(&name, &self.taken) {
                break;
            }
            name = format!("{}_{number}", wanted.trim_end_matches('_'));
        }
        self.taken.extend(endings.iter().map(|end| format!("{name}{end}")));
        Given { collided: name != wanted, name }
    }

    fn is_reserved(&self, name: &str) -> bool {
        self.avoided.contains(name) || self.reserved.iter().any(|words| words.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::{Scope, camel, pascal, screaming, snake};

    #[test]
    fn names_of_every_kind_become_identifiers() {
        assert_eq!(snake("getUserID2", "f"), "get_user_id2");
        assert_eq!(pascal("get_user", "f"), "GetUser");
        assert_eq!(camel("get_user", "f"), "getUser");
        assert_eq!(camel("1st", "column"), "column1st");
        assert_eq!(screaming("very happy", "label"), "VERY_HAPPY");
        assert_eq!(snake("1st", "column"), "column_1st");
        assert_eq!(snake("", "column"), "column");
        assert_eq!(snake("__", "column"), "column");
        assert_eq!(snake("?column?", "column"), "x3fcolumnx3f");
        assert_eq!(snake("\"\"\"*/\u{202e}", "column"), "x22x22x22x2ax2fx202e");
        assert_eq!(pascal("2x", "row"), "Row2x");
    }

    #[test]
    fn a_name_is_given_once_in_a_scope() {
        let mut scope = Scope::new(&[&["class"]]);
        assert_eq!(scope.give("class").name, "class_");
        assert_eq!(scope.give("a").name, "a");
        let second = scope.give("a");
        assert_eq!((second.name.as_str(), second.collided), ("a_2", true));
        assert_eq!(scope.give_all("b", &["", "_raw"]).name, "b");
        assert_eq!(scope.give("b_raw").name, "b_raw_2");
    }
}
