//! Which statements a cursor of the server can take, so that a method that reads row by row stands beside theirs.

use crate::languages::dynamic;
use crate::model::{Fragment, Statement};

/// Whether DECLARE CURSOR certainly takes a statement: it begins as a query does, and no word in it can change rows.
///
/// `WITH … INSERT …` is the reason to look at all words. A name or a text of such a word only costs the stream.
pub(crate) fn can_have_a_cursor(statement: &Statement) -> bool {
    let begins = matches!(statement.sql.first(), Some(Fragment::Text(_)));
    let text = dynamic::texts(statement).join(" ").to_ascii_lowercase();
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '(');
    // The words of a comment are none of the statement.
    if !begins || text.starts_with(['-', '/']) {
        return false;
    }
    let mut words =
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    match words.next() {
        Some("select" | "values" | "table") => true,
        Some("with") => !words.any(|word| matches!(word, "insert" | "update" | "delete" | "merge")),
        _ => false,
    }
}
