//! Exit codes: the one place where an outcome becomes a number.

use howdah::{Error, ErrorKind};

/// Everything was done.
pub(crate) const DONE: u8 = 0;
/// It failed; nothing changed.
pub(crate) const FAILED: u8 = 1;
/// The request was wrong, or no connection came about.
pub(crate) const USAGE: u8 = 2;
/// Loaded, and some records rejected; or a dry run that would reject some.
pub(crate) const SOME_REJECTED: u8 = 3;
/// More records would have been rejected than allowed; nothing loaded.
pub(crate) const TOO_MANY_REJECTS: u8 = 4;
/// Some rows are in and some are not, or nobody knows.
pub(crate) const PARTLY_COMMITTED: u8 = 5;
/// Greater than this: ended by a signal.
pub(crate) const SIGNALLED: u8 = 128;
/// Ended by SIGINT (128 + 2), also when a password prompt was left with Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// The code for a failed command. `signal` is the number of the signal that asked us to stop, if one did.
pub(crate) fn code(error: &Error, signal: Option<u8>) -> u8 {
    match error.kind() {
        ErrorKind::Usage | ErrorKind::Connect | ErrorKind::PasswordRequired => USAGE,
        ErrorKind::Cancelled => signal.map_or(INTERRUPTED, of_signal),
        // Known before anything else: a script must not take an interrupted commit for a clean stop.
        ErrorKind::PartlyCommitted => PARTLY_COMMITTED,
        ErrorKind::TooManyRejects => TOO_MANY_REJECTS,
        _ => FAILED,
    }
}

/// The code of a command whose output could not be written, and which would have ended with `code`.
pub(crate) fn without_output(code: u8) -> u8 {
    if code == DONE || code == SOME_REJECTED { FAILED } else { code }
}

/// The shells' convention: 128 + the signal's number.
pub(crate) fn of_signal(signal: u8) -> u8 {
    SIGNALLED.saturating_add(signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_can_tell_the_outcomes_apart() {
        let table = [
            (ErrorKind::Usage, None, 2),
            (ErrorKind::Connect, None, 2),
            (ErrorKind::PasswordRequired, None, 2),
            (ErrorKind::Source, None, 1),
            (ErrorKind::Data, None, 1),
            (ErrorKind::TooManyRejects, None, 4),
            (ErrorKind::Server, Some(15), 1),
            (ErrorKind::Internal, None, 1),
            (ErrorKind::Cancelled, Some(2), 130),
            (ErrorKind::Cancelled, Some(15), 143),
            (ErrorKind::Cancelled, None, 130),
            (ErrorKind::PartlyCommitted, Some(2), 5),
        ];
        for (kind, signal, expected) in table {
            assert_eq!(code(&Error::new(kind, "x"), signal), expected, "{kind:?} {signal:?}");
        }
    }
}
