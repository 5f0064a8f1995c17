//! Takes a password out of the program's arguments, which every user of the machine can read as long as it runs.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use howdah::connect::without_password;

/// Set where the program was started anew.
const TAKEN_OUT: &str = "HOWDAH_PASSWORD_TAKEN_OUT";

/// Whether the connection string that was typed had a password, which other programs will not find.
#[expect(clippy::disallowed_methods, reason = "the note is this file's own, from one start to the next")]
pub(crate) fn was_typed() -> bool {
    std::env::var_os(TAKEN_OUT).is_some()
}

/// Starts the program anew with the password of `conninfo` in the environment, which only the user and root can read.
/// Returns where there is nothing to hide, or no way to: then everything goes on as typed.
pub(crate) fn take_out(conninfo: &str) {
    let Some((bare, password)) = without_password(conninfo) else { return };
    // Not our own idea of the arguments: in a Python process they are the interpreter's.
    let (Ok(typed), Ok(program)) = (std::fs::read("/proc/self/cmdline"), std::env::current_exe()) else {
        return;
    };
    let mut found = false;
    let mut arguments = typed.strip_suffix(&[0]).unwrap_or(&typed).split(|byte| *byte == 0).map(|argument| {
        // `-d X`, `-dX`, `--dbname=X`.
        match argument.strip_suffix(conninfo.as_bytes()) {
            Some(option) => {
                found = true;
                [option, bare.as_bytes()].concat()
            }
            None => argument.to_vec(),
        }
    });
    let name = arguments.next().unwrap_or_default();
    let rest: Vec<_> = arguments.map(std::ffi::OsString::from_vec).collect();
    if !found {
        return;
    }
    let mut again = Command::new(program);
    again.arg0(std::ffi::OsStr::from_bytes(&name)).args(rest).env("PGPASSWORD", password).env(TAKEN_OUT, "1");
    // It returns only when it failed.
    let _ = again.exec();
}
