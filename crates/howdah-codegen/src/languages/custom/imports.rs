//! Names that imports of the user's types bind, and those that generated code has for itself.

use crate::languages::Generator;

/// Names that a module of Python's imports, and from where.
pub(crate) const PYTHON: &[(&str, &str)] = &[
    ("Any", "typing"),
    ("AsyncIterator", "collections.abc"),
    ("Decimal", "decimal"),
    ("Final", "typing"),
    ("Iterable", "collections.abc"),
    ("Iterator", "collections.abc"),
    ("LiteralString", "typing"),
    ("Mapping", "collections.abc"),
    ("Multirange", "psycopg.types.multirange"),
    ("Range", "psycopg.types.range"),
    ("Sequence", "collections.abc"),
    ("StrEnum", "enum"),
    ("TypeAlias", "typing"),
    ("UUID", "uuid"),
    ("Unpack", "typing"),
    ("_cursors", "howdah_cursors"),
    ("_observed", "howdah_observer"),
    ("_runtime", "howdah_runtime"),
    ("annotations", "__future__"),
    ("copy", "howdah_copy"),
    ("dataclass", "dataclasses"),
    ("dt", "datetime"),
    ("migrate", "howdah_migrate"),
    ("pg", "howdah_psycopg"),
    ("psycopg", "psycopg"),
    ("staged", "howdah_upsert"),
];
/// The same of TypeScript's.
const TYPESCRIPT: &[(&str, &str)] = &[
    ("Pool", "pg"),
    ("codec", "./howdah_codec.js"),
    ("copy", "./howdah_copy.js"),
    ("migrate", "./howdah_migrate.js"),
    ("observed", "./howdah_observer.js"),
    ("pg", "./howdah_pg.js"),
    ("staged", "./howdah_upsert.js"),
];
/// The same of Go's.
const GO: &[(&str, &str)] = &[
    ("context", "context"),
    ("iter", "iter"),
    ("json", "encoding/json"),
    ("netip", "net/netip"),
    ("pgx", "github.com/jackc/pgx/v5"),
    ("time", "time"),
];
/// The same of Rust's, with the types of the prelude that it mentions.
const RUST: &[(&str, &str)] = &[
    ("Box", "std::boxed"),
    ("Clone", "std::clone"),
    ("Copy", "std::marker"),
    ("Debug", "std::fmt"),
    ("Eq", "std::cmp"),
    ("Err", "std::result::Result"),
    ("FnOnce", "std::ops"),
    ("Future", "std::future"),
    ("Hash", "std::hash"),
    ("IntoIterator", "std::iter"),
    ("Iterator", "std::iter"),
    ("None", "std::option::Option"),
    ("Ok", "std::result::Result"),
    ("Option", "std::option"),
    ("Ord", "std::cmp"),
    ("PartialEq", "std::cmp"),
    ("PartialOrd", "std::cmp"),
    ("Result", "std::result"),
    ("Send", "std::marker"),
    ("Some", "std::option::Option"),
    ("String", "std::string"),
    ("Sync", "std::marker"),
    ("ToOwned", "std::borrow"),
    ("ToString", "std::string"),
    ("Vec", "std::vec"),
    ("migrate", "super::howdah_migrate"),
    ("pg", "super::howdah_postgres"),
    ("runtime", "super::howdah_runtime"),
];

/// The name that an import binds although the generated code has it for something else.
pub(super) fn shadowing(generator: Generator, import: &str) -> Option<String> {
    let own = match generator {
        Generator::PythonPsycopg => PYTHON,
        Generator::TypescriptPg => TYPESCRIPT,
        Generator::GoPgx => GO,
        Generator::RustTokioPostgres => RUST,
        // Its imports are written where the file has none of that name.
        Generator::JavaJdbc => &[],
    };
    let bound = bound(generator, import.trim().trim_end_matches(';'));
    let is_other =
        |(name, source): &(String, String)| own.iter().any(|(known, from)| known == name && from != source);
    bound.into_iter().find(is_other).map(|(name, _)| name)
}

/// The names that an import binds, each with where it comes from.
fn bound(generator: Generator, import: &str) -> Vec<(String, String)> {
    match generator {
        Generator::PythonPsycopg => {
            match import.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) {
                Some((source, names)) => names_of(names, source.trim()),
                None => modules(import.trim_start_matches("import ")),
            }
        }
        Generator::TypescriptPg => {
            let Some((names, source)) = import.trim_start_matches("import ").rsplit_once(" from ") else {
                return Vec::new();
            };
            names_of(names, source.trim().trim_matches(['"', '\'']))
        }
        Generator::GoPgx => {
            let (alias, path) = match import.split_once(' ') {
                Some((alias, path)) => (Some(alias), path.trim()),
                None => (None, import),
            };
            let path = path.trim_matches('"');
            let last = path.rsplit('/').next().unwrap_or(path);
            vec![(alias.unwrap_or(last).to_owned(), path.to_owned())]
        }
        Generator::RustTokioPostgres => {
            let path = import.trim_start_matches("use ").trim();
            let (source, names) = path.rsplit_once("::{").or(path.rsplit_once("::")).unwrap_or(("", path));
            names_of(names, source)
        }
        Generator::JavaJdbc => Vec::new(),
    }
}

/// `{ type A as B, C }`: B and C.
fn names_of(names: &str, source: &str) -> Vec<(String, String)> {
    let names = names.split([',', '{', '}', '(', ')']).map(str::trim).filter(|name| !name.is_empty());
    let name = |name: &str| name.rsplit(' ').next().unwrap_or(name).to_owned();
    names.map(|each| (name(each), source.to_owned())).collect()
}

/// `a.b as c, d.e`: c and d.
fn modules(names: &str) -> Vec<(String, String)> {
    let module = |each: &str| match each.split_once(" as ") {
        Some((source, name)) => (name.trim().to_owned(), source.trim().to_owned()),
        None => {
            let top = each.split('.').next().unwrap_or(each).trim().to_owned();
            (top.clone(), top)
        }
    };
    names.split(',').map(module).collect()
}

#[cfg(test)]
mod tests {
    use super::shadowing;
    use crate::languages::Generator::{GoPgx, PythonPsycopg, RustTokioPostgres, TypescriptPg};

    #[test]
    fn an_import_that_takes_a_name_of_the_code_s_is_told() {
        for (generator, import, name) in [
            (PythonPsycopg, "from app import Range", "Range"),
            (PythonPsycopg, "from app import Money, ours as copy", "copy"),
            (PythonPsycopg, "import pg", "pg"),
            (PythonPsycopg, "import pg.types", "pg"),
            (PythonPsycopg, "import app.times as dt", "dt"),
            (TypescriptPg, "import { Money, Queue as Pool } from \"./app.js\";", "Pool"),
            (TypescriptPg, "import * as pg from \"pg\"", "pg"),
            (TypescriptPg, "import type { codec } from './app.js'", "codec"),
            (GoPgx, "app/time", "time"),
            (GoPgx, "json \"app/texts\"", "json"),
            (RustTokioPostgres, "use crate::ids::Result;", "Result"),
            (RustTokioPostgres, "crate::ids::{UserId, Text as String}", "String"),
        ] {
            assert_eq!(shadowing(generator, import).as_deref(), Some(name), "{import}");
        }
        for (generator, import) in [
            (PythonPsycopg, "from decimal import Decimal"),
            (PythonPsycopg, "import datetime as dt"),
            (PythonPsycopg, "from pg.copy import Money"),
            (PythonPsycopg, "import app.copy"),
            (PythonPsycopg, "from app import copy as ours"),
            (TypescriptPg, "import { Pool as Queue } from \"./app.js\""),
            (GoPgx, "time"),
            (GoPgx, "encoding/json"),
            (GoPgx, "times \"app/time\""),
            (RustTokioPostgres, "std::string::String"),
            (RustTokioPostgres, "crate::Result as Ours"),
        ] {
            assert_eq!(shadowing(generator, import), None, "{import}");
        }
    }
}
