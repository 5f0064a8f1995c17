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
