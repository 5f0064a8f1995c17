//! What stands at the edge of a piece of the input: the edge moves over every byte of it, and nothing changes.

use howdah_testkit::Database;

use super::judge::{Sample, judge};
use super::reference::{Dialect, Grammar};
use super::share;

/// Bytes of input that the command takes at a time.
const PIECE: usize = 512 * 1024;

/// Records that a cut in the wrong place breaks; some are bad.
fn records(dialect: &Dialect, line_end: &str) -> String {
    match dialect.format {
        Grammar::Csv => format!(
            "1,\"a{line_end}b\"{line_end}2,\"\"\"{line_end}\"\"\"{line_end}x,bad{line_end}3,\"\"{line_end}4,{line_end}{line_end}5,\"é\"\"🐘\"{line_end}6,too,many{line_end}7,\\.{line_end}"
        ),
        Grammar::Text => format!(
            "1\ta\\{line_end}b{line_end}2\t\\\\{line_end}x\tbad{line_end}3\t\\N{line_end}4\t\\t\\n{line_end}{line_end}5\té\\🐘{line_end}6\ttoo\tmany{line_end}"
        ),
    }
}

#[test]
fn the_edge_of_a_piece_may_lie_anywhere() {
    let database = Database::new();
    for dialect in [Dialect::csv(), Dialect::text()] {
        for line_end in ["\n", "\r\n", "\r"] {
            let hostile = records(&dialect, line_end);
            let delimiter = char::from(dialect.delimiter);
            let filler = format!("0{delimiter}f{line_end}");
            for before in (0..=hostile.len()).step_by(share(1, 61)) {
                // The filler has no record of one byte; one longer record makes up the difference.
                let wanted = PIECE - before;
                let long = format!("0{delimiter}{}{line_end}", "f".repeat(1 + wanted % filler.len()));
                let mut bytes = filler.repeat((wanted - long.len()) / filler.len()).into_bytes();
                bytes.extend_from_slice(long.as_bytes());
                while bytes.len() < wanted {
                    bytes.splice(2..2, *b"f");
                }
                bytes.extend_from_slice(hostile.as_bytes());
                bytes.extend_from_slice(filler.as_bytes());
                let sample = Sample {
                    dialect: dialect.clone(),
                    jobs: 2,
                    ..Sample::csv("n int NOT NULL, t text", &bytes)
                };
                judge(&database, &sample)
                    .unwrap_or_else(|what| panic!("{before} bytes before the edge, {line_end:?}: {what}"));
            }
        }
    }
}
