//! The copy that shows how a table's indexes grow.

use super::measuring::measured_with;
use super::{looked, server};

/// Rows of each piece, where so many rows are said to come and there is time for the whole table.
fn pieces(table: &str, come: &str) -> Vec<u64> {
    let room = ["--measure", "--allow-busy", "--seconds", "12", "--bytes", "2GiB"];
    let report = looked(&server().conninfo(), &[&room[..], &["--table", table, "--rows", come]].concat());
    let pieces = report["trials"]["table"]["growth"]["pieces"].as_array();
    let pieces = pieces.unwrap_or_else(|| panic!("{:#}", report["trials"]["not_measured"]));
    pieces.iter().map(|piece| piece["rows"].as_u64().unwrap()).collect()
}

#[test]
fn rows_come_as_densely_as_a_load_sorts_them() {
    server().sql(
        "CREATE SCHEMA dense; SET search_path = dense; CREATE TABLE scattered (id int, note text);
         INSERT INTO scattered SELECT n, md5(n::text) FROM generate_series(1, 20000) n;
         CREATE TABLE ordered AS SELECT * FROM scattered;
         CREATE INDEX ON scattered (note); CREATE INDEX ON ordered (id); ANALYZE scattered, ordered",
    );
    // A load of few rows sorts as many as the table holds: each piece is as large as all before it.
    let few = pieces("dense.scattered", "1");
    assert_eq!(few[0], few[1]);
    assert!(few.last().unwrap() > &(few[0] * 3), "{few:?}");
    // Among many rows those of a part are far between; and what comes in order is not sorted.
    for (table, come) in [("dense.scattered", "1000000000"), ("dense.ordered", "1")] {
        let alike = pieces(table, come);
        // The last pages may be empty, and the last of the others half full.
        let all_but_last = &alike[..alike.len() - 1];
        assert!(all_but_last.iter().all(|rows| *rows == alike[0]), "{table}: {alike:?}");
        // All of the table goes into the copy.
        assert!((15_000..=20_000).contains(&alike.iter().sum::<u64>()), "{table}: {alike:?}");
    }
}

#[test]
fn where_no_copy_grows_that_is_said() {
    server().sql(
        "CREATE SCHEMA ungrown; SET search_path = ungrown; CREATE TABLE t (id int PRIMARY KEY, note text) PARTITION BY RANGE (id);
         CREATE TABLE all_of_it PARTITION OF t DEFAULT; INSERT INTO t SELECT n, md5(n::text) FROM generate_series(1, 5000) n; ANALYZE t",
    );
    let report = measured_with(&server().conninfo(), &["--table", "ungrown.t", "--rows", "1000000"]);
    let left_out = report["trials"]["not_measured"].as_array().unwrap();
    let growth = left_out.iter().find(|it| it["what"] == "how a table's growth slows rows down");
    assert_eq!(growth.unwrap()["why"], "the table has no pages of its own", "{left_out:?}");
    assert_eq!(report["prediction"]["without"], serde_json::json!(["the growth of indexes"]));
}
