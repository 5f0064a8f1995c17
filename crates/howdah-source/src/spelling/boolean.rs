//! The option `booleans`: words that mean true and false, such as `ja` and `nein`. What PostgreSQL reads goes on being read.

use howdah_message::setting;
use tokio_postgres::types::Type;

use crate::error::Error;

/// What PostgreSQL reads as true, in full; it takes any beginning that leaves no doubt.
const POSTGRES_TRUE: [&str; 4] = ["true", "yes", "on", "1"];
/// … and as false.
const POSTGRES_FALSE: [&str; 4] = ["false", "no", "off", "0"];

/// Words for true and false, in lower case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BooleanWords {
    words: Vec<(String, bool)>,
}

impl BooleanWords {
    /// The words of `pairs`, each a word for true and one for false, in any case.
    ///
    /// # Errors
    /// A usage error: a word that is empty, or that means both, since PostgreSQL reads it otherwise or another pair does.
    pub fn new<S: AsRef<str>>(pairs: &[(S, S)]) -> Result<Self, Error> {
        let mut words: Vec<(String, bool)> = Vec::new();
        for (yes, no) in pairs {
            for (word, means) in [(yes.as_ref(), true), (no.as_ref(), false)] {
                let word = word.trim().to_lowercase();
                let refuse = |why: String| Err(Error::usage(message![setting::BOOLEANS, " {word:?}: {why}"]));
                if word.is_empty() {
                    return refuse("a word for true or false is empty".to_owned());
                }
                if words.iter().any(|(known, meant)| *known == word && *meant != means) {
                    return refuse("it cannot be both true and false".to_owned());
                }
                if of_postgres(&word).is_some_and(|meant| meant != means) {
                    return refuse(format!("PostgreSQL reads it as {}", !means));
                }
                words.push((word, means));
            }
        }
        Ok(BooleanWords { words })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// `true` or `false` where the value is one of the words; otherwise the value.
    #[inline]
    pub fn read<'v>(&self, value: &'v [u8]) -> &'v [u8] {
        match self.meaning(value) {
            Some(true) => b"true",
            Some(false) => b"false",
            None => value,
        }
    }

    /// Whether the value is one of the words.
    #[inline]
    pub fn has(&self, value: &[u8]) -> bool {
        !self.words.is_empty() && self.meaning(value).is_some()
    }

    fn meaning(&self, value: &[u8]) -> Option<bool> {
        let value = value.trim_ascii();
        let found = |is_it: &dyn Fn(&str) -> bool| {
            self.words.iter().find(|(word, _)| is_it(word)).map(|(_, means)| *means)
        };
        if value.is_ascii() {
            return found(&|word| value.eq_ignore_ascii_case(word.as_bytes()));
        }
        let value = std::str::from_utf8(value).ok()?.to_lowercase();
        found(&|word| word == value)
    }
}

/// What PostgreSQL takes a word in lower case for.
fn of_postgres(word: &str) -> Option<bool> {
    // `o` may be `on` or `off`: it is neither.
    let begins = |whole: &&str| whole.starts_with(word) && word != "o";
    match (POSTGRES_TRUE.iter().any(begins), POSTGRES_FALSE.iter().any(begins)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Whether values of the type are booleans.
pub fn is_boolean(oid: u32) -> bool {
    oid == Type::BOOL.oid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_any_case_and_others_are_left_alone() {
        let words = BooleanWords::new(&[("ja", "nein"), ("Да", "Нет"), ("o", "n")]).unwrap();
        for (value, read) in [
            ("ja", "true"),
            ("JA", "true"),
            (" Nein ", "false"),
            ("да", "true"),
            ("НЕТ", "false"),
            ("o", "true"),
            ("N", "false"),
            ("jawohl", "jawohl"),
            ("true", "true"),
            ("no", "no"),
            ("", ""),
        ] {
            assert_eq!(words.read(value.as_bytes()), read.as_bytes(), "{value}");
        }
    }

    #[test]
    fn a_word_that_would_mean_both_is_refused() {
        for (pairs, why) in [
            (&[("ja", "JA")][..], "it cannot be both"),
            (&[("si", "no"), ("nu", "si")], "it cannot be both"),
            (&[("no", "yes")], "PostgreSQL reads it as false"),
            (&[("ja", "y")], "PostgreSQL reads it as true"),
            (&[("0", "1")], "PostgreSQL reads it as false"),
            (&[("", "nein")], "is empty"),
        ] {
            let error = BooleanWords::new(pairs).unwrap_err();
            assert!(error.message().contains(why), "{error}");
        }
        assert!(BooleanWords::new(&[("yes", "no"), ("yes", "off"), ("1", "0")]).is_ok());
    }
}
