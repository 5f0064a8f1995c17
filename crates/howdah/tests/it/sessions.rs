//! What a literal means is the session's affair: settings of the role and the database give the same bytes as psql's `\copy`
//! under the same role, whoever reads the literal: a codec, the resolver, or the server from text rows.

use howdah::options::{HeaderOption, OnError, WritePath};
use howdah_testkit::Database;

use crate::common::{load, options};

const COLUMNS: &str = "n int, tz timestamptz, ts timestamp(0), d date, i interval, t timetz, b bytea, s text";

/// Times before, in and after the hours that daylight saving skips and repeats, in several spellings.
const TIMES: [&str; 12] = [
    "2024-03-31 01:59:59",
    "2024-03-31 02:30:00",
    "2024-10-27 02:30:00",
    "2024-10-27 01:30:00 America/New_York",
    "2024-03-10 02:30:00",
    "2024-11-03 01:30:00.5",
    "1880-01-01 00:00:00",
    "2024-07-01 12:00:00 CEST",
    "2024-07-01T12:00:00+05:45",
    "03/04/2005 06:07:08",
    "4.3.2005",
    "infinity",
];
const INTERVALS: [&str; 6] =
    ["-1 2:03:04", "-1 day +2 hours", "P-1Y2M", "1-2 -3 4:05:06", "@ 3 mons ago", "-1.5 hours"];
const BYTES: [&str; 4] = ["\\x00ff", "\\000\\377", "a\\\\b", "plain"];

/// `rows` records in which every literal comes up; `share` of a hundred are in forms that codecs read.
fn records(rows: usize, share: usize) -> String {
    let mut csv = String::new();
    for n in 0..rows {
        let odd = n % 100 >= share;
        let pick = |list: &[&str]| list[(n / 7 + n) % list.len()].to_owned();
        let (time, interval) = match odd {
            true => (pick(&TIMES), pick(&INTERVALS)),
            false => {
                (format!("2024-06-{:02} 10:{:02}:00+00", n % 28 + 1, n % 60), format!("{} days", n % 50))
            }
        };
        let date = if odd { "01/02/2003" } else { "2003-02-01" };
        let timetz = if odd { "12:00 Europe/Berlin" } else { "12:00:00+02" };
        // A time with a zone's name needs a date to know the offset.
        let timetz = if odd { format!("2024-07-01 {timetz}") } else { timetz.to_owned() };
        csv.push_str(&format!(
            "{n},{time},{time},{date},{interval},{timetz},{},it's \\n {n}\n",
            pick(&BYTES)
        ));
    }
    csv
}

#[test]
fn settings_of_role_and_database_mean_the_same_to_us_as_to_psql() {
    let database = Database::new();
    database.sql(&format!("CREATE TABLE by_us ({COLUMNS}); CREATE TABLE by_psql ({COLUMNS})"));
    let settings = [
        ("Europe/Berlin", "ISO, DMY", "postgres", "hex", "on"),
        ("America/New_York", "SQL, MDY", "sql_standard", "escape", "off"),
        ("Australia/Lord_Howe", "German", "iso_8601", "hex", "off"),
        ("Asia/Kathmandu", "Postgres, DMY", "postgres_verbose", "escape", "on"),
        ("-03:30", "ISO, YMD", "sql_standard", "hex", "on"),
    ];
    for (at, (zone, date, interval, bytea, strings)) in settings.into_iter().enumerate() {
        // By turns of the database and of the role in it.
        let whose = if at % 2 == 0 { "DATABASE %1$I" } else { "ROLE %2$I IN DATABASE %1$I" };
        for (name, value) in [
            ("timezone", zone),
            ("datestyle", date),
            ("intervalstyle", interval),
            ("bytea_output", bytea),
            ("standard_conforming_strings", strings),
        ] {
            database.sql(&format!(
                "SELECT format('ALTER {whose} SET {name} = %3$L', current_database(), current_user, '{value}') \\gexec"
            ));
        }
        for share in [0, 60, 100] {
            let file = database.file("data.csv", records(2_000, share));
            // YMD refuses 01/02/2003: such records are not for this setting.
            let file = if date == "ISO, YMD" {
                let kept = std::fs::read_to_string(&file).unwrap().replace("01/02/2003", "2003-02-01");
                let kept: Vec<&str> =
                    kept.lines().filter(|l| !l.contains("03/04/") && !l.contains("4.3.2005")).collect();
                database.file("data.csv", kept.join("\n") + "\n")
            } else {
                file
            };
            database.sql(&format!(r"TRUNCATE by_psql; \copy by_psql FROM '{file}' (FORMAT csv)"));
            let expected = database.binary_rows("by_psql");
            for (on_error, write_path, jobs) in [
                (OnError::Stop, WritePath::CopyBinary, 1),
                (OnError::Ignore, WritePath::CopyBinary, 2),
                (OnError::Ignore, WritePath::CopyText, 1),
            ] {
                database.sql("TRUNCATE by_us");
                let report = load(
                    &database,
                    &options(&file, "by_us")
                        .header(HeaderOption::No)
                        .jobs(jobs)
                        .on_error(on_error)
                        .write_path(write_path)
                        .rejects(database.path("rejects.jsonl")),
                );
                assert_eq!(report.rows_rejected, 0, "{zone} {date}");
                assert!(
                    database.binary_rows("by_us") == expected,
                    "{zone}, {date}, {interval}, {share} %, {on_error:?}, {write_path:?}"
                );
            }
        }
    }
}
