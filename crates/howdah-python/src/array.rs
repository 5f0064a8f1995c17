//! Lists as literals of arrays.

use pyo3::prelude::*;

use crate::form::{ConversionError, Spelling};
use crate::literal::{DEEPEST, Kind, Kinds, items};

impl Kinds {
    /// Appends `list` as an array's literal, such as `{1,NULL,"a b"}`; lists in it are further dimensions.
    pub(crate) fn array(
        &mut self,
        list: &Bound<'_, PyAny>,
        out: &mut Vec<u8>,
    ) -> Result<(), ConversionError> {
        self.dimension(0, list, out)
    }

    fn dimension(
        &mut self,
        depth: usize,
        list: &Bound<'_, PyAny>,
        out: &mut Vec<u8>,
    ) -> Result<(), ConversionError> {
        if depth > DEEPEST {
            return Err(ConversionError::refused(format!("lists are nested more than {DEEPEST} deep")));
        }
        out.push(b'{');
        for (at, item) in items(list)?.enumerate() {
            if at > 0 {
                out.push(b',');
            }
            let item = item?;
            let kind = self.of(&item)?;
            if kind == Kind::List {
                self.dimension(depth + 1, &item, out)?;
                continue;
            }
            let start = out.len();
            match self.spell(&item, out)? {
                Spelling::Null => out.extend_from_slice(b"NULL"),
                Spelling::Bare if kind != Kind::Dict => {}
                Spelling::Bare | Spelling::Quoted => {
                    let text = out.split_off(start);
                    quote(&text, out);
                }
            }
        }
        out.push(b'}');
        Ok(())
    }
}

/// An element in quotes: it may look like NULL, or have what divides elements.
fn quote(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
}
