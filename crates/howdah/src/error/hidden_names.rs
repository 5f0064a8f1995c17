//! Names that a load gives to what it makes until its commit, and what users call that.

use howdah_message::Message;

use super::Error;

/// Each hidden name with the one that users know.
#[derive(Debug, Clone, Default)]
pub(crate) struct HiddenNames(Vec<(String, String)>);

impl HiddenNames {
    /// One name may begin with another.
    pub(crate) fn new(mut names: Vec<(String, String)>) -> Self {
        names.sort_by_key(|(hidden, _)| std::cmp::Reverse(hidden.len()));
        HiddenNames(names)
    }

    /// `error` in the names that users know.
    pub(crate) fn reveal(&self, mut error: Error) -> Error {
        if let Some(constraint) = &mut error.0.constraint {
            *constraint = self.revealed(constraint);
        }
        let texts = [Some(&mut error.0.message), error.0.detail.as_mut(), error.0.hint.as_mut()];
        for text in texts.into_iter().flatten() {
            if self.0.iter().any(|(hidden, _)| text.contains(hidden)) {
                *text = Message::from(self.revealed(text));
            }
        }
        error
    }

    fn revealed(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (hidden, real)| text.replace(hidden, real))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_name_that_begins_with_another_is_not_taken_for_it() {
        let pair = |hidden: &str, real: &str| (hidden.to_owned(), real.to_owned());
        let names = HiddenNames::new(vec![pair("hidden_1", "first"), pair("hidden_10", "tenth")]);
        let error = Error::new(ErrorKind::Server, "hidden_10 and hidden_1").with_hint("drop \"hidden_10\"");
        let error = names.reveal(error.with_detail("as it was"));
        assert_eq!(error.message(), "tenth and first");
        assert_eq!((error.detail(), error.hint()), (Some("as it was"), Some("drop \"tenth\"")));
    }
}
