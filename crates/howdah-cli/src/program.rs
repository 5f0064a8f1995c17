//! The words by which a person runs this program again: what the commands that we suggest begin with.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::OnceLock;

use crate::figures::shell_word;

/// Set once: a process has one name, however often a Python program runs the command.
static WORDS: OnceLock<String> = OnceLock::new();

/// Notes how the program was called; `called` is the first of its arguments.
pub(crate) fn called_as(called: Option<&OsString>) {
    WORDS.get_or_init(|| words(called.map(OsString::as_os_str), &search_path()));
}

/// The program as a shell word.
pub(crate) fn name() -> &'static str {
    WORDS.get().map_or("howdah", String::as_str)
}

#[expect(clippy::disallowed_methods, reason = "whether a shell finds us depends on its search path")]
fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// `howdah` where a shell finds it, else the path by which we were called, relative ones included: the person is still
/// where they were.
fn words(called: Option<&OsStr>, path: &OsStr) -> String {
    let found = std::env::split_paths(path).any(|directory| directory.join("howdah").is_file());
    match called {
        // A name without a directory came from the search path, or from a host program such as Python.
        Some(called) if !found && Path::new(called).components().count() > 1 => {
            shell_word(&called.to_string_lossy())
        }
        _ => "howdah".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggested_command_can_be_pasted_where_no_howdah_is_installed() {
        let shown = |called: &str, path: &str| words(Some(OsStr::new(called)), OsStr::new(path));
        assert_eq!(shown("target/release/howdah", "/nowhere"), "target/release/howdah");
        assert_eq!(shown("./howdah", "/nowhere"), "./howdah");
        assert_eq!(shown("/my tools/howdah", ""), "'/my tools/howdah'");
        assert_eq!(shown("howdah", "/nowhere"), "howdah");
        assert_eq!(words(None, OsStr::new("")), "howdah");
    }
}
