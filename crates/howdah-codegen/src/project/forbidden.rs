//! Statements that no step may have, by name. What is hidden in functions, the server is asked about before a commit.

use crate::source::lexer::{self, TokenKind};

/// What keeps a statement from being run, and what to do instead.
pub(crate) struct Refusal {
    pub(crate) message: String,
    pub(crate) help: &'static str,
}

/// Objects that belong to the whole server.
const OF_THE_SERVER: [&str; 6] = ["role", "user", "group", "database", "tablespace", "subscription"];

/// What cannot be in a transaction, or may not be used in the one that made it.
const ALONE: [&str; 12] = [
    "create index",
    "create unique index",
    "drop index",
    "reindex",
    "vacuum",
    "analyze",
    "cluster",
    "alter type",
    "alter table",
    "alter index",
    "set",
    "reset",
];

/// Why a step may not have a statement. `theirs`: the server is the user's. `alone`: no transaction is around it.
pub(crate) fn refusal(sql: &str, theirs: bool, alone: bool) -> Option<Refusal> {
    let tokens = lexer::lex(sql);
    let said = tokens.iter().filter(|token| !token.is_trivia()).collect::<Vec<_>>();
    let word = |index: usize| {
        said.get(index)
            .filter(|token| token.kind == TokenKind::Word)
            .map(|token| token.text(sql).to_ascii_lowercase())
            .unwrap_or_default()
    };
    let words = [word(0), word(1), word(2)];
    let [first, second, third] = words.each_ref().map(String::as_str);
    let named = |words: &[&str]| words.join(" ").trim().to_ascii_uppercase();
    let no = |message: String, help| Some(Refusal { message, help });
    let ends = match first {
        "begin" | "commit" | "end" | "abort" => true,
        "start" => second == "transaction",
        "prepare" => second == "transaction",
        "rollback" => !(second == "to" || third == "to"),
        _ => false,
    };
    if ends {
        let message = format!("a step has no {}", named(&[first]));
        return no(message, "a step is a transaction; write `:no_transaction` if it cannot be in one");
    }
    if first == "copy"
        && copies_files(&said.iter().map(|token| (token.kind, token.text(sql))).collect::<Vec<_>>())
    {
        return no("a step has no COPY of files or programs".to_owned(), "write rows as INSERT");
    }
    if !theirs {
        return None;
    }
    let shared = match first {
        "create" | "alter" | "drop" => {
            (OF_THE_SERVER.contains(&second) && third != "mapping") || (first, second) == ("alter", "system")
        }
        // Without ON, it is a role that is granted.
        "grant" | "revoke" => !said.iter().any(|token| token.text(sql).eq_ignore_ascii_case("on")),
        "reassign" => true,
        _ => false,
    } || (first == "drop" && second == "owned");
    if shared {
        let message = format!("{} outlives a database", named(&[first, second]));
        return no(message, "leave -d out: on the throwaway server steps may do what their role may");
    }
    if alone && !ALONE.iter().any(|begin| words.join(" ").starts_with(begin)) {
        let message = format!("{} needs a transaction on a server that is not a throwaway", named(&[first]));
        return no(message, "put it into a step without `:no_transaction`");
    }
    None
}

/// Whether a COPY names a file or a program.
fn copies_files(tokens: &[(TokenKind, &str)]) -> bool {
    let depth = |depth: i32, text: &str| match text {
        "(" => depth + 1,
        ")" => depth - 1,
        _ => depth,
    };
    let mut level = 0;
    for pair in tokens.windows(2) {
        level = depth(level, pair[0].1);
        let direction = pair[0].1.eq_ignore_ascii_case("from") || pair[0].1.eq_ignore_ascii_case("to");
        if level == 0 && direction {
            let (kind, text) = pair[1];
            return !(kind == TokenKind::Word
                && (text.eq_ignore_ascii_case("stdin") || text.eq_ignore_ascii_case("stdout")));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::refusal;

    #[test]
    fn what_a_step_may_not_do_is_known_by_name() {
        let refused = |sql: &str, theirs| refusal(sql, theirs, false).is_some();
        for sql in ["COMMIT", "begin", "/* a */ END", "Start Transaction", "ROLLBACK", "ROLLBACK WORK"] {
            assert!(refused(sql, false), "{sql}");
        }
        for sql in ["COPY t FROM '/etc/passwd'", "copy (select 1) to program 'x'", "COPY t(a) TO E'/x'"] {
            assert!(refused(sql, false), "{sql}");
        }
        let shared = [
            "CREATE ROLE x",
            "alter user x",
            "DROP GROUP x",
            "GRANT a TO b",
            "create database x",
            "ALTER SYSTEM SET x = 1",
            "DROP TABLESPACE x",
            "CREATE SUBSCRIPTION s CONNECTION '' PUBLICATION p",
            "DROP OWNED BY x",
            "REASSIGN OWNED BY x TO y",
        ];
        for sql in shared {
            assert!(refused(sql, true) && !refused(sql, false), "{sql}");
        }
        let fine = [
            "CREATE TABLE commit (\"begin\" int)",
            "ROLLBACK TO SAVEPOINT a",
            "GRANT SELECT ON t TO PUBLIC",
            "CREATE USER MAPPING FOR x SERVER y",
            "COPY t FROM STDIN",
            "SELECT 'COMMIT'",
        ];
        for sql in fine {
            assert!(!refused(sql, true), "{sql}");
        }
        assert!(refusal("DO $$ $$", true, true).is_some());
        assert!(refusal("CREATE INDEX CONCURRENTLY ON t (a)", true, true).is_none());
    }
}
