//! `howdah dataset`: test data into a file or a pipe.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use howdah::{Error, ErrorKind};
use howdah_bench::dataset::{Dataset as Set, Part, Recipe};

use crate::args::{Dataset, DatasetFormatArg};
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
    let set = match set.with_tags() {
        Some(tagged) if args.with_tags => tagged,
        None if args.with_tags => {
            let error =
                Error::usage(format!("{} has no tags", set.name())).with_hint("--with-tags is for readings");
            console.error(&error);
            return exit::code(&error, None);
        }
        _ => set,
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
    let recipe = Recipe { hostile: args.hostile, ..set.recipe(args.rows, args.seed) };
    let made = match args.format {
        DatasetFormatArg::Csv => recipe.write_csv_file(&output),
        DatasetFormatArg::Binary => recipe.write_binary_file(Part::WHOLE, &output),
        DatasetFormatArg::Sql => recipe.write_sql_file(&output),
    };
    match made {
        Ok(size) => {
            // Somebody reads the pipe; nobody needs to be told.
            if !pipe {
                console.say(&written(set, args, &output, size));
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
    let lines =
        Set::ALL.map(|set| format!("{:width$}  study {}: {}", set.name(), set.study(), set.description()));
    lines.join("\n")
}

/// What is there now and what comes next.
fn written(set: Set, args: &Dataset, file: &Path, size: u64) -> String {
    let file = file.display().to_string();
    let rows = counted(args.rows, "row", "rows");
    let (what, next) = match args.format {
        DatasetFormatArg::Csv => {
            (rows, format!("{} load {}", visible(program::name()), visible(&shell_word(&file))))
        }
        DatasetFormatArg::Binary => {
            let table = set.name().replace('-', "_");
            // In psql's own quotes, inside those of the shell.
            let copy = format!(
                "\\copy {table} ({}) from '{}' (format binary)",
                set.header(),
                file.replace('\'', "''")
            );
            (rows, format!("psql -c {}", visible(&shell_word(&copy))))
        }
        DatasetFormatArg::Sql => {
            (format!("the table for {rows}"), format!("psql -f {}", visible(&shell_word(&file))))
        }
    };
    format!("{what} ({}) written to {}\nnext: {next}", bytes(size), visible(&file))
}
