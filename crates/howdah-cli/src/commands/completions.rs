//! `howdah completions`: what a shell needs to complete this command, made from the definition of its options.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args::{Cli, Completions, ShellArg};
use crate::exit;
use crate::render::Console;

/// The generated function offers all of load's options where nothing has been typed yet. There a file is what a person
/// wants: with no answer from us, readline offers files, in directories too.
const BASH_FILES_FIRST: &str = r#"
_howdah_files_first() {
    _howdah "$@"
    if [[ -z "$2" && " ${COMPREPLY[*]} " == *" --rejects "* ]]; then
        COMPREPLY=()
    fi
}
complete -F _howdah_files_first -o bashdefault -o default howdah
"#;

/// Prints the script.
pub(crate) fn run(args: &Completions) -> u8 {
    let shell = match args.shell {
        ShellArg::Bash => Shell::Bash,
        ShellArg::Zsh => Shell::Zsh,
        ShellArg::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "howdah", &mut script);
    if shell == Shell::Bash {
        script.extend_from_slice(BASH_FILES_FIRST.as_bytes());
    }
    Console::new(false).result(String::from_utf8_lossy(&script).trim_end());
    exit::DONE
}
