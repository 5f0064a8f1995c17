//! Bytes that are not text: none reaches the server, and none takes its neighbours along.

use std::collections::BTreeSet;

use howdah_testkit::Database;

use super::judge::{Sample, judge};
use super::{dice, everything, share};

/// One of every kind of byte that UTF-8 knows, and the edges between the kinds.
const KINDS: [u8; 30] = [
    0x00, 0x01, 0x41, 0x7F, 0x80, 0x81, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1,
    0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFE, 0xFF,
];

/// Records of a number and a sequence of bytes; those are rejected that are not text.
fn expect_text_alone(database: &Database, sequences: &[Vec<u8>]) {
    let mut bytes = Vec::new();
    let mut bad = BTreeSet::new();
    for (n, sequence) in sequences.iter().enumerate() {
        if sequence.iter().any(|byte| b",\"\r\n".contains(byte)) {
            continue;
        }
        if std::str::from_utf8(sequence).is_err() || sequence.contains(&0) {
            bad.insert(n);
        }
        bytes.extend_from_slice(format!("{n},").as_bytes());
        bytes.extend_from_slice(sequence);
        bytes.push(b'\n');
    }
    let verdict = judge(database, &Sample { jobs: 2, ..Sample::csv("n int, t text", &bytes) });
    let verdict = verdict.unwrap_or_else(|what| panic!("{what}"));
    let number = |raw: &[u8]| {
        let digits: Vec<u8> = raw.iter().copied().take_while(u8::is_ascii_digit).collect();
        String::from_utf8(digits).unwrap().parse::<usize>().unwrap()
    };
    assert!(
        verdict
            .rejects
            .iter()
            .all(|reject| reject.sqlstate == "22021" && reject.column.as_deref() == Some("t"))
    );
    let rejected: BTreeSet<usize> = verdict.rejects.iter().map(|reject| number(&reject.raw)).collect();
    assert_eq!(rejected, bad);
}

#[test]
fn every_sequence_of_bytes_is_text_or_is_rejected() {
    let database = Database::new();
    let mut sequences: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let two = (0..=255_u8).flat_map(|first| (0..=255).map(move |second| vec![first, second]));
    let stride = share(1, 37);
    sequences.extend(two.step_by(stride));
    let longer = |sequences: &[Vec<u8>]| -> Vec<Vec<u8>> {
        sequences.iter().flat_map(|s| KINDS.map(|byte| [&s[..], &[byte]].concat())).collect()
    };
    let three = longer(&longer(&KINDS.map(|byte| vec![byte])));
    if everything() {
        for fours in longer(&three).chunks(20_000) {
            expect_text_alone(&database, fours);
        }
    }
    sequences.extend(three.into_iter().step_by(stride));
    expect_text_alone(&database, &sequences);
}

#[test]
fn a_sequence_that_two_pieces_of_the_input_share_is_judged_as_a_whole() {
    const PIECE: usize = 512 * 1024;
    let database = Database::new();
    let mut dice = dice("encodings at edges");
    for _ in 0..share(200, 3) {
        let sequence: Vec<u8> = (0..1 + dice.below(4)).map(|_| *dice.pick(&KINDS)).collect();
        let mut bytes = "7,some text\n".repeat(PIECE / 12).into_bytes();
        bytes.truncate(PIECE - dice.below(6));
        bytes.extend_from_slice(&sequence);
        bytes.extend_from_slice(b"\n8,behind\n");
        judge(&database, &Sample { jobs: 2, ..Sample::csv("n int, t text", &bytes) })
            .unwrap_or_else(|what| panic!("{sequence:02x?}: {what}"));
    }
}
