//! What an SQLSTATE says about the cause of a failure: one table for everything that decides by it.
//!
//! The classes are those of
//! [appendix A of PostgreSQL's manual](https://www.postgresql.org/docs/current/errcodes-appendix.html).

/// What a failure is about, as far as its SQLSTATE tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Concern {
    /// The values of a row, or rules of the table for them.
    Data,
    /// What the statement asks for: classes 0A (not supported) and 42 (syntax, names, rights).
    Statement,
    /// The state of the session: classes 25 (transactions), 26 (prepared statements) and 28 (authorization).
    Session,
    /// The server, or the way to it: classes 08 (connection), 40 (rollback), 53 (resources), 55 (state of an object), 57
    /// (intervention), 58 (system), F0 (configuration) and XX (internal).
    Server,
}

/// What the failure is about.
#[must_use]
pub fn concern(sqlstate: &str) -> Concern {
    match sqlstate.get(..2) {
        Some("08" | "40" | "53" | "55" | "57" | "58" | "F0" | "XX") => Concern::Server,
        Some("0A" | "42") => Concern::Statement,
        Some("25" | "26" | "28") => Concern::Session,
        _ => Concern::Data,
    }
}

/// Whether the cause is likely to pass, so that the same request may succeed later: classes 08 (connection exception), 40
/// (transaction rollback), 53 (insufficient resources) and 57 (operator intervention), and 25006
/// (`read_only_sql_transaction`, as on a standby that may become the primary), 55006 (`object_in_use`) and 55P03
/// (`lock_not_available`).
#[must_use]
pub fn is_transient(sqlstate: &str) -> bool {
    matches!(sqlstate.get(..2), Some("08" | "40" | "53" | "57"))
        || matches!(sqlstate, "25006" | "55006" | "55P03")
}

/// Whether the server ended the session, so that what became of an open transaction is not known from this answer alone:
/// class 08, shutdowns and administrators (57P01 to 57P05), and the limits on a session's or a transaction's time (25P03,
/// 25P04).
#[must_use]
pub fn ends_the_session(sqlstate: &str) -> bool {
    sqlstate.starts_with("08") || sqlstate.starts_with("57P") || matches!(sqlstate, "25P03" | "25P04")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_one_verdict() {
        for (code, about, transient, ended) in [
            ("08006", Concern::Server, true, true),
            ("0A000", Concern::Statement, false, false),
            ("22P02", Concern::Data, false, false),
            ("23505", Concern::Data, false, false),
            ("25006", Concern::Session, true, false),
            ("25P02", Concern::Session, false, false),
            ("25P03", Concern::Session, false, true),
            ("26000", Concern::Session, false, false),
            ("40001", Concern::Server, true, false),
            ("42501", Concern::Statement, false, false),
            ("53300", Concern::Server, true, false),
            ("55000", Concern::Server, false, false),
            ("55006", Concern::Server, true, false),
            ("55P03", Concern::Server, true, false),
            ("57014", Concern::Server, true, false),
            ("57P01", Concern::Server, true, true),
            ("58030", Concern::Server, false, false),
            ("P0001", Concern::Data, false, false),
            ("XX000", Concern::Server, false, false),
            ("", Concern::Data, false, false),
        ] {
            assert_eq!(
                (concern(code), is_transient(code), ends_the_session(code)),
                (about, transient, ended),
                "{code}"
            );
        }
    }
}
