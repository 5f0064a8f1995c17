use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn ages(rows: usize, oldest_ms: u64, youngest_ms: u64) -> Ages {
    Ages { rows, oldest: Duration::from_millis(oldest_ms), youngest: Duration::from_millis(youngest_ms) }
}

fn flushed(recorder: &Recorder, reason: Reason, ages: &[Ages]) {
    let rows = ages.iter().map(|ages| ages.rows).sum();
    recorder.flushed(&Flushed { reason, rows, refused: 0, bytes: 10 * rows, ages });
}

/// A writer with something of everything.
fn busy() -> Statistics {
    let recorder = Recorder::default();
    flushed(&recorder, Reason::Idle, &[ages(1, 1, 1)]);
    flushed(&recorder, Reason::Rows, &[ages(64, 20, 12), ages(64, 12, 4)]);
    recorder.flushed(&Flushed {
        reason: Reason::Age,
        rows: 3,
        refused: 1,
        bytes: 30,
        ages: &[ages(3, 40_000, 2)],
    });
    recorder.refused(2);
    recorder.lost(5);
    recorder.retried();
    recorder.reconnected();
    recorder.found_out();
    recorder.decided(Decision { batch_rows: 640, connections: 2, queue_rows: 4_000 });
    recorder.queued(9, 90);
    recorder.snapshot(7, 70)
}

#[test]
fn every_row_and_flush_is_counted_once() {
    let statistics = busy();
    assert_eq!((statistics.rows_written, statistics.rows_refused, statistics.rows_lost), (132, 3, 5));
    assert_eq!(statistics.bytes_written, 1_320);
    assert_eq!(statistics.flushes, Flushes { idle: 1, rows: 1, age: 1, ..Flushes::default() });
    assert_eq!(statistics.flushes.total(), 3);
    assert_eq!(statistics.batch_rows.count(), 3);
    assert_eq!((statistics.batch_rows.sum(), statistics.batch_rows.max()), (132, 128));
    assert_eq!(statistics.latency_us.count(), 132, "as many latencies as rows");
    assert_eq!((statistics.queued_rows, statistics.queued_bytes), (7, 70));
    assert_eq!((statistics.peak_queued_rows, statistics.peak_queued_bytes), (9, 90));
    assert_eq!((statistics.retries, statistics.reconnections, statistics.ambiguous_commits), (1, 1, 1));
}

#[test]
fn percentiles_of_a_run_of_rows_are_those_of_its_rows() {
    let recorder = Recorder::default();
    // A row a millisecond, for ten minutes, acknowledged 64 at a time: ages from 1 to 64 ms, evenly.
    for _ in 0..10_000 {
        flushed(&recorder, Reason::Rows, &[ages(64, 64, 1)]);
    }
    let latency = recorder.snapshot(0, 0).latency();
    for (is, should) in [(latency.p50, 32.0), (latency.p90, 58.0), (latency.p99, 64.0), (latency.max, 64.0)] {
        let is = is.as_secs_f64() * 1e3;
        assert!((is - should).abs() < 64.0 / 8.0, "{is} for {should}: {latency:?}");
    }
    let mean = latency.mean.as_secs_f64() * 1e3;
    assert!((mean - 32.5).abs() < 0.1, "{mean}");
    assert_eq!(Statistics::default().latency(), Latency::default(), "no rows, no times");
}

#[test]
fn few_rows_are_not_rounded_away() {
    for rows in 1..20 {
        let recorder = Recorder::default();
        flushed(&recorder, Reason::Idle, &[ages(rows, 100, 10)]);
        let statistics = recorder.snapshot(0, 0);
        let latency = &statistics.latency_us;
        assert_eq!(latency.count(), rows as u64);
        assert!(
            (100_000..=101_000).contains(&latency.max()),
            "the oldest of {rows} counts: {}",
            latency.max()
        );
        if rows > 1 {
            let least = latency.quantile(0.0);
            assert!((9_900..=10_100).contains(&least), "the youngest of {rows} counts: {least}");
        }
    }
}

#[test]
fn times_beyond_all_reason_do_not_panic() {
    let recorder = Recorder::default();
    let ages = [Ages { rows: 9, oldest: Duration::MAX, youngest: Duration::ZERO }];
    flushed(&recorder, Reason::Close, &ages);
    assert_eq!(recorder.snapshot(0, 0).latency_us.count(), 9);
}

#[test]
fn a_person_can_read_them() {
    let text = busy().to_string();
    assert_eq!(text.lines().count(), 6, "{text}");
    assert!(text.starts_with("132 rows written (1320 bytes), 3 refused, 5 lost\n"), "{text}");
    assert!(
        text.contains("3 flushes (idle 1, rows 1, age 1) of 44.0 rows on average, 128 at most"),
        "{text}"
    );
    assert!(text.contains("now at most 640 rows a flush, 2 connections, 4000 rows unsettled"), "{text}");
    let empty = Statistics::default().to_string();
    assert!(empty.contains("0 flushes of 0.0 rows"), "{empty}");
}

/// One line of a page: name, labels, value.
fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let at = line.find(['{', ' ']).expect("a name ends");
    let (name, rest) = line.split_at(at);
    assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{line}");
    let mut labels = BTreeMap::new();
    let mut rest = rest.chars().peekable();
    if rest.next_if_eq(&'{').is_some() {
        while rest.next_if_eq(&'}').is_none() {
            let name: String = std::iter::from_fn(|| rest.next_if(|c| *c != '=')).collect();
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{line}");
            assert!(!name.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty(), "{line}");
            assert_eq!((rest.next(), rest.next()), (Some('='), Some('"')), "{line}");
            let mut value = String::new();
            loop {
                match rest.next().expect("a closing quote") {
                    '"' => break,
                    '\\' => value.push(match rest.next().expect("something escaped") {
                        'n' => '\n',
                        c @ ('"' | '\\') => c,
                        other => panic!("{other} is escaped in {line}"),
                    }),
                    c => value.push(c),
                }
            }
            assert!(labels.insert(name, value).is_none(), "a label twice: {line}");
            rest.next_if_eq(&',');
        }
    }
    assert_eq!(rest.next(), Some(' '), "{line}");
    (name.to_owned(), labels, rest.collect::<String>().parse().expect("a number"))
}

#[test]
fn prometheus_can_read_the_page() {
    let labels = [("table", "a\"b\\c\nd"), ("le", "mine"), ("0 odd-name", ""), ("table", "again")];
    for labels in [&labels[..], &[]] {
        let page = busy().prometheus(labels);
        assert!(page.ends_with('\n'));
        let (mut families, mut samples) = (BTreeMap::new(), BTreeSet::new());
        let mut helped = BTreeSet::new();
        for line in page.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                assert!(helped.insert(help.split(' ').next().unwrap().to_owned()), "{line}");
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert!(helped.contains(name), "{line}");
                assert!(families.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
                assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
            } else {
                let (name, with, value) = sample(line);
                let family = ["_bucket", "_sum", "_count"]
                    .iter()
                    .find_map(|end| name.strip_suffix(end).filter(|family| families.contains_key(*family)))
                    .unwrap_or(&name);
                assert!(families.contains_key(family), "a sample before its family: {line}");
                assert!(value >= 0.0);
                if !labels.is_empty() {
                    assert_eq!(with["table"], "a\"b\\c\nd");
                    assert_eq!((with["exported_le"].as_str(), with["_0_odd_name"].as_str()), ("mine", ""));
                }
                assert!(samples.insert((name, with)), "twice: {line}");
            }
        }
        assert!(samples.len() > 40, "{page}");
    }
}

#[test]
fn buckets_are_cumulative_and_end_with_all() {
    let page = busy().prometheus(&[]);
    for family in ["howdah_writer_latency_seconds", "howdah_writer_flush_rows"] {
        let samples: Vec<_> = page.lines().filter(|line| line.starts_with(family)).map(sample).collect();
        let of = |end: &'static str| {
            samples.iter().filter(move |(name, ..)| name.strip_prefix(family) == Some(end))
        };
        let buckets: Vec<(f64, f64)> =
            of("_bucket").map(|(_, l, count)| (l["le"].parse().unwrap(), *count)).collect();
        assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{family}: {buckets:?}");
        let (last, all) = buckets.last().unwrap();
        assert!(last.is_infinite());
        assert_eq!(Some(all), of("_count").map(|(.., count)| count).next());
        assert!(buckets[0].1 < *all, "not everything is in the first: {buckets:?}");
    }
    let value = |line: &str| sample(page.lines().find(|l| l.starts_with(line)).unwrap()).2;
    // 64 rows from 20 to 12 ms, 64 from 12 to 4 ms, one of 1 ms, three from 40 s to 2 ms.
    assert_eq!(value("howdah_writer_latency_seconds_bucket{le=\"0.002\"}"), 2.0);
    assert_eq!(value("howdah_writer_latency_seconds_bucket{le=\"30\"}"), 131.0);
    assert_eq!(value("howdah_writer_flush_rows_bucket{le=\"100\"}"), 2.0);
    assert_eq!(value("howdah_writer_rows_total{outcome=\"written\"}"), 132.0);
}
