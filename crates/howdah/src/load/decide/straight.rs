//! What changes the table around the rows: only where they go straight into it, in one transaction.

use howdah_message::{Message, Setting, setting};

use crate::catalog::name::display;
use crate::error::{Error, ErrorKind};
use crate::options::WritePath;

/// Why rows of a write path do not go straight into the table in one transaction; `None`: they do.
pub(super) fn detour(path: WritePath) -> Option<Message> {
    if path == WritePath::Landing {
        Some(message![setting::WRITE_PATH.word(path.name()), " fills the table by a statement of its own"])
    } else if path.commits_rows() {
        Some(message![setting::WRITE_PATH.word(path.name()), " commits each row by itself"])
    } else {
        None
    }
}

/// The usage error of what `option` asks for: `what` cannot be, and why.
pub(super) fn refused(what: &'static str, why: Message, option: Setting) -> Error {
    Error::usage(message![what, ": ", why]).with_hint(message!["leave ", option, " out"])
}

/// The error of what `option` asks for where the table belongs to `owner`: `what` cannot be.
pub(super) fn not_owned(what: &str, owner: &str, option: Setting) -> Error {
    let owner = display(owner);
    Error::new(ErrorKind::Server, format!("{what}: it belongs to {owner}"))
        .with_sqlstate("42501")
        .with_hint(message!["load as {owner}, or leave ", option, " out"])
}
