//! `howdah codegen generate`: writes the code, or says whether it is as the files say.

use howdah::{Error, ErrorKind};
use howdah_codegen::project::{ServerChoice, output};

use super::programs::Programs;
use super::project::{self, Refused};
use super::{checks, checks_for_code, described, number, tell};
use crate::args::{CodegenGenerate, MessagesArg};
use crate::exit;
use crate::figures::{counted, visible};
use crate::render::Console;

/// Generates once, on a throwaway server that stands ready if there is one, and returns the exit code.
pub(super) fn run(args: &CodegenGenerate, ready: Option<&ServerChoice>, console: Console) -> u8 {
    let format = args.project.format;
    generated(args, ready, console).unwrap_or_else(|refused| refused.tell(format, console))
}

fn generated(args: &CodegenGenerate, ready: Option<&ServerChoice>, console: Console) -> Result<u8, Refused> {
    let format = args.project.format;
    let config = project::read(args.place.as_deref(), &args.project)?;
    let prints = config.groups.iter().flat_map(|group| &group.outputs).any(|output| output.output.is_none());
    if prints && (args.check || args.watch || format != MessagesArg::Text) && args.emit.is_none() {
        let error =
            Error::usage("the code goes to standard output").with_hint("name a folder: --output DIR/");
        console.error(&error);
        return Ok(exit::USAGE);
    }
    let checked = if args.emit.is_none() { checks_for_code(&config)? } else { checks(&config)? };
    let (model, mut diagnostics) = described(&config, &checked, (&args.server, ready), console)?;
    if args.emit.is_some() {
        tell(&diagnostics, MessagesArg::Text, console);
        console.result(&serde_json::to_string_pretty(&model).unwrap_or_default());
        return Ok(exit::DONE);
    }
    let mut programs = Programs::new(console);
    let planned = output::plan(&config, &checked, &model, &mut programs);
    if let Some(code) = programs.stopped() {
        return Ok(code);
    }
    let planned = match planned {
        Ok(planned) => planned,
        Err(errors) => {
            diagnostics.extend(errors);
            return Err(Refused::of(diagnostics));
        }
    };
    diagnostics.extend(planned.warnings.clone());
    let unwritten = |error: std::io::Error| {
        console.error(&Error::new(ErrorKind::Source, format!("no code was written: {error}")));
        Ok(exit::FAILED)
    };
    if args.check {
        let stale = match planned.stale() {
            Ok(stale) => stale,
            Err(error) => return unwritten(error),
        };
        diagnostics.extend(stale.iter().map(|file| file.diagnostic.clone()).collect());
        let fresh = diagnostics.errors() == 0;
        tell(&diagnostics, format, console);
        if format == MessagesArg::Text {
            stale
                .iter()
                .filter(|file| !file.diff.is_empty())
                .for_each(|file| console.result(&shown(&file.diff)));
        }
        if fresh && format == MessagesArg::Text {
            console.say(&format!("{} up to date", files(planned.files.len())));
        }
        return Ok(if fresh { exit::DONE } else { exit::FAILED });
    }
    let written = match planned.write() {
        Ok(written) => written,
        Err(error) => return unwritten(error),
    };
    tell(&diagnostics, format, console);
    for text in &planned.printed {
        console.result(text.trim_end());
    }
    if format == MessagesArg::Text && !planned.files.is_empty() {
        for path in &written {
            console.say(&format!("written {}", visible(&path.to_string_lossy())));
        }
        console.say(&format!(
            "{} written, {} unchanged",
            files(written.len()),
            planned.files.len() - written.len()
        ));
    }
    Ok(exit::DONE)
}

/// A diff with its tabs, and no other control character.
fn shown(diff: &str) -> String {
    let line = |line: &str| line.split('\t').map(visible).collect::<Vec<_>>().join("\t");
    diff.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn files(count: usize) -> String {
    counted(number(count), "file", "files")
}
