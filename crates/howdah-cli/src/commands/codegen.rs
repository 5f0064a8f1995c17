//! `howdah codegen`: one function an action.

mod project;

use howdah_codegen::check::check;
use howdah_codegen::diagnostic::Diagnostics;
use howdah_codegen::source::SYNTAX;

use crate::args::{Codegen, CodegenAction, CodegenCheck, MessagesArg};
use crate::exit;
use crate::figures::counted;
use crate::render::Console;

/// Does what was asked, and returns the exit code.
pub(crate) fn run(args: &Codegen) -> u8 {
    let console = Console::new(false);
    match &args.action {
        CodegenAction::Check(args) => checked(args, console),
        CodegenAction::Syntax => {
            console.result(SYNTAX.trim_end());
            exit::DONE
        }
    }
}

fn checked(args: &CodegenCheck, console: Console) -> u8 {
    let format = args.project.format;
    let config = match project::read(args.place.as_deref(), &args.project) {
        Ok(config) => config,
        Err(refused) => {
            tell(&refused.diagnostics, format, console);
            return refused.code;
        }
    };
    match check(&config) {
        Ok(checked) => {
            tell(&checked.diagnostics, format, console);
            let sources = || checked.groups.iter().flatten();
            let blocks = sources().map(|source| source.blocks.len()).sum::<usize>();
            let files = sources().count();
            if format == MessagesArg::Text {
                let (blocks, files) = (number(blocks), number(files));
                let blocks = counted(blocks, "block", "blocks");
                console.say(&format!("{blocks} of {} checked", counted(files, "file", "files")));
            }
            exit::DONE
        }
        Err(diagnostics) => {
            tell(&diagnostics, format, console);
            exit::FAILED
        }
    }
}

/// Messages for people go to standard error, those for programs are a result.
fn tell(diagnostics: &Diagnostics, format: MessagesArg, console: Console) {
    match format {
        MessagesArg::Text => {
            let text = diagnostics.text();
            if !text.is_empty() {
                console.say(text.trim_end());
            }
        }
        MessagesArg::Json => console.result(diagnostics.json().trim_end()),
        MessagesArg::Github => {
            let text = diagnostics.github();
            if !text.is_empty() {
                console.result(text.trim_end());
            }
        }
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
