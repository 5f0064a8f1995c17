//! `howdah codegen generate --watch`: generates again whenever something has changed that the code is made of.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use howdah_codegen::config::Config;
use howdah_codegen::dependencies::dependencies;
use howdah_codegen::project::ServerChoice;

use super::{generate, number, project, server};
use crate::args::CodegenGenerate;
use crate::exit;
use crate::figures::{counted, visible};
use crate::render::Console;

/// Files are looked at so often: programs that tell of changes do not tell of those on every kind of mount.
const POLL: Duration = Duration::from_millis(200);

/// So many changed files are named, and the others counted.
const NAMED: usize = 3;

/// What is known of a file, if it is there: when it was written, its length, and which it is.
type Stamp = Option<(SystemTime, u64, u64)>;

/// Generates until a signal ends it; returns only when the first time shows that what was typed cannot work, or when a signal
/// came while a `command` ran.
pub(super) fn run(args: &CodegenGenerate, console: Console) -> u8 {
    let is_throwaway = matches!(server::choose(&args.server, None), Ok((ServerChoice::Throwaway, _)));
    let mut config = None;
    let mut ready = None;
    loop {
        // Before they are read: what changes from now on is seen.
        config = project::read(args.place.as_deref(), &args.project).ok().or(config);
        let before = stamps(args, config.as_ref());
        let is_first = ready.is_none();
        let code = generate::run(args, ready.as_ref().and_then(Option::as_ref), console);
        if is_first && code == exit::USAGE || code > exit::SIGNALLED {
            return code;
        }
        // Each description has a server of its own, on which no earlier one left anything; the next starts while nobody waits.
        drop(ready.take());
        ready = Some(if is_throwaway { ServerChoice::ready().ok() } else { None });
        let files = counted(number(before.len()), "file or folder", "files and folders");
        console.say(&format!("watching {files}; Ctrl-C ends it"));
        console.labelled("changed", &names(&changes(&before, || stamps(args, config.as_ref()))));
    }
}

/// Waits until files differ from what they were and are no longer being written; which they are.
fn changes(before: &BTreeMap<PathBuf, Stamp>, now: impl Fn() -> BTreeMap<PathBuf, Stamp>) -> Vec<PathBuf> {
    let mut last = now();
    loop {
        std::thread::sleep(POLL);
        let found = now();
        if found != *before && found == last {
            break;
        }
        last = found;
    }
    let paths = before.keys().chain(last.keys().filter(|path| !before.contains_key(*path)));
    paths.filter(|path| before.get(*path) != last.get(*path)).cloned().collect()
}

/// All that the project is made of, as the last configuration that could be read says, and that configuration.
fn stamps(args: &CodegenGenerate, config: Option<&Config>) -> BTreeMap<PathBuf, Stamp> {
    let place = args.place.as_deref().or(args.project.config.as_deref());
    let file = match args.project.generator {
        Some(_) => None,
        None => Config::locate(place.unwrap_or(Path::new(""))).ok(),
    };
    let made_of = config.map(dependencies).unwrap_or_default();
    file.into_iter().chain(made_of).map(|path| (path.clone(), stamp(&path))).collect()
}

fn stamp(path: &Path) -> Stamp {
    let found = path.metadata().ok()?;
    // Editors write files of their own beside those that they edit.
    if found.is_dir() {
        return Some((SystemTime::UNIX_EPOCH, 0, 0));
    }
    Some((found.modified().ok()?, found.len(), found.ino()))
}

fn names(paths: &[PathBuf]) -> String {
    let mut named = paths.iter().take(NAMED).map(|path| visible(&path.to_string_lossy())).collect::<Vec<_>>();
    if let Some(more) = paths.len().checked_sub(NAMED).filter(|more| *more > 0) {
        named.push(format!("{more} more"));
    }
    named.join(", ")
}
