//! Rows as a program has them before it writes them: a literal for each column, made before the clock starts.

use crate::dataset::Generator;
use crate::error::Error;

/// A row's fields as PostgreSQL's types read them; None is NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literals(pub Box<[Option<Box<str>>]>);

impl Literals {
    /// All rows of a generator.
    ///
    /// # Errors
    /// They could not be made.
    pub fn of(generator: Generator) -> Result<Vec<Literals>, Error> {
        let mut csv = Vec::new();
        generator.write_csv(&mut csv).map_err(Error::io("could not make rows"))?;
        let text = String::from_utf8(csv)
            .map_err(|_| Error::Usage("a row holds something that is no text".to_owned()))?;
        let mut rows = Vec::new();
        let Some((_, mut rest)) = text.split_once('\n') else {
            return Err(Error::Wrong("the rows have no header".to_owned()));
        };
        while !rest.is_empty() {
            let mut fields = Vec::with_capacity(generator.dataset.columns().len());
            loop {
                let (field, end, left) = field(rest);
                fields.push(field);
                rest = left;
                if end != b',' {
                    break;
                }
            }
            rows.push(Literals(fields.into()));
        }
        Ok(rows)
    }
}

/// The first field, what ends it, and what follows. Our own CSV: it is whole and quotes are where they belong.
fn field(text: &str) -> (Option<Box<str>>, u8, &str) {
    let bytes = text.as_bytes();
    let ended = |value: Option<Box<str>>, end: usize| {
        let mark = bytes.get(end).copied().unwrap_or(b'\n');
        (value, mark, text.get(end + 1..).unwrap_or_default())
    };
    if bytes.first() != Some(&b'"') {
        let end = memchr::memchr2(b',', b'\n', bytes).unwrap_or(bytes.len());
        return ended((end > 0).then(|| text[..end].into()), end);
    }
    let mut end = 1;
    while let Some(quote) = memchr::memchr(b'"', &bytes[end..]) {
        end += quote + 1;
        if bytes.get(end) != Some(&b'"') {
            return ended(Some(text[1..end - 1].replace("\"\"", "\"").into()), end);
        }
        end += 1;
    }
    ended(Some(text[1..].into()), bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;

    #[test]
    fn literals_are_the_values_of_the_file_unquoted() {
        let rows = Literals::of(Dataset::Tasks.generator(50, 1)).unwrap();
        assert_eq!(rows.len(), 50);
        for Literals(fields) in &rows {
            let [Some(args), Some(key)] = &fields[..] else { panic!("{fields:?}") };
            let document: serde_json::Value = serde_json::from_str(args).unwrap();
            assert_eq!(document.as_object().unwrap().len(), 10);
            assert_eq!(key.len(), 36);
        }
        let hostile =
            Literals::of(Generator { hostile: true, ..Dataset::GithubEvents.generator(500, 3) }).unwrap();
        assert_eq!(hostile.len(), 500);
        let columns = Dataset::GithubEvents.columns().len();
        assert!(hostile.iter().all(|Literals(fields)| fields.len() == columns));
        let all = || hostile.iter().flat_map(|Literals(fields)| &fields[..]);
        assert!(all().any(Option::is_none) && all().any(|field| field.as_deref() == Some("")));
    }
}
