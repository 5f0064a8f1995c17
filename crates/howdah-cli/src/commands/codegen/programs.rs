//! What programs of `command` get from around them: few variables, and an end when a signal asks for one.

use std::ffi::OsString;

use howdah::{Control, Error, ErrorKind};
use howdah_codegen::project::program::ProgramHost;

use crate::exit;
use crate::figures::{shell_word, visible, visible_lines};
use crate::render::Console;
use crate::signals::SignalWatch;

/// The variables that programs are found and run by. All others stay here: who knows which of them are secrets.
const VARIABLES: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TZ",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "NODE_PATH",
    "JAVA_HOME",
    "GOPATH",
];

/// Shows programs on the console, and stops them.
pub(super) struct Programs {
    console: Console,
    control: Control,
    /// From the first program on; before, a signal ends howdah by itself.
    watch: Option<SignalWatch>,
}

impl Programs {
    pub(super) fn new(console: Console) -> Self {
        Self { console, control: Control::new(), watch: None }
    }

    /// The exit code, if a signal came while programs ran.
    pub(super) fn stopped(&self) -> Option<u8> {
        let signal = self.watch.as_ref()?.received()?;
        let error = Error::new(ErrorKind::Cancelled, "stopped; no code was written");
        self.console.error(&error);
        Some(exit::code(&error, Some(signal)))
    }
}

impl ProgramHost for Programs {
    #[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
    fn environment(&self) -> Vec<(OsString, OsString)> {
        VARIABLES.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?))).collect()
    }

    fn begins(&mut self, command: &[String]) {
        let words = command.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
        self.console.labelled("command", &visible(&words));
        if self.watch.is_none() {
            // Without it, a signal ends howdah and not the program.
            self.watch = SignalWatch::start(&self.control).ok();
        }
    }

    fn said(&mut self, text: &str) {
        self.console.say(&visible_lines(text, ""));
    }

    fn is_stopped(&self) -> bool {
        self.control.is_cancelled()
    }
}
