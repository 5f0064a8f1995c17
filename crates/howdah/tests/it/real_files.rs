//! Real files that nobody here wrote: what lands in a new table is what psql's `\copy` stores in its twin. Skipped where
//! the files are not at hand.

use std::path::PathBuf;

use howdah::options::HeaderOption;
use howdah_testkit::{Database, real_data};

use crate::common::{load, options, try_load};
use crate::made_files::same_as_psql;

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let Some(data) = real_data() else { return Vec::new() };
    let entries = std::fs::read_dir(data.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == ending)).collect();
    found.sort();
    assert!(!found.is_empty(), "{folder} holds no .{ending} files");
    found
}

fn type_of(database: &Database, column: &str) -> String {
    database.sql(&format!(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'made'::regclass AND attname = '{column}'"
    ))
}

#[test]
fn files_with_a_header_load_as_psql_loads_them() {
    let database = Database::new();
    for path in files("vega", "csv").into_iter().chain(files("userdata", "csv")) {
        same_as_psql(&database, &path, &options(&path.to_string_lossy(), "made"), "HEADER");
        if path.ends_with("zipcodes.csv") {
            assert_eq!(type_of(&database, "zip_code"), "text");
            assert_eq!(
                database
                    .sql("SELECT min(zip_code), count(*) FILTER (WHERE zip_code LIKE '0%') > 0 FROM made"),
                "00501|t"
            );
        }
    }
}

#[test]
fn openflights_loads_as_psql_loads_it() {
    let database = Database::new();
    for path in files("openflights", "dat") {
        database.sql("DROP TABLE IF EXISTS made");
        let mut wanted = options(&path.to_string_lossy(), "made").header(HeaderOption::No);
        wanted.input.dialect.null = Some("\\N".into());
        wanted.input.dialect.escape = Some(b'\\');
        if let Err(error) = try_load(&database, &wanted) {
            println!("{}: {error:?}", path.display());
            // What we refuse, psql must refuse too, on the same line.
            let fields =
                std::fs::read_to_string(&path).unwrap().lines().next().unwrap_or_default().split(',').count();
            let columns: Vec<String> = (1..=fields).map(|n| format!("c{n} text")).collect();
            database.sql(&format!("DROP TABLE IF EXISTS twin; CREATE TABLE twin ({})", columns.join(", ")));
            let command =
                format!(r"\copy twin FROM '{}' (FORMAT csv, NULL '\N', ESCAPE '\')", path.display());
            let refusal = database.try_sql(&command).unwrap_err();
            let line = error.location().and_then(|at| at.line).unwrap();
            println!("{}: {error}", path.display());
            assert!(refusal.contains(&format!("line {line}")), "{error:?} but psql: {refusal}");
            continue;
        }
        same_as_psql(&database, &path, &wanted, r"NULL '\N', ESCAPE '\'");
    }
}

#[test]
fn the_csv_spectrum_gives_its_json() {
    let database = Database::new();
    for path in files("csv-spectrum/csvs", "csv") {
        database.sql("DROP TABLE IF EXISTS made");
        let wanted = options(&path.to_string_lossy(), "made").header(HeaderOption::Yes);
        load(&database, &wanted);
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let json = path.parent().unwrap().parent().unwrap().join("json").join(format!("{stem}.json"));
        let expected: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
        // Every value as text; COPY's NULL is the suite's empty string.
        let found = database.sql(
            "SELECT coalesce(json_agg(o), '[]') FROM (SELECT (SELECT json_object_agg(key, coalesce(value, '')) FROM json_each_text(row_to_json(made))) AS o FROM made) rows",
        );
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        assert_eq!(as_text(&found), as_text(&expected), "{stem}");
    }
}

/// Rows as sorted lists of (column, text): numbers and nested JSON compare by what was written.
fn as_text(rows: &serde_json::Value) -> Vec<Vec<(String, String)>> {
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let squeezed = |value: &serde_json::Value| text(value).replace([' ', '\r'], "");
    let rows = rows.as_array().unwrap().iter().map(|row| {
        let mut fields: Vec<_> =
            row.as_object().unwrap().iter().map(|(k, v)| (k.clone(), squeezed(v))).collect();
        fields.sort();
        fields
    });
    rows.collect()
}
