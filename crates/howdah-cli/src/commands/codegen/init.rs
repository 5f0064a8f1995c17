//! `howdah codegen init`: writes a small project that runs, and says how.

use std::path::Path;

use howdah::{Error, ErrorKind};
use howdah_codegen::config::below;
use howdah_codegen::example::example;
use howdah_codegen::project::output::Planned;

use crate::args::CodegenInit;
use crate::exit;
use crate::figures::{shell_word, visible};
use crate::render::Console;

/// Writes the example, all of it or nothing, and returns the exit code.
pub(super) fn run(args: &CodegenInit, console: Console) -> u8 {
    match written(args) {
        Ok(commands) => {
            console.result(&commands);
            exit::DONE
        }
        Err(error) => {
            console.error(&error);
            exit::code(&error, None)
        }
    }
}

/// The commands that show it run.
fn written(args: &CodegenInit) -> Result<String, Error> {
    let example = example(args.generator.generator());
    let folder = args.folder.as_deref().unwrap_or(Path::new(""));
    let failed = |message: String| Error::new(ErrorKind::Source, message);
    let mut planned = Planned::default();
    for (name, text) in example.files {
        let path = below(folder, name).map_err(failed)?;
        planned.files.push((path, text));
    }
    if !args.force {
        let there = planned.files.iter().filter(|(path, _)| path.symlink_metadata().is_ok());
        let there = there.map(|(path, _)| visible(&path.to_string_lossy())).collect::<Vec<_>>();
        if !there.is_empty() {
            let verb = if there.len() == 1 { "is" } else { "are" };
            let error = failed(format!("{} {verb} there already; nothing was written", there.join(", ")));
            return Err(error.with_hint("name a folder of its own, or write over what is there: --force"));
        }
    }
    planned.write().map_err(|error| failed(format!("no example was written: {error}")))?;
    let moved = (!folder.as_os_str().is_empty()).then(|| shell_word(&folder.to_string_lossy()));
    let moved = moved.map(|folder| format!("cd {folder}"));
    let lines = moved.into_iter().chain(example.commands.into_iter().map(str::to_owned));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}
