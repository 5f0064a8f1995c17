//! Names of columns as messages show them.

/// A name as a person would write it in SQL: quoted only where PostgreSQL would not read it back unquoted.
pub fn display(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Names with commas between them, each as [`display`] writes it.
pub fn listing<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(|name| display(name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// So many names are enough to see which ones are meant.
const SHOWN: usize = 10;

/// [`listing`] of the first few names, and how many more there are.
pub fn beginning<S: AsRef<str>>(names: &[S]) -> String {
    // Where one more is left, it says more than its number.
    match names.len().saturating_sub(SHOWN) {
        0 | 1 => listing(names),
        more => format!("{} and {more} more", listing(&names[..SHOWN])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_names_ends_with_how_many_more_there_are() {
        let names: Vec<String> = (1..=13).map(|number| format!("c{number}")).collect();
        assert_eq!(beginning(&names), "c1, c2, c3, c4, c5, c6, c7, c8, c9, c10 and 3 more");
        assert!(beginning(&names[..11]).ends_with("c10, c11"));
        assert_eq!(beginning(&["a", "B c"]), "a, \"B c\"");
    }
}
