//! Files of other writers: what is read, and what is refused for which reason.

use std::path::{Path, PathBuf};

use super::*;

/// A file or directory of the test data, if this checkout has them.
fn data(name: &str) -> Option<PathBuf> {
    Some(howdah_testkit::real_data()?.join(name))
}

/// Files that cannot be read, and a part of the reason. Encrypted ones stand for themselves.
const REFUSED: [(&str, &str); 5] = [
    // A page each that was changed after its checksum was taken.
    ("datapage_v1-corrupt-checksum.parquet", "row group 0: column a: Page CRC checksum mismatch"),
    (
        "rle-dict-uncompressed-corrupt-checksum.parquet",
        "row group 0: column long_field: Page CRC checksum mismatch",
    ),
    // Its footer has a list of another type than the format says.
    ("dict-page-offset-zero.parquet", "Expected list element type"),
    // Two texts of 1 GiB, which PostgreSQL could not store.
    ("large_string_map.brotli.parquet", "column arr.key_value.key: a page claims 1073741828 bytes"),
    // A dictionary page of no bytes where the footer says that one stands.
    ("nation.dict-malformed.parquet", "Invalid page header"),
];

fn rows_of(path: &Path, format: BatchFormat) -> Result<usize, Error> {
    let inputs = Input::resolve(&[path.into()], &Progress::new())?;
    let batches = open(&inputs, format)?;
    let taken = take(&batches, 2)?;
    let rows: usize = taken.iter().map(|batch| batch.rows.num_rows()).sum();
    assert_eq!(batches.rows().map_or(rows as u64, |rows| rows), rows as u64, "{}", path.display());
    Ok(rows)
}

#[test]
fn parquet_files_of_all_writers_are_read_or_refused_with_a_reason() {
    let Some(data) = data("parquet-testing/data") else { return };
    let mut found: Vec<(String, String)> = Vec::new();
    let (mut read, mut encrypted) = (0, 0);
    for directory in [data.clone(), data.join("geospatial"), data.join("aes256")] {
        let mut paths: Vec<_> =
            std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.ends_with(".parquet") && !name.ends_with(".encrypted") {
                continue;
            }
            match rows_of(&path, BatchFormat::Parquet) {
                Ok(_) => read += 1,
                Err(error) if name.ends_with(".encrypted") => {
                    assert!(error.to_string().ends_with(": it is encrypted"), "{error}");
                    encrypted += 1;
                }
                Err(error) => found.push((name, error.to_string())),
            }
        }
    }
    for (name, reason) in &found {
        println!("{name}: {reason}");
    }
    println!("{read} files were read, {encrypted} are encrypted");
    for (name, reason) in &found {
        let expected = REFUSED.iter().find(|(refused, _)| refused == name);
        assert!(expected.is_some_and(|(_, part)| reason.contains(part)), "{name}: {reason}");
    }
    assert_eq!(found.len(), REFUSED.len(), "a file is read that was refused");
    assert_eq!((read, encrypted), (70, 13));
}

#[test]
fn an_arrow_file_of_javascript_is_read() {
    let Some(path) = data("vega/flights-200k.arrow") else { return };
    assert_eq!(rows_of(&path, BatchFormat::Arrow).unwrap(), 200_000);
}
