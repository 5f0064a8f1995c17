//! `howdah dataset`: test data into a file or a pipe.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use howdah::{Error, ErrorKind};
use howdah_bench::dataset::Dataset as Set;

use crate::args::Dataset;
use crate::exit;
use crate::figures::{bytes, counted, shell_word, visible};
use crate::program;
use crate::render::Console;

/// Makes the data set, or lists what there is.
pub(crate) fn run(args: &Dataset) -> u8 {
    let console = Console::new(false);
    if args.name == "list" {
        console.result(&list());
        return exit::DONE;
    }
    let Some(set) = Set::from_name(&args.name) else {
        let error = Error::usage(format!("there is no data set {:?}", args.name))
            .with_hint(format!("one of: {}", Set::names().join(", ")));
        console.error(&error);
        return exit::code(&error, None);
    };
    let output = match &args.output {
        Some(output) => output.clone(),
        None if io::stdout().is_terminal() => {
            let error = Error::usage("standard output is a terminal")
                .with_hint("add -o FILE, or -o - to fill the screen all the same");
            console.error(&error);
            return exit::code(&error, None);
        }
        None => PathBuf::from("-"),
    };
    let pipe = output == Path::new("-");
    match set.write_csv_file(args.rows, args.seed, &output) {
        Ok(size) => {
            // Somebody reads the pipe; nobody needs to be told.
            if !pipe {
                console.say(&written(args.rows, &output, size));
            }
            exit::DONE
        }
        // `| head` has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::DONE,
        Err(error) => {
            let name = if pipe { "standard output".into() } else { output.display().to_string() };
            let error = Error::new(ErrorKind::Source, format!("cannot write {name}: {error}"));
            console.error(&error);
            exit::code(&error, None)
        }
    }
}

fn list() -> String {
    let width = Set::names().iter().map(|name| name.len()).max().unwrap_or(0);
    let lines = Set::ALL.map(|set| format!("{:width$}  {}", set.name(), set.description()));
    lines.join("\n")
}

fn written(rows: u64, file: &Path, size: u64) -> String {
    let file = file.display().to_string();
    format!(
        "{} ({}) written to {}\nnext: {} load {}",
        counted(rows, "row", "rows"),
        bytes(size),
        visible(&file),
        visible(program::name()),
        visible(&shell_word(&file)),
    )
}
