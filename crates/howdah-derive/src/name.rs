//! Turns the names of fields into the names of columns.

use syn::ext::IdentExt;
use syn::{Ident, LitStr};

/// How the name of a field becomes that of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// The name of the field, unchanged.
    Same,
    Snake,
    Camel,
    Pascal,
}

impl Case {
    /// Looks up a case by its name, which is written in that case.
    pub(crate) fn named(name: &LitStr) -> syn::Result<Case> {
        match name.value().as_str() {
            "snake_case" => Ok(Case::Snake),
            "camelCase" => Ok(Case::Camel),
            "PascalCase" => Ok(Case::Pascal),
            _ => Err(syn::Error::new(
                name.span(),
                "rename_all takes \"snake_case\", \"camelCase\" or \"PascalCase\"",
            )),
        }
    }

    /// The name of the column for a field; `r#type` is named `type`.
    pub(crate) fn column_of(self, field: &Ident) -> String {
        self.column(&field.unraw().to_string())
    }

    fn column(self, field: &str) -> String {
        match self {
            Case::Same => field.to_owned(),
            Case::Snake => words(field).join("_"),
            Case::Camel => {
                let words = words(field);
                let mut words = words.iter();
                let first = words.next().cloned().unwrap_or_default();
                words.fold(first, |name, word| name + &capitalized(word))
            }
            Case::Pascal => words(field).iter().map(|word| capitalized(word)).collect(),
        }
    }
}

/// The words of a name in lower case: underscores separate them, and capitals begin them.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut begins = true;
    let mut was_capital = false;
    for letter in name.chars() {
        if letter == '_' {
            begins = true;
            continue;
        }
        if begins || letter.is_uppercase() && !was_capital {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
        (begins, was_capital) = (false, letter.is_uppercase());
    }
    words
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_writes_itself_from_every_other() {
        for field in ["created_at", "createdAt", "CreatedAt", "_created__at"] {
            assert_eq!(Case::Snake.column(field), "created_at");
            assert_eq!(Case::Camel.column(field), "createdAt");
            assert_eq!(Case::Pascal.column(field), "CreatedAt");
            assert_eq!(Case::Same.column(field), field);
        }
        assert_eq!(Case::Snake.column("userID"), "user_id");
        assert_eq!(Case::Camel.column("x2_y"), "x2Y");
        assert_eq!(Case::Camel.column("_"), "");
    }
}
