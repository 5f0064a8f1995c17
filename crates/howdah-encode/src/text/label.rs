//! Labels of an enum: sent as they are, once they are known to exist.

use crate::verdict::{NotEncoded, Verdict, shown};
use crate::wire;

/// The labels that a load knows from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Labels {
    /// The name of the type in messages.
    type_name: String,
    /// Sorted by bytes.
    labels: Box<[Box<[u8]>]>,
}

impl Labels {
    pub(super) fn new(type_name: &str, labels: &[String]) -> Self {
        let mut labels: Vec<Box<[u8]>> = labels.iter().map(|label| label.as_bytes().into()).collect();
        labels.sort_unstable();
        Labels { type_name: type_name.to_owned(), labels: labels.into() }
    }

    /// The server compares labels byte by byte: blanks and case count.
    pub(super) fn put(&self, literal: &[u8], out: &mut Vec<u8>) -> Verdict {
        if self.labels.binary_search_by(|label| (**label).cmp(literal)).is_ok() {
            return wire::put_bytes(out, literal);
        }
        Err(self.unknown(literal))
    }

    #[cold]
    fn unknown(&self, literal: &[u8]) -> NotEncoded {
        let reason = format!("invalid input value for enum {}: \"{}\"", self.type_name, shown(literal));
        NotEncoded::invalid("22P02", reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_labels_of_the_type_are_sent() {
        let labels = Labels::new("public.mood", &["sad".into(), "happy".into(), "so so".into()]);
        for label in ["sad", "happy", "so so"] {
            let mut out = Vec::new();
            assert_eq!(labels.put(label.as_bytes(), &mut out), Ok(()));
            assert_eq!(&out[4..], label.as_bytes());
        }
        for label in ["", "Sad", " sad", "sad ", "unknown", "so  so"] {
            let mut out = b"row".to_vec();
            let Err(NotEncoded::Invalid(invalid)) = labels.put(label.as_bytes(), &mut out) else {
                panic!("{label:?} is no label")
            };
            assert_eq!(invalid.sqlstate, "22P02");
            assert_eq!(invalid.reason, format!("invalid input value for enum public.mood: \"{label}\""));
            assert_eq!(out, b"row");
        }
    }
}
