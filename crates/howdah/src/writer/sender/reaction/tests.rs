//! The table of cases: each answer, under each doubt that changes what is done about it.

use super::*;

fn failed(says: ErrorMeaning, sqlstate: &str) -> FailedAttempt<'_> {
    let may_pass = ["40001", "40P01", "53300", "57014", "25006", "55P03"].contains(&sqlstate);
    FailedAttempt::Failed { says, sqlstate, may_pass }
}

fn again() -> Uncertainty {
    Uncertainty { again: true, ..Uncertainty::default() }
}

fn give_up(session: SessionAfter, suspects_pooler: bool) -> Reaction {
    Reaction::GiveUp { session, suspects_pooler }
}

fn try_again(session: SessionAfter, ends_abandoned: bool, blame: Blame) -> Reaction {
    Reaction::TryAgain(Retry { session, ends_abandoned, blame })
}

#[test]
fn each_answer_has_one_reaction_and_leaves_no_more_doubt_than_it_must() {
    use Blame::{ARow, ARowInTheEnd, Nobody};
    use ErrorMeaning::{BadRow, Gibberish, InLedger, NotDone, PartIsHeld, SessionEnded};
    use SessionAfter::{Aborted, Kept, Left};
    // Two rows; whether the transaction was sent before; then whether it was sent, and whether it may be in.
    for (answer, doubt, reaction, sent, may_be_in) in [
        (
            FailedAttempt::Unreachable { may_pass: true },
            Uncertainty::default(),
            try_again(Kept, false, Nobody),
            false,
            false,
        ),
        (
            FailedAttempt::Unreachable { may_pass: false },
            Uncertainty::default(),
            give_up(Kept, false),
            false,
            false,
        ),
        (FailedAttempt::Silent, Uncertainty::default(), try_again(Kept, false, Nobody), true, true),
        // The number is another transaction's, unless this one was sent before.
        (failed(InLedger, "23505"), Uncertainty::default(), give_up(Kept, false), false, false),
        (failed(InLedger, "23505"), again(), Reaction::FoundWritten, true, false),
        (failed(BadRow, "22P02"), Uncertainty::default(), Reaction::RefuseRow, false, false),
        (failed(BadRow, "22P02"), again(), Reaction::RefuseRow, true, false),
        (failed(NotDone, "0A000"), Uncertainty::default(), Reaction::PrepareAnew, true, false),
        (failed(BadRow, "0A000"), Uncertainty::default(), Reaction::PrepareAnew, true, false),
        (failed(Gibberish, ""), Uncertainty::default(), give_up(Aborted, true), false, true),
        (
            failed(SessionEnded, "57P01"),
            Uncertainty::default(),
            try_again(Aborted, false, ARowInTheEnd),
            true,
            true,
        ),
        (
            failed(SessionEnded, ""),
            Uncertainty::default(),
            try_again(Aborted, false, ARowInTheEnd),
            true,
            true,
        ),
        // Before the first attempt nobody else can note the part: some lock of the user's was waited for.
        (
            failed(PartIsHeld, "55P03"),
            Uncertainty::default(),
            try_again(Kept, false, ARowInTheEnd),
            true,
            false,
        ),
        (failed(PartIsHeld, "55P03"), again(), try_again(Kept, true, Nobody), true, false),
        (failed(NotDone, "40001"), Uncertainty::default(), try_again(Kept, false, ARowInTheEnd), true, false),
        (failed(NotDone, "57014"), Uncertainty::default(), try_again(Kept, false, ARowInTheEnd), true, false),
        (failed(NotDone, "25006"), Uncertainty::default(), try_again(Left, false, Nobody), true, false),
        (failed(NotDone, "XX000"), Uncertainty::default(), try_again(Kept, false, ARow), true, false),
        (failed(NotDone, "55000"), Uncertainty::default(), try_again(Kept, false, ARow), true, false),
        (failed(NotDone, "42501"), Uncertainty::default(), give_up(Kept, false), false, false),
        (failed(NotDone, "26000"), Uncertainty::default(), give_up(Kept, true), false, false),
        // What cannot be sent was not.
        (failed(NotDone, ""), Uncertainty::default(), give_up(Kept, false), false, false),
    ] {
        let mut doubt = doubt;
        let said = format!("{answer:?} under {doubt:?}");
        assert_eq!(react(answer, 2, &mut doubt), reaction, "{said}");
        assert_eq!((doubt.again, doubt.may_be_in), (sent, may_be_in), "{said}");
    }
}

/// The blame for each of `answers` to a transaction of so many `rows`.
fn blames(answers: &[FailedAttempt<'_>], rows: usize) -> Vec<Blame> {
    let mut doubt = Uncertainty::default();
    let blame = |answer: &FailedAttempt<'_>| match react(*answer, rows, &mut doubt) {
        Reaction::TryAgain(retry) => retry.blame,
        other => panic!("{answer:?}: {other:?}"),
    };
    answers.iter().map(blame).collect()
}

#[test]
fn a_row_is_blamed_for_a_reason_that_stays_and_later_for_one_that_befalls_good_rows() {
    use Blame::{ARow, ARowInTheEnd};
    let (full, met) = (failed(ErrorMeaning::NotDone, "53300"), failed(ErrorMeaning::NotDone, "40P01"));
    let lost = failed(ErrorMeaning::SessionEnded, "57P01");
    assert_eq!(blames(&[full, full], 2), [ARowInTheEnd, ARow]);
    for mishap in [met, lost] {
        let expected = [ARowInTheEnd, ARowInTheEnd, ARowInTheEnd, ARow];
        assert_eq!(blames(&[mishap; 4], 2), expected, "{mishap:?}");
    }
    assert_eq!(blames(&[full, met, full, lost, full], 2), [ARowInTheEnd; 5], "not in a row");
}

#[test]
fn a_single_row_is_tried_for_as_long_as_a_batch_unless_the_server_is_at_fault() {
    use Blame::{ARow, ARowInTheEnd};
    let full = failed(ErrorMeaning::NotDone, "53300");
    assert_eq!(blames(&[full; 3], 1), [ARowInTheEnd; 3]);
    assert_eq!(blames(&[failed(ErrorMeaning::SessionEnded, ""); 5], 1), [ARowInTheEnd; 5]);
    assert_eq!(blames(&[failed(ErrorMeaning::NotDone, "58030")], 1), [ARow]);
}

#[test]
fn statements_are_prepared_anew_once_and_then_the_error_counts() {
    for (says, then) in [
        (ErrorMeaning::NotDone, give_up(SessionAfter::Kept, false)),
        (ErrorMeaning::BadRow, Reaction::RefuseRow),
    ] {
        let mut doubt = Uncertainty::default();
        assert_eq!(react(failed(says, "0A000"), 2, &mut doubt), Reaction::PrepareAnew);
        assert_eq!(react(failed(says, "0A000"), 2, &mut doubt), then, "{says:?}");
    }
}

#[test]
fn what_may_be_in_stays_in_doubt_whatever_later_attempts_say() {
    let mut doubt = Uncertainty::default();
    react(FailedAttempt::Silent, 2, &mut doubt);
    for later in [
        FailedAttempt::Unreachable { may_pass: false },
        failed(ErrorMeaning::NotDone, "42501"),
        failed(ErrorMeaning::BadRow, "22P02"),
        failed(ErrorMeaning::PartIsHeld, "55P03"),
        failed(ErrorMeaning::InLedger, "23505"),
    ] {
        react(later, 2, &mut doubt);
        assert!(doubt.may_be_in, "{later:?}");
    }
}
