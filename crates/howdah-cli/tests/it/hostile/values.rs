//! Values that look like SQL, formulas, HTML or commands to a terminal: stored as they are, and harmless in what is said.

use howdah_testkit::Database;

use super::judge::{Sample, judge};
use super::{dice, share};

const PIECES: [&str; 30] = [
    "'; DROP TABLE canary; --",
    "\" OR 1=1",
    "$1",
    "%s%n",
    "{}",
    "${HOME}",
    "`id`",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2",
    "@SUM(A1)",
    "<script>alert(1)</script>",
    "&lt;",
    "\u{1b}[2J\u{1b}[31m",
    "\u{7}",
    "\u{8}\u{8}",
    "\u{9b}31m",
    "\u{202e}txt.exe",
    "\u{200b}",
    "\u{feff}",
    "\u{0301}",
    "ﷺ",
    "ＮＵＬＬ",
    "NULL",
    "\\N",
    "\\.",
    "\\x41",
    "\r",
    "\n",
    "E'\\''",
];

#[test]
fn what_looks_like_a_command_is_only_a_value() {
    let database = Database::new();
    database.sql("CREATE TABLE canary (n int); INSERT INTO canary VALUES (1)");
    let mut dice = dice("values");
    let mut good = Vec::new();
    for n in 0..share(1_000, 200) {
        let value: String = (0..1 + dice.below(3)).map(|_| *dice.pick(&PIECES)).collect();
        let line = format!("{n},\"{}\"\n", value.replace('"', "\"\""));
        good.extend_from_slice(line.as_bytes());
        if n % 20 == 0 {
            // In a column where it is no value it is spoken of; what is said is looked at in every run.
            let bad = format!("\"{}\",x\n", value.replace('"', "\"\""));
            judge(&database, &Sample::csv("n int, t text", bad.as_bytes()))
                .unwrap_or_else(|what| panic!("{value:?}: {what}"));
        }
    }
    let verdict = judge(&database, &Sample { jobs: 2, ..Sample::csv("n int, t text", &good) });
    assert!(verdict.unwrap_or_else(|what| panic!("{what}")).rejects.is_empty());
    assert_eq!(database.sql("TABLE canary"), "1");
}
