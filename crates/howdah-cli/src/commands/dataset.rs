//! `howdah dataset`: test data into a file or a pipe.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use howdah::{Error, ErrorKind};
use howdah_bench::dataset::{Dataset as Set, Generator, Part, gh_archive};

use crate::args::{Dataset, DatasetFormatArg};
use crate::exit;
use crate::figures::{bytes, counted, shell_word, visible};
use crate::program;
use crate::render::Console;

/// The name under which files are converted instead of rows made.
const CONVERTER: &str = "gh-archive";

/// Makes the data set, converts files into one, or lists what there is.
pub(crate) fn run(args: &Dataset) -> u8 {
    let console = Console::new(false);
    let done = match args.name.as_str() {
        "list" => {
            console.result(&list());
            return exit::DONE;
        }
        CONVERTER => convert(args, console),
        _ => make(args, console),
    };
    done.unwrap_or_else(|error| {
        console.error(&error);
        exit::code(&error, None)
    })
}

fn make(args: &Dataset, console: Console) -> Result<u8, Error> {
    let named = Set::from_name(&args.name).ok_or_else(|| {
        Error::usage(format!("there is no data set {:?}", args.name))
            .with_hint(format!("one of: {}", Set::names().join(", ")))
    })?;
    if let Some(file) = args.files.first() {
        return Err(Error::usage(format!("{} is made, it does not read {}", named.name(), file.display()))
            .with_hint(format!("-o {} writes there", file.display())));
    }
    let set = if args.with_tags {
        named.with_tags().ok_or_else(|| {
            Error::usage(format!("{} has no tags", named.name())).with_hint("--with-tags is for readings")
        })?
    } else {
        named
    };
    let output = output(args)?;
    let rows = args.rows.unwrap_or(1_000_000);
    let generator = Generator { hostile: args.hostile, ..set.generator(rows, args.seed) };
    let made = match args.format {
        DatasetFormatArg::Csv => generator.write_csv_file(&output),
        DatasetFormatArg::Ndjson => generator.write_ndjson_file(&output),
        DatasetFormatArg::Parquet => generator.write_parquet_file(&output),
        DatasetFormatArg::Binary => generator.write_binary_file(Part::WHOLE, &output),
        DatasetFormatArg::Sql => generator.write_sql_file(&output),
    };
    match made {
        Ok(size) => written(console, set, args.format, rows, &output, size),
        // `| head` has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => {
            let name = if is_pipe(&output) { "standard output".into() } else { output.display().to_string() };
            return Err(Error::new(ErrorKind::Source, format!("cannot write {name}: {error}")));
        }
    }
    Ok(exit::DONE)
}

fn convert(args: &Dataset, console: Console) -> Result<u8, Error> {
    if args.files.is_empty() {
        return Err(Error::usage("gh-archive converts files, and none is named")
            .with_hint("an hour of the archive is a file like 2025-01-01-0.json.gz"));
    }
    if args.hostile
        || args.with_tags
        || !matches!(args.format, DatasetFormatArg::Csv | DatasetFormatArg::Binary)
    {
        return Err(Error::usage("gh-archive converts what is in the files, as csv or binary")
            .with_hint("its table: howdah dataset github-events --format sql"));
    }
    let output = output(args)?;
    let binary = args.format == DatasetFormatArg::Binary;
    let converted = match gh_archive::convert(&args.files, args.rows.unwrap_or(u64::MAX), binary, &output) {
        Ok(converted) => converted,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(exit::DONE),
        Err(error) => return Err(Error::new(ErrorKind::Source, format!("cannot convert: {error}"))),
    };
    written(console, Set::GithubEvents, args.format, converted.rows, &output, converted.bytes);
    let Some(first) = converted.first_malformed else {
        return Ok(exit::DONE);
    };
    let lines = counted(converted.malformed, "line is no event", "lines are no events");
    console.labelled("warning", &format!("{lines} and left out; the first is {}", visible(&first)));
    Ok(exit::SOME_REJECTED)
}

fn list() -> String {
    let width = Set::names().iter().map(|name| name.len()).max().unwrap_or(0);
    let lines =
        Set::ALL.map(|set| format!("{:width$}  study {}: {}", set.name(), set.study(), set.description()));
    lines.join("\n")
}

fn output(args: &Dataset) -> Result<PathBuf, Error> {
    match &args.output {
        Some(output) => Ok(output.clone()),
        None if io::stdout().is_terminal() => Err(Error::usage("standard output is a terminal")
            .with_hint("add -o FILE, or -o - to fill the screen all the same")),
        None => Ok(PathBuf::from("-")),
    }
}

fn is_pipe(output: &Path) -> bool {
    output == Path::new("-")
}

/// Says what is there now and what comes next; somebody reads a pipe, and nobody needs to be told.
fn written(console: Console, set: Set, format: DatasetFormatArg, rows: u64, file: &Path, size: u64) {
    if is_pipe(file) {
        return;
    }
    let file = file.display().to_string();
    let rows = counted(rows, "row", "rows");
    let (what, next) = match format {
        DatasetFormatArg::Csv | DatasetFormatArg::Ndjson | DatasetFormatArg::Parquet => {
            (rows, format!("{} load {}", visible(program::name()), visible(&shell_word(&file))))
        }
        DatasetFormatArg::Binary => {
            let table = set.name().replace('-', "_");
            // In psql's own quotes, inside those of the shell.
            let quoted = file.replace('\'', "''");
            let copy = format!("\\copy {table} ({}) from '{quoted}' (format binary)", set.header());
            (rows, format!("psql -c {}", visible(&shell_word(&copy))))
        }
        DatasetFormatArg::Sql => {
            (format!("the table for {rows}"), format!("psql -f {}", visible(&shell_word(&file))))
        }
    };
    console.say(&format!("{what} ({}) written to {}\nnext: {next}", bytes(size), visible(&file)));
}
