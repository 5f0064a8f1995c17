//! What would make a benchmark incomparable: other bytes, another order of columns, parts that do not add up.

use std::io::{self, Write};

use super::copy_binary::{HEADER, TRAILER};
use super::{Dataset, Generator, Part};

/// A hash that needs no dependency: FNV-1a, 64 bits.
struct Hasher(u64, u64);

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.1 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hashed(write: impl FnOnce(&mut Hasher) -> io::Result<u64>) -> (u64, u64) {
    let mut hasher = Hasher(0xcbf2_9ce4_8422_2325, 0);
    let said = write(&mut hasher).unwrap();
    assert_eq!(said, hasher.1, "the number of bytes returned is the number written");
    (hasher.0, hasher.1)
}

fn csv(dataset: Dataset, rows: u64, seed: u64) -> String {
    let mut out = Vec::new();
    dataset.generator(rows, seed).write_csv(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn binary(generator: Generator, part: Part) -> Vec<u8> {
    let mut out = Vec::new();
    generator.write_binary(part, &mut out).unwrap();
    out
}

/// Tame and hostile.
fn generators(rows: u64) -> impl Iterator<Item = Generator> {
    let both = move |dataset: Dataset| {
        [false, true].map(|hostile| Generator { hostile, ..dataset.generator(rows, 42) })
    };
    Dataset::ALL.into_iter().flat_map(both)
}

#[test]
fn a_published_figure_does_not_silently_change_its_data() {
    // A change of these numbers makes every earlier measurement incomparable: say so in the changelog.
    let pinned = [
        (Dataset::GithubEvents, (0x1590_b6fc_6485_5798, 2_591_893), (0x136e_e95a_df10_3561, 2_559_923)),
        (Dataset::SensorReadings, (0x644d_0b22_18ca_fdea, 1_380_758), (0x004e_06a2_d455_c9e7, 1_370_016)),
        (Dataset::Instest, (0xe30d_9c56_c539_5f27, 97_797), (0x8f1d_7112_f10c_8275, 218_915)),
        (Dataset::Readings, (0x5625_251e_0da9_6d61, 612_487), (0xd132_352b_34a4_df4b, 1_051_893)),
        (Dataset::TaggedReadings, (0x1327_c75c_ad3c_0519, 2_525_493), (0xb632_b016_5649_30b2, 2_725_227)),
        (Dataset::Tasks, (0x6c1d_b0d1_10b3_9cde, 7_637_678), (0x1574_f687_37ed_4c46, 7_307_678)),
    ];
    let hostile = Generator { hostile: true, ..Dataset::SensorReadings.generator(10_000, 42) };
    assert_eq!(hashed(|out| hostile.write_csv(out)), (0xcb6e_2d59_2cef_979f, 1_985_595));
    for (dataset, csv, binary) in pinned {
        assert_eq!(hashed(|out| dataset.generator(10_000, 42).write_csv(out)), csv, "{dataset:?} CSV");
        assert_eq!(
            hashed(|out| dataset.generator(10_000, 42).write_binary(Part::WHOLE, out)),
            binary,
            "{dataset:?} binary"
        );
    }
}

#[test]
fn columns_do_not_move() {
    assert_eq!(
        csv(Dataset::GithubEvents, 0, 1),
        "event_id,event_type,actor_id,actor_login,repo_id,repo_name,created_at,is_public,payload\n"
    );
    assert_eq!(
        csv(Dataset::Readings, 0, 1),
        "time,tags_id,latitude,longitude,elevation,velocity,heading,grade,fuel_consumption\n"
    );
    assert_eq!(
        Dataset::GithubEvents.all_text_table_sql("raw"),
        "CREATE TABLE raw (event_id text NOT NULL, event_type text NOT NULL, actor_id text, actor_login text, \
         repo_id text, repo_name text, created_at text NOT NULL, is_public text NOT NULL, payload text NOT NULL)"
    );
    assert!(
        Dataset::Readings
            .create_table_sql("r")
            .starts_with("CREATE TABLE r (time timestamptz, tags_id integer, ")
    );
}

#[test]
fn tags_do_not_change_the_readings_before_them() {
    let (plain, tagged) = (csv(Dataset::Readings, 2_000, 42), csv(Dataset::TaggedReadings, 2_000, 42));
    let mut shorter = 0;
    for (plain, tagged) in plain.lines().zip(tagged.lines()).skip(1) {
        let tags = tagged.strip_prefix(plain).and_then(|rest| rest.strip_prefix(",\"{")).unwrap();
        let truck = plain.split(',').nth(1).unwrap().parse::<u32>().unwrap();
        let name = format!("\"\"truck_{}\"\"", (truck - 1) % 150);
        assert!(!tags.contains("truck_") || tags.contains(&name), "{tags}");
        assert_eq!(tags.matches(':').count() == 7, truck > 150, "{tagged}");
        shorter += usize::from(truck > 150);
    }
    assert!((5..50).contains(&shorter), "one entry in a hundred lacks a tag: {shorter} of 2,000");
}

#[test]
fn a_name_finds_its_data_set() {
    for dataset in Dataset::ALL {
        assert_eq!(Dataset::from_name(dataset.name()), Some(dataset));
    }
    assert_eq!(Dataset::from_name("nothing"), None);
}

#[test]
fn rows_do_not_depend_on_how_many_are_asked_for() {
    for dataset in Dataset::ALL {
        assert!(csv(dataset, 5_000, 7).starts_with(&csv(dataset, 1_000, 7)));
        // Study 3 inserts 1, 2, 3 …: there is nothing to rng.
        let drawn = dataset != Dataset::Instest;
        assert_eq!(csv(dataset, 10, 7) != csv(dataset, 10, 8), drawn, "{dataset:?}: the seed counts");
    }
}

#[test]
fn parts_put_together_are_the_whole() {
    for generator in generators(1_000) {
        for of in [1, 2, 3, 7] {
            let whole = binary(generator, Part::WHOLE);
            let mut together = HEADER.to_vec();
            for index in 0..of {
                let part = binary(generator, Part { index, of });
                together.extend_from_slice(&part[HEADER.len()..part.len() - TRAILER.len()]);
            }
            together.extend_from_slice(TRAILER);
            assert!(together == whole, "{generator:?} in {of} parts");
        }
    }
}

#[test]
fn hostile_rows_hold_every_hazard() {
    let mut out = Vec::new();
    Generator { hostile: true, ..Dataset::GithubEvents.generator(5_000, 42) }.write_csv(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for hazard in [
        ",,",
        ",\"\",",
        "\"\"\"\"",
        ",\"\\N\",",
        "\"\\.\"",
        ",NULL,",
        "\r\nreturn",
        "line\nsecond",
        "a,b;c|d\te",
        "🐘",
        "\\table\\\"",
        ", ,",
        "long text, long text",
        "-9223372036854775808",
        "9999-12-31T23:59:59.999999Z",
    ] {
        assert!(text.contains(hazard), "{hazard:?}");
    }
    // The long texts hold quotes, so that they are longer still in the file.
    assert!(text.lines().any(|line| line.contains("long \"\"text\"\",")));
    assert!(text.len() > 5_000 * 400, "long values: {} bytes", text.len());
}

#[test]
fn readings_are_late_and_have_gaps_as_in_the_field() {
    let text = csv(Dataset::Readings, 50_000, 42);
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == 9 && !row[0].is_empty() && !row[1].is_empty()));
    let share = |count: usize| count as f64 / rows.len() as f64;
    let with_gap = share(rows.iter().filter(|row| row.contains(&"")).count());
    assert!((0.09..0.11).contains(&with_gap), "one row in ten has a NULL: {with_gap}");
    let truck = |row: &Vec<&str>| row[1].parse::<u32>().unwrap();
    let emptied = share(rows.iter().filter(|row| truck(row) > 150).count());
    assert!((0.007..0.013).contains(&emptied), "one row in a hundred has an emptied tag: {emptied}");
    let place = |row: &Vec<&str>| (row[0].to_owned(), (truck(row) - 1) % 150);
    let overtaken = share(rows.windows(2).filter(|pair| place(&pair[1]) < place(&pair[0])).count());
    assert!((0.11..0.16).contains(&overtaken), "rows behind a later one: {overtaken}");
    let mut places: Vec<_> = rows.iter().map(place).collect();
    places.sort();
    places.dedup();
    assert_eq!(places.len(), rows.len(), "a late row arrives once");
    // Of ten entries one is lost and three are late, which brings them in the same danger again; so 6 / 7 arrive.
    places.dedup_by(|a, b| a.0 == b.0);
    let arrived = share(places.len() * 150).recip();
    assert!((0.83..0.87).contains(&arrived), "entries that arrive: {arrived}");
    let mean = text.len() / rows.len();
    assert!((50..70).contains(&mean), "{mean} bytes a row");
}

#[test]
fn events_are_as_long_and_as_quoted_as_in_the_field() {
    let text = csv(Dataset::GithubEvents, 20_000, 42);
    let mean = text.len() / 20_000;
    assert!((235..265).contains(&mean), "{mean} bytes a row");
    for line in text.lines().skip(1) {
        let (_, payload) = line.split_once(",true,\"").unwrap();
        assert_eq!(line.splitn(9, ',').count(), 9);
        assert!(payload.starts_with('{') && payload.ends_with("}\""));
        let unquoted = payload[..payload.len() - 1].replace("\"\"", "\u{1}");
        assert!(!unquoted.contains('"'), "every quote inside is doubled: {line}");
    }
}
