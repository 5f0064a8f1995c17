//! Names of generators: `language/postgres/driver`, as SQG writes them.

use crate::diagnostic::nearest;

/// All generators, with their drivers.
pub const GENERATORS: [&str; 5] = [
    "java/postgres/jdbc",
    "python/postgres/psycopg",
    "typescript/postgres/pg",
    "go/postgres/pgx",
    "rust/postgres/tokio-postgres",
];

/// SQG's generators for other databases begin so.
const ELSEWHERE: [&str; 6] = [
    "java/sqlite",
    "java/duckdb",
    "python/sqlite",
    "python/duckdb",
    "typescript/sqlite",
    "typescript/duckdb",
];

/// Whether it is a generator of SQG's for another database.
pub(super) fn is_elsewhere(name: &str) -> bool {
    ELSEWHERE
        .iter()
        .any(|other| name.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// The generator of a name whose driver may be left out; otherwise what is wrong and what to write.
pub(super) fn find(name: &str) -> Result<&'static str, (String, String)> {
    let short = |full: &'static str| full.rsplit_once('/').map_or(full, |(short, _)| short);
    if let Some(full) = GENERATORS.into_iter().find(|full| *full == name || short(full) == name) {
        return Ok(full);
    }
    let language = name.split('/').next().unwrap_or_default();
    let message = if is_elsewhere(name) {
        format!("`{name}` is for another database; there is only PostgreSQL")
    } else {
        format!("there is no generator `{name}`")
    };
    let of_language = GENERATORS.into_iter().find(|full| full.split('/').next() == Some(language));
    let near =
        of_language.or_else(|| nearest(name, GENERATORS.into_iter().flat_map(|full| [full, short(full)])));
    let help = match near {
        Some(near) => format!("perhaps you meant `{near}`"),
        None => format!("there are {}", GENERATORS.join(", ")),
    };
    Err((message, help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_may_be_left_out() {
        assert_eq!(find("python/postgres"), Ok("python/postgres/psycopg"));
        assert_eq!(find("java/postgres/jdbc"), Ok("java/postgres/jdbc"));
        let help = |name| find(name).err().map(|(_, help)| help);
        assert_eq!(help("pyhton/postgres").as_deref(), Some("perhaps you meant `python/postgres`"));
        assert_eq!(help("java/duckdb").as_deref(), Some("perhaps you meant `java/postgres/jdbc`"));
        assert!(help("cobol").is_some_and(|help| help.starts_with("there are java/postgres/jdbc, ")));
    }
}
