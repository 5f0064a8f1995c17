//! What of other tools' files is not run, since it plays no part in a description or nobody here may do it.

use std::collections::BTreeMap;
use std::fmt;

use crate::source::lexer::{Token, TokenKind};

/// Why something is not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// Owners and rights, of roles that are elsewhere.
    Rights,
    /// Rows of a dump.
    Rows,
    /// A line for psql.
    Psql,
    /// BEGIN and COMMIT: a step is a transaction.
    Transaction,
    /// How long a session waits, where its files are, who it is.
    Setting,
    /// What a dump says of extensions, databases, replication and event triggers, which are a superuser's.
    Server,
}

/// How often.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkippedStatements(BTreeMap<SkipReason, usize>);

impl SkippedStatements {
    /// One more.
    pub fn count(&mut self, reason: SkipReason) {
        *self.0.entry(reason).or_default() += 1;
    }

    /// How many.
    #[must_use]
    pub fn of(&self, reason: SkipReason) -> usize {
        self.0.get(&reason).copied().unwrap_or_default()
    }

    /// Those of another file too.
    pub(super) fn add(&mut self, other: &Self) {
        for (reason, count) in &other.0 {
            *self.0.entry(*reason).or_default() += count;
        }
    }
}

impl fmt::Display for SkippedStatements {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (reason, count)) in self.0.iter().enumerate() {
            let what = match reason {
                SkipReason::Rights => "of owners and rights",
                SkipReason::Rows => "with rows",
                SkipReason::Psql => "for psql",
                SkipReason::Transaction => "of BEGIN and COMMIT",
                SkipReason::Setting => "with settings of the session",
                SkipReason::Server => "for a superuser",
            };
            write!(formatter, "{}{count} {what}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// Settings that say how long a session waits: here they keep others from waiting.
const WAITS: [&str; 4] =
    ["lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout", "transaction_timeout"];

/// Why a statement is not run, by its tokens, of which none is blank or a comment.
pub(super) fn skip_reason(tokens: &[Token], text: &str, is_dump: bool) -> Option<SkipReason> {
    let word = |index: usize| {
        let token = tokens.get(index).filter(|token| token.kind == TokenKind::Word);
        token.map(|token| token.text(text).to_ascii_lowercase()).unwrap_or_default()
    };
    let words = [word(0), word(1), word(2), word(3)];
    let [first, second, third, fourth] = words.each_ref().map(String::as_str);
    let set = match (first, second) {
        ("set", "session" | "local") => third,
        ("set", name) => name,
        _ => "",
    };
    match first {
        "grant" | "revoke" => return Some(SkipReason::Rights),
        "alter" if (second, third) == ("default", "privileges") || is_owner(tokens, text) => {
            return Some(SkipReason::Rights);
        }
        "begin" | "commit" | "end" if second != "prepared" => return Some(SkipReason::Transaction),
        "start" if second == "transaction" => return Some(SkipReason::Transaction),
        "set" if WAITS.contains(&set) => return Some(SkipReason::Setting),
        _ if !is_dump => return None,
        "insert" => return Some(SkipReason::Rows),
        "copy" => return copies_in(tokens, text).then_some(SkipReason::Rows),
        "set" if matches!(set, "default_tablespace" | "client_encoding") => return Some(SkipReason::Setting),
        _ => {}
    }
    match (first, second, third) {
        ("set", "session", "authorization") | ("reset" | "set", "role", _) => Some(SkipReason::Setting),
        ("reset", "session", "authorization") => Some(SkipReason::Setting),
        // Who sees which rows is no part of a description, and the roles are elsewhere.
        ("create" | "alter" | "drop", "policy", _) | ("comment", "on", "policy") => Some(SkipReason::Rights),
        ("create" | "alter" | "drop", "database" | "publication" | "subscription", _)
        | ("create" | "alter" | "drop", "event", "trigger")
        | ("security", "label", _) => Some(SkipReason::Server),
        ("comment", "on", "database" | "extension" | "publication" | "subscription") => {
            Some(SkipReason::Server)
        }
        ("comment", "on", "event") if fourth == "trigger" => Some(SkipReason::Server),
        _ => None,
    }
}

/// Tokens outside of parentheses.
fn outside(tokens: &[Token]) -> impl Iterator<Item = &Token> {
    let mut depth = 0_usize;
    tokens.iter().filter(move |token| {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    })
}

/// `ALTER … OWNER TO x` that does nothing else.
fn is_owner(tokens: &[Token], text: &str) -> bool {
    let outside = outside(tokens).map(|token| token.text(text)).collect::<Vec<_>>();
    let [.., owner, to, _] = outside[..] else { return false };
    let renames = outside.iter().any(|word| word.eq_ignore_ascii_case("rename"));
    owner.eq_ignore_ascii_case("owner")
        && to.eq_ignore_ascii_case("to")
        && !renames
        && !outside.contains(&",")
}

/// `COPY … FROM stdin`.
pub(super) fn copies_in(tokens: &[Token], text: &str) -> bool {
    let outside = outside(tokens).map(|token| token.text(text)).collect::<Vec<_>>();
    outside.first().is_some_and(|word| word.eq_ignore_ascii_case("copy"))
        && outside
            .windows(2)
            .any(|pair| pair[0].eq_ignore_ascii_case("from") && pair[1].eq_ignore_ascii_case("stdin"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::lexer::lex;

    fn reason(sql: &str, is_dump: bool) -> Option<SkipReason> {
        let tokens = lex(sql).into_iter().filter(|token| !token.is_trivia()).collect::<Vec<_>>();
        skip_reason(&tokens, sql, is_dump)
    }

    #[test]
    fn only_what_plays_no_part_is_left_out() {
        for sql in [
            "GRANT SELECT ON t TO app",
            "REVOKE ALL ON SCHEMA public FROM PUBLIC",
            "ALTER TABLE ONLY public.t OWNER TO \"Ann\"",
            "ALTER FUNCTION f(a int, b int) OWNER TO ann",
            "ALTER DEFAULT PRIVILEGES FOR ROLE a GRANT SELECT ON TABLES TO b",
        ] {
            assert_eq!(reason(sql, false), Some(SkipReason::Rights), "{sql}");
        }
        for sql in [
            "ALTER TABLE t ADD a int, OWNER TO ann",
            "ALTER TABLE t ADD owner int",
            "ALTER TABLE t RENAME owner TO holder",
            "ALTER TABLE t RENAME COLUMN owner TO holder",
            "COMMIT PREPARED 'x'",
            "CREATE TABLE grant_all (a int)",
            "SET search_path = ''",
            "SET check_function_bodies = false",
        ] {
            assert_eq!(reason(sql, true), None, "{sql}");
        }
        for sql in ["INSERT INTO t VALUES (1)", "COPY t (a) FROM stdin"] {
            assert_eq!((reason(sql, true), reason(sql, false)), (Some(SkipReason::Rows), None), "{sql}");
        }
        for sql in ["COPY t FROM '/etc/passwd'", "COPY t TO PROGRAM 'x'", "COPY (SELECT 1 FROM stdin) TO 'x'"]
        {
            assert_eq!(reason(sql, true), None, "{sql}");
        }
        assert_eq!(reason("SET LOCAL lock_timeout = 0", false), Some(SkipReason::Setting));
        assert_eq!(
            reason("CREATE POLICY p ON t FOR SELECT TO app USING (true)", true),
            Some(SkipReason::Rights)
        );
        assert_eq!(reason("CREATE POLICY p ON t FOR SELECT TO app USING (true)", false), None);
        assert_eq!(reason("COMMENT ON EXTENSION hstore IS 'x'", true), Some(SkipReason::Server));
    }
}
