//! COPY's FORCE_NULL and FORCE_NOT_NULL: for the columns named, quotes no longer tell NULL from the string that stands for it.

use howdah_message::setting;
use howdah_source::Form;

use crate::error::Error;
use crate::options::{Format, LoadOptions};
use crate::plan::mapping::Mapping;

/// Stands for every column.
const ALL: &str = "*";

/// What is forced upon one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Forced {
    /// The string that stands for NULL does so in quotes as well.
    null: bool,
    /// It stands for itself where it has none.
    not_null: bool,
}

impl Forced {
    /// What the options say of the column `name`; `None` where they say nothing.
    pub(crate) fn of(name: &str, options: &LoadOptions) -> Option<Forced> {
        let named = |list: &[String]| list.iter().any(|item| item == name || item == ALL);
        let forced = Forced {
            null: named(&options.columns.force_null),
            not_null: named(&options.columns.force_not_null),
        };
        (forced != Forced::default()).then_some(forced)
    }

    /// Whether FORCE_NULL and FORCE_NOT_NULL name the column.
    pub(crate) fn options(self) -> [bool; 2] {
        [self.null, self.not_null]
    }

    /// The value of a field, from what it is without force.
    pub(crate) fn value<'v>(self, form: Form, value: Option<&'v [u8]>, null: &'v [u8]) -> Option<&'v [u8]> {
        match value {
            Some(value) if self.null && value == null => None,
            None if self.not_null && form == Form::Null => Some(null),
            value => value,
        }
    }
}

/// Refuses columns that are not loaded, and formats that know no quotes.
///
/// # Errors
/// A usage error that names the option.
pub(crate) fn check(options: &LoadOptions, mapping: &Mapping) -> Result<(), Error> {
    for (option, list) in [
        (setting::FORCE_NULL, &options.columns.force_null),
        (setting::FORCE_NOT_NULL, &options.columns.force_not_null),
    ] {
        if !list.is_empty() && options.input.format == Some(Format::Text) {
            return Err(Error::usage(message![
                option,
                " is about quotes, which the text format does not have"
            ]));
        }
        let is_loaded = |name: &String| name == ALL || mapping.pairs.iter().any(|pair| pair.target == *name);
        if let Some(stranger) = list.iter().find(|name| !is_loaded(name)) {
            let loaded: Vec<&str> = mapping.pairs.iter().map(|pair| pair.target.as_str()).collect();
            return Err(Error::usage(message![option, " names {stranger:?}, which is not loaded"])
                .with_detail(format!("columns that are: {}", loaded.join(", "))));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_decide_only_where_nothing_is_forced() {
        let both = Forced { null: true, not_null: true };
        let (null, not_null) = (Forced { not_null: false, ..both }, Forced { null: false, ..both });
        let x = Some(&b"NA"[..]);
        for (forced, form, value, expected) in [
            (null, Form::Plain, x, None),
            (null, Form::Null, None, None),
            (not_null, Form::Null, None, x),
            (not_null, Form::Plain, x, x),
            (not_null, Form::Default, None, None),
            (both, Form::Plain, x, None),
            (both, Form::Null, None, x),
            (both, Form::Plain, Some(b"other"), Some(b"other")),
        ] {
            assert_eq!(forced.value(form, value, b"NA"), expected, "{forced:?} {form:?} {value:?}");
        }
    }
}
