//! What `compare` calls a change: nothing that the runs' own spread explains, everything else.

use howdah_bench::compare::{Comparison, Verdict, compare};
use howdah_bench::record::{Outcome, Record};

use crate::example;

/// Runs of one method at these rates.
fn runs(rates: &[f64]) -> Vec<Record> {
    let of = |(repetition, rate): (u32, &f64)| Record {
        repetition,
        ..example::run("scale", "copy", "copy-text", Some(1000.0), 1000, *rate)
    };
    (1..).zip(rates).map(of).collect()
}

fn only(comparison: &Comparison) -> Verdict {
    assert_eq!(comparison.cells.len(), 1, "{comparison:?}");
    comparison.cells[0].verdict
}

#[test]
fn noise_is_not_reported_as_a_change() {
    let before = runs(&[100.0, 104.0, 96.0]);
    for (after, expected) in [
        ([100.0, 104.0, 96.0], Verdict::Same),
        // 7 % apart, but so are the runs of one side.
        ([107.0, 111.0, 103.0], Verdict::Same),
        // Far apart, but one side is anywhere.
        ([150.0, 250.0, 60.0], Verdict::Same),
        ([120.0, 122.0, 118.0], Verdict::Faster),
        ([80.0, 82.0, 78.0], Verdict::Slower),
    ] {
        assert_eq!(only(&compare(&before, &runs(&after))), expected, "{after:?}");
    }
    // Steady, but too little for anybody to notice.
    let steady = compare(&runs(&[100.0, 100.1, 99.9]), &runs(&[96.0, 96.1, 95.9]));
    assert_eq!(only(&steady), Verdict::Same);
}

#[test]
fn a_regression_is_told_from_everything_else() {
    let before = runs(&[100.0, 101.0, 99.0]);
    let slower = compare(&before, &runs(&[50.0, 51.0, 49.0]));
    assert!(slower.has_regression());
    let text = slower.markdown();
    assert!(text.contains("slower: 1."), "{text}");
    assert!(text.contains("scale / copy / copy-text at 1,000 | 100 (99 to 101)"), "{text}");
    assert!(text.contains("−50 %"), "{text}");
    for after in [runs(&[100.0, 101.0, 99.0]), runs(&[200.0, 201.0, 199.0]), runs(&[50.0, 51.0]), Vec::new()]
    {
        assert!(!compare(&before, &after).has_regression(), "{after:?}");
    }
}

#[test]
fn a_method_that_stores_the_wrong_rows_now_is_broken_however_fast() {
    let before = runs(&[100.0, 101.0, 99.0]);
    for outcome in [Outcome::Wrong, Outcome::Failed] {
        let mut after = runs(&[900.0, 901.0, 899.0]);
        after[1].outcome = outcome;
        after[1].reason = Some("3 rows | differ".to_owned());
        let broken = compare(&before, &after);
        assert_eq!(only(&broken), Verdict::Broken);
        assert!(broken.has_regression());
        assert!(broken.markdown().contains("3 rows \\| differ"));
        assert_eq!(only(&compare(&after, &before)), Verdict::Repaired);
    }
}

#[test]
fn a_missing_toolchain_is_no_regression() {
    let before = runs(&[100.0, 101.0, 99.0]);
    let mut after = runs(&[100.0]);
    after[0].outcome = Outcome::Skipped;
    after[0].reason = Some("go is not installed".to_owned());
    let comparison = compare(&before, &after);
    assert_eq!(only(&comparison), Verdict::OnlyBefore);
    assert!(!comparison.has_regression());
    assert!(comparison.markdown().contains("go is not installed"));
    assert_eq!(only(&compare(&after, &before)), Verdict::OnlyAfter);
}

#[test]
fn what_was_not_done_alike_is_not_compared() {
    let before = runs(&[100.0, 101.0, 99.0]);
    let mut after = runs(&[10.0, 10.1, 9.9]);
    for record in &mut after {
        record.conditions.settings.insert("fsync".to_owned(), "off".to_owned());
        record.conditions.version = Some("2.0".to_owned());
    }
    let comparison = compare(&before, &after);
    assert_eq!(only(&comparison), Verdict::Otherwise);
    assert!(comparison.markdown().contains("settings"));
    // A new version is what people compare.
    for record in &mut after {
        record.conditions.settings.clear();
    }
    assert_eq!(only(&compare(&before, &after)), Verdict::Slower);
}

#[test]
fn nothing_against_nothing_says_so() {
    let comparison = compare(&[], &[]);
    assert!(!comparison.has_regression());
    assert!(comparison.markdown().contains("nothing to compare"));
}
