//! What the options of `howdah stream` mean: checked, and turned into the engine's vocabulary.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use howdah::Error;
use howdah::name::TableName;
use howdah::options::Format;
use howdah::stream::StreamOptions;
use howdah::writer::{Delivery, OnConflict, WriterOptions};

use crate::args::{OnConflictArg, Stream};
use crate::names::column_list;
use crate::{job, reading, units};

/// The engine's options.
///
/// # Errors
/// A usage error that names the option.
pub(crate) fn options(args: &Stream) -> Result<StreamOptions, Error> {
    refuse_those_of_loads(args)?;
    refuse_one_file_for_two(args)?;
    let is_json = match args.format {
        Some(format) => format == Format::Ndjson,
        // What standard input is shows only when it comes; then keys that fold differently want quotes.
        None => args.follow.as_ref().is_some_and(|file| job::is_json(&file.to_string_lossy())),
    };
    let reading = reading::options(args.format, &args.input, None, &args.columns, &args.tolerance, is_json)?
        .table(TableName::parse(&args.table)?);
    let mut options = StreamOptions::default().reading(reading).writer(writer(args)?);
    options.follow.clone_from(&args.follow);
    options.state.clone_from(&args.state);
    options.state_table = args.state_table.as_deref().map(TableName::parse).transpose()?;
    Ok(options)
}

fn writer(args: &Stream) -> Result<WriterOptions, Error> {
    let (typed, usual) = (&args.writing, WriterOptions::default());
    let count = |option, text: &Option<String>, usual| match text {
        Some(text) => units::count(option, text),
        None => Ok(usual),
    };
    let bytes = |option, text: &Option<String>, usual| match text {
        Some(text) => units::bytes(option, text),
        None => Ok(usual),
    };
    let time = |option, text: &Option<String>, usual| match text {
        Some(text) => units::time(option, text),
        None => Ok(usual),
    };
    let key = args.conflict_key.as_deref().map(|list| column_list("--conflict-key", list)).transpose()?;
    let target =
        typed.latency_target.as_deref().map(|text| units::time("--latency-target", text)).transpose()?;
    let mut options = usual.clone();
    options.max_rows = count("--max-rows", &typed.max_rows, usual.max_rows)?;
    options.max_bytes = bytes("--max-bytes", &typed.max_bytes, usual.max_bytes)?;
    options.max_age = time("--max-age", &typed.max_age, usual.max_age)?;
    options.connections = count("--connections", &typed.connections, usual.connections)?;
    options.queue_rows = count("--queue-rows", &typed.queue_rows, usual.queue_rows)?;
    options.queue_bytes = bytes("--queue-bytes", &typed.queue_bytes, usual.queue_bytes)?;
    options.on_conflict = args.on_conflict.map(|what| match what {
        OnConflictArg::Ignore => OnConflict::Ignore,
        OnConflictArg::Update => OnConflict::Update,
    });
    options.conflict_key = key.unwrap_or_default();
    options.latency_target = target;
    options.delivery = if typed.at_least_once { Delivery::AtLeastOnce } else { usual.delivery };
    options.retry_for = time("--retry-for", &typed.retry_for, usual.retry_for)?;
    Ok(options)
}

/// Options that a person knows from `howdah load`.
fn refuse_those_of_loads(args: &Stream) -> Result<(), Error> {
    let typed = &args.of_loads;
    let refused = [
        (&typed.encoding, "--encoding", "streams are UTF-8: iconv -f NAME -t UTF-8 | howdah stream …"),
        (&typed.default, "--default", "leave the column out with --skip-columns: then it gets its default"),
        (
            &typed.mode,
            "--mode",
            "rows are added; --on-conflict ignore or update matches them with those that are there",
        ),
        (&typed.jobs, "--jobs", "--connections says how many connections write"),
        (&typed.skip_lines, "--skip-lines", "tail -n +N FILE | howdah stream … leaves lines out"),
        (&typed.types, "--types", "the table is there and has its types"),
        (&typed.write_path, "--write-path", "few rows travel by INSERT, many by COPY, as they come"),
    ];
    match refused.into_iter().find(|(typed, ..)| typed.is_some()) {
        Some((_, option, why)) => Err(Error::usage(format!("{option} is not for streams")).with_hint(why)),
        None => Ok(()),
    }
}

/// Each of these files is written in its own way, over what the others wrote there.
fn refuse_one_file_for_two(args: &Stream) -> Result<(), Error> {
    let named = [
        ("--state", args.state.as_deref()),
        ("--metrics", args.metrics.as_deref()),
        ("--rejects", args.tolerance.rejects.as_deref()),
        ("--follow", args.follow.as_deref()),
    ];
    let named: Vec<_> = named.into_iter().filter_map(|(option, path)| Some((option, path?))).collect();
    for (at, (option, path)) in named.iter().enumerate() {
        if let Some((other, _)) = named[at + 1..].iter().find(|(_, other)| is_same_file(path, other)) {
            let said = format!("{option} and {other} name the same file, {}", path.display());
            return Err(Error::usage(said).with_hint("name a file for each"));
        }
    }
    Ok(())
}

/// Whether two paths lead to one file, or would once it is made.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    match (identity(one), identity(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => place(one).is_some_and(|one| Some(one) == place(other)),
        _ => false,
    }
}

/// Where a file that is not there yet would be.
fn place(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(folder.canonicalize().ok()?.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn parse(line: &[&str]) -> Result<StreamOptions, Error> {
        match Cli::try_parse_from([&["howdah", "stream", "--table", "T"], line].concat()).unwrap().command {
            Command::Stream(args) => options(&args),
            _ => unreachable!(),
        }
    }

    #[test]
    fn every_option_reaches_the_writer_and_the_defaults_that_help_shows_are_its_own() {
        let usual = parse(&[]).unwrap();
        assert_eq!(usual.writer, WriterOptions::default());
        let help = format!("{:?}", WriterOptions::default());
        for shown in [
            "max_rows: 5000",
            "max_bytes: 4194304",
            "max_age: 5ms",
            "connections: 2",
            "queue_rows: 100000",
            "queue_bytes: 67108864",
            "retry_for: 300s",
        ] {
            assert!(help.contains(shown), "{shown} in {help}");
        }
        let line = "--max-rows 7 --max-bytes 1MiB --max-age 1ms --connections 3 --queue-rows 9 --queue-bytes 2kB \
                    --latency-target 20ms --on-conflict update --conflict-key A,b --at-least-once --retry-for 5s \
                    --follow x.csv --state s";
        let o = parse(&line.split_whitespace().collect::<Vec<_>>()).unwrap();
        let w = o.writer;
        assert_eq!(
            (w.max_rows, w.max_bytes, w.connections, w.queue_rows, w.queue_bytes),
            (7, 1 << 20, 3, 9, 2000)
        );
        assert_eq!((w.max_age, w.retry_for), (Duration::from_millis(1), Duration::from_secs(5)));
        assert_eq!(w.latency_target, Some(Duration::from_millis(20)));
        assert_eq!(
            (w.on_conflict, w.conflict_key),
            (Some(OnConflict::Update), vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(w.delivery, Delivery::AtLeastOnce);
        assert_eq!((o.follow, o.state), (Some("x.csv".into()), Some("s".into())));
        let o = parse(&["--state-table", "S.places"]).unwrap();
        assert_eq!(o.state_table.map(|name| name.to_string()), Some("\"s\".\"places\"".into()));
    }

    #[test]
    fn one_file_is_not_written_in_two_ways() {
        for line in [
            ["--state", "a", "--rejects", "./a"],
            ["--metrics", "a", "--state", "../howdah-cli/a"],
            ["--metrics", "Cargo.toml", "--follow", "./Cargo.toml"],
        ] {
            let line = [&["--on-error", "ignore"], &line[..]].concat();
            let error = parse(&line).unwrap_err();
            assert!(error.message().contains("name the same file"), "{line:?}: {error:?}");
        }
        let apart = ["--on-error", "ignore", "--state", "a", "--rejects", "b", "--metrics", "c"];
        parse(&apart).unwrap();
    }

    #[test]
    fn rejects_go_to_a_file() {
        let error = parse(&["--on-error", "ignore", "--rejects", "-"]).unwrap_err();
        assert!(error.message().contains("--rejects") && error.hint().is_some(), "{error:?}");
        parse(&["--on-error", "ignore", "--rejects", "./-"]).unwrap();
    }

    #[test]
    fn what_only_a_load_can_do_is_refused_with_a_way_out() {
        for line in [
            ["--encoding", "latin1"],
            ["--default", "D"],
            ["--mode", "upsert"],
            ["-j", "2"],
            ["--types", "a=int"],
        ] {
            let error = parse(&line).unwrap_err();
            assert!(error.message().contains("not for streams") && error.hint().is_some(), "{line:?}");
        }
    }
}
