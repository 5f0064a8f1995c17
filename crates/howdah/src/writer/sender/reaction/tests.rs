//! The table of cases: each answer, under each doubt that changes what is done about it.

use super::*;

fn failed(says: Says, sqlstate: &str) -> Answer<'_> {
    let may_pass = ["40001", "40P01", "53300", "57014", "25006", "55P03"].contains(&sqlstate);
    Answer::Failed { says, sqlstate, may_pass }
}

fn again() -> Doubt {
    Doubt { again: true, ..Doubt::default() }
}

fn give_up(session: SessionAfter, suspects_pooler: bool) -> Reaction {
    Reaction::GiveUp { session, suspects_pooler }
}

fn try_again(session: SessionAfter, ends_ghosts: bool, blame: Blame) -> Reaction {
    Reaction::TryAgain(Retry { session, ends_ghosts, blame })
}

#[test]
fn each_answer_has_one_reaction_and_leaves_no_more_doubt_than_it_must() {
    use Blame::{ARow, ARowInTheEnd, Nobody};
    use Says::{BadRow, Gibberish, InLedger, NotDone, PartIsHeld, SessionEnded};
    use SessionAfter::{Aborted, Kept, Left};
    // Two rows; whether the transaction was sent before; then whether it was sent, and whether it may be in.
    for (answer, doubt, reaction, sent, may_be_in) in [
        (
            Answer::Unreachable { may_pass: true },
            Doubt::default(),
            try_again(Kept, false, Nobody),
            false,
            false,
        ),
        (Answer::Unreachable { may_pass: false }, Doubt::default(), give_up(Kept, false), false, false),
        (Answer::Silent, Doubt::default(), try_again(Kept, false, Nobody), true, true),
        // The number is another transaction's, unless this one was sent before.
        (failed(InLedger, "23505"), Doubt::default(), give_up(Kept, false), false, false),
        (failed(InLedger, "23505"), again(), Reaction::FoundWritten, true, false),
        (failed(BadRow, "22P02"), Doubt::default(), Reaction::RefuseRow, false, false),
        (failed(BadRow, "22P02"), again(), Reaction::RefuseRow, true, false),
        (failed(NotDone, "0A000"), Doubt::default(), Reaction::PrepareAnew, true, false),
        (failed(BadRow, "0A000"), Doubt::default(), Reaction::PrepareAnew, true, false),
        (failed(Gibberish, ""), Doubt::default(), give_up(Aborted, true), false, true),
        (
            failed(SessionEnded, "57P01"),
            Doubt::default(),
            try_again(Aborted, false, ARowInTheEnd),
            true,
            true,
        ),
        (failed(SessionEnded, ""), Doubt::default(), try_again(Aborted, false, ARowInTheEnd), true, true),
        // Before the first attempt nobody else can note the part: some lock of the user's was waited for.
        (failed(PartIsHeld, "55P03"), Doubt::default(), try_again(Kept, false, ARowInTheEnd), true, false),
        (failed(PartIsHeld, "55P03"), again(), try_again(Kept, true, Nobody), true, false),
        (failed(NotDone, "40001"), Doubt::default(), try_again(Kept, false, ARowInTheEnd), true, false),
        (failed(NotDone, "57014"), Doubt::default(), try_again(Kept, false, ARowInTheEnd), true, false),
        (failed(NotDone, "25006"), Doubt::default(), try_again(Left, false, Nobody), true, false),
        (failed(NotDone, "XX000"), Doubt::default(), try_again(Kept, false, ARow), true, false),
        (failed(NotDone, "55000"), Doubt::default(), try_again(Kept, false, ARow), true, false),
        (failed(NotDone, "42501"), Doubt::default(), give_up(Kept, false), false, false),
        (failed(NotDone, "26000"), Doubt::default(), give_up(Kept, true), false, false),
        // What cannot be sent was not.
        (failed(NotDone, ""), Doubt::default(), give_up(Kept, false), false, false),
    ] {
        let mut doubt = doubt;
        let said = format!("{answer:?} under {doubt:?}");
        assert_eq!(react(answer, 2, &mut doubt), reaction, "{said}");
        assert_eq!((doubt.again, doubt.may_be_in), (sent, may_be_in), "{said}");
    }
}

/// The blame for each of `answers` to a transaction of so many `rows`.
fn blames(answers: &[Answer<'_>], rows: usize) -> Vec<Blame> {
    let mut doubt = Doubt::default();
    let blame = |answer: &Answer<'_>| match react(*answer, rows, &mut doubt) {
        Reaction::TryAgain(retry) => retry.blame,
        other => panic!("{answer:?}: {other:?}"),
    };
    answers.iter().map(blame).collect()
}

#[test]
fn a_row_is_blamed_for_a_reason_that_stays_and_later_for_one_that_befalls_good_rows() {
    use Blame::{ARow, ARowInTheEnd};
    let (full, met) = (failed(Says::NotDone, "53300"), failed(Says::NotDone, "40P01"));
    let lost = failed(Says::SessionEnded, "57P01");
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
    let full = failed(Says::NotDone, "53300");
    assert_eq!(blames(&[full; 3], 1), [ARowInTheEnd; 3]);
    assert_eq!(blames(&[failed(Says::SessionEnded, ""); 5], 1), [ARowInTheEnd; 5]);
    assert_eq!(blames(&[failed(Says::NotDone, "58030")], 1), [ARow]);
}

#[test]
fn statements_are_prepared_anew_once_and_then_the_error_counts() {
    for (says, then) in
        [(Says::NotDone, give_up(SessionAfter::Kept, false)), (Says::BadRow, Reaction::RefuseRow)]
    {
        let mut doubt = Doubt::default();
        assert_eq!(react(failed(says, "0A000"), 2, &mut doubt), Reaction::PrepareAnew);
        assert_eq!(react(failed(says, "0A000"), 2, &mut doubt), then, "{says:?}");
    }
}

#[test]
fn what_may_be_in_stays_in_doubt_whatever_later_attempts_say() {
    let mut doubt = Doubt::default();
    react(Answer::Silent, 2, &mut doubt);
    for later in [
        Answer::Unreachable { may_pass: false },
        failed(Says::NotDone, "42501"),
        failed(Says::BadRow, "22P02"),
        failed(Says::PartIsHeld, "55P03"),
        failed(Says::InLedger, "23505"),
    ] {
        react(later, 2, &mut doubt);
        assert!(doubt.may_be_in, "{later:?}");
    }
}
