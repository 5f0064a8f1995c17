//! The password file. <https://www.postgresql.org/docs/current/libpq-pgpass.html>

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What a password file gave for one connection.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) password: Option<String>,
    /// Why the file was not used.
    pub(crate) notice: Option<String>,
}

/// The key of a line: host (or socket directory; `localhost` for the default one), port, database, user.
pub(crate) type Key<'a> = [&'a str; 4];

/// The password of the first line of `path` that fits. A missing file is no password.
pub(crate) fn find(path: &Path, key: Key<'_>) -> Found {
    let Ok(metadata) = path.metadata() else { return Found::default() };
    let refuse = |reason: &str| Found {
        password: None,
        notice: Some(format!("password file {}: {reason}", path.display())),
    };
    if !metadata.is_file() {
        return refuse("it is not a plain file; it was ignored");
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return refuse(
            "it has group or world access; permissions should be u=rw (0600) or less; it was ignored",
        );
    }
    match std::fs::read_to_string(path) {
        Ok(text) => Found { password: text.lines().find_map(|line| password_of(line, key)), notice: None },
        Err(error) => refuse(&format!("{error}; it was ignored")),
    }
}

fn password_of(line: &str, key: Key<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut rest = line;
    for wanted in key {
        let (field, tail) = split_field(rest)?;
        rest = tail;
        if field != "*" && unescape(field) != wanted {
            return None;
        }
    }
    // The password runs to the end of the line, colons included; backslashes still escape.
    Some(unescape(rest.trim_end_matches('\r')))
}

/// The next field as it stands, and what follows its colon.
fn split_field(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let colon = text.char_indices().find(|(_, c)| {
        let ends = *c == ':' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    colon.map(|(at, _)| (&text[..at], &text[at + 1..]))
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key<'static> = ["h", "5432", "db", "me"];

    #[test]
    fn lines_match_as_in_libpq() {
        for (line, expected) in [
            ("h:5432:db:me:secret", Some("secret")),
            ("*:*:*:*:any", Some("any")),
            ("h:*:db:*:a:b\\:c\\\\d", Some("a:b:c\\d")),
            ("h:5433:db:me:no", None),
            ("# h:5432:db:me:no", None),
            ("h:5432:db:me", None),
            ("\\*:5432:db:me:no", None),
            ("", None),
        ] {
            assert_eq!(password_of(line, KEY).as_deref(), expected, "{line}");
        }
        assert_eq!(password_of("\\:\\:1:1:d\\:b:u:x", ["::1", "1", "d:b", "u"]).as_deref(), Some("x"));
    }

    #[test]
    fn the_first_line_that_fits_wins_and_open_files_are_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pgpass");
        std::fs::write(&path, "other:*:*:*:1\nh:*:*:me:2\n*:*:*:*:3\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(find(&path, KEY).password.as_deref(), Some("2"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let found = find(&path, KEY);
        assert_eq!(found.password, None);
        assert!(found.notice.unwrap().contains("group or world access"));
        assert_eq!(find(&directory.path().join("none"), KEY), Found::default());
    }
}
