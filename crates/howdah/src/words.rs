//! Enums whose values are words: options and reports write them as strings, programs compare them as values.

use serde::{Serialize, Serializer};

/// Enums of words, each written as the string beside it.
macro_rules! words {
    ($($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $word:ident = $text:literal,)* })*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
            #[non_exhaustive]
            pub enum $name {
                $($(#[$of])* $word,)*
            }

            impl $name {
                /// Every value, in the order of declaration.
                pub const ALL: [$name; [$($text),*].len()] = [$($name::$word,)*];

                /// The value as options and reports write it.
                pub const fn name(self) -> &'static str {
                    match self {
                        $($name::$word => $text,)*
                    }
                }

                /// The value of that name.
                pub fn from_name(name: &str) -> Option<Self> {
                    match name {
                        $($text => Some($name::$word),)*
                        _ => None,
                    }
                }
            }

            impl std::fmt::Display for $name {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str(self.name())
                }
            }

            impl serde::Serialize for $name {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.serialize_str(self.name())
                }
            }
        )*
    };
}

/// Serialises a word that is not known, because the load ended before, as the empty string.
pub(crate) fn or_empty<W: Serialize, S: Serializer>(
    word: &Option<W>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match word {
        Some(word) => word.serialize(serializer),
        None => serializer.serialize_str(""),
    }
}
