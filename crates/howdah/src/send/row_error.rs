//! What an error of the server says about rows: whether a row caused it, and which line and column of a COPY it names.

use howdah_connect::sqlstate::{Concern, concern};

/// Whether the server refused a row, rather than being unable to go on. What a statement asks for, the server cannot do, a role
/// may not do or a name does not stand for with any row.
///
/// What is about the session is about a row all the same where it comes from inside of what a row set off: then the server says
/// where.
pub(crate) fn is_about_a_row(error: &tokio_postgres::Error) -> bool {
    let Some(db) = error.as_db_error() else { return false };
    let code = db.code().code();
    match concern(code) {
        Concern::Data => true,
        Concern::Statement => judges_a_row(code, db.routine().unwrap_or_default()),
        Concern::Session => db.where_().is_some(),
        _ => false,
    }
}

/// Whether an error of class 0A or 42 is about a row after all: policies and what RAISE says in a trigger judge rows, and input
/// functions report a value as a syntax error (tsquery, jsonpath), as the name of nothing (regclass and its like), or as what
/// they cannot do (flags of a jsonpath).
fn judges_a_row(code: &str, routine: &str) -> bool {
    match routine {
        "ExecWithCheckOptions" | "exec_stmt_raise" | "jspConvertRegexFlags" => true,
        // Of SQL itself.
        "scanner_yyerror" => false,
        input => code == "42601" || input.starts_with("reg") && input.ends_with("in"),
    }
}

/// Finds `COPY name, line N` in the server's CONTEXT: the line, and what follows the number.
pub(crate) fn copy_context<'a>(context: &'a str, relation_name: &str) -> Option<(u64, &'a str)> {
    let prefix = format!("COPY {relation_name}, line ");
    let text = &context[context.rfind(&prefix)? + prefix.len()..];
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Which of the columns is named behind the line.
pub(crate) fn named_column<'n>(rest: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let text = rest.strip_prefix(", column ")?;
    names.filter(|name| text.starts_with(name)).max_by_key(|name| name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_blamed_for_a_missing_right_or_a_statement() {
        for (code, routine, expected) in [
            ("42501", "aclcheck_error", false),
            ("0A000", "CheckValidResultRel", false),
            ("0A000", "exec_stmt_raise", true),
            ("0A000", "jspConvertRegexFlags", true),
            ("42501", "ExecWithCheckOptions", true),
            ("42501", "exec_stmt_raise", true),
            ("42P01", "parserOpenTable", false),
            ("42P01", "regclassin", true),
            ("42601", "scanner_yyerror", false),
            ("42601", "jsonpath_yyerror", true),
            ("42703", "", false),
        ] {
            assert_eq!(judges_a_row(code, routine), expected, "{code} {routine}");
        }
    }

    #[test]
    fn a_table_name_that_looks_like_a_context_does_not_mislead() {
        let context = "while inserting index tuple (0,5) in relation \"k\"\nCOPY COPY t, line 3, line 17, column a: \"x\"";
        let (line, rest) = copy_context(context, "COPY t, line 3").unwrap();
        assert_eq!((line, rest), (17, ", column a: \"x\""));
        assert_eq!(copy_context("COPY other, line 3", "t"), None);
    }
}
