//! The files that a log's name had one after the other, as rotation leaves them beside it, in the order in which they were written.

use std::fs::{DirEntry, File};
use std::io;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::trace::{FileMark, Trace};

/// Endings that compressors give.
const COMPRESSED: [&str; 6] = ["gz", "bgz", "zst", "zstd", "xz", "bz2"];

/// A number with more digits is a date or a time.
const MOST_DIGITS_OF_A_NUMBER: usize = 5;

/// A directory in which files are renamed is listed anew until two lists are equal; not for ever.
const MOST_LISTS: usize = 50;

/// One of them.
pub(super) struct Rotated {
    pub(super) path: PathBuf,
    pub(super) mark: FileMark,
    pub(super) modified: SystemTime,
    born: Option<SystemTime>,
    /// `None`: it has the name itself.
    stamp: Option<Stamp>,
}

/// What a rotated file has in its name beside that of the log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Stamp {
    /// A generation: `.1`; `.old` is like one.
    Number(u64),
    /// A date or time, by its numbers.
    Date(Vec<u64>),
}

/// The files of `path`, the oldest first and the one that has the name now last, if there is one.
///
/// # Errors
/// The directory or one of them cannot be read.
pub(super) fn list(path: &Path) -> io::Result<Vec<Rotated>> {
    let mut before = None;
    for _ in 0..MOST_LISTS {
        let names = names(path)?;
        let found: io::Result<Vec<Rotated>> = names.iter().cloned().map(open).collect();
        let is_moving = before.as_ref() != Some(&names)
            || found.as_ref().is_ok_and(|found| {
                found.iter().zip(&names).any(|(file, (.., inode))| file.mark.identity().1 != *inode)
            });
        match found {
            // It was renamed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(found) if !is_moving => return Ok(in_order(found)),
            Ok(_) => {}
        }
        before = Some(names);
    }
    Err(io::Error::other("its directory changes all the time"))
}

/// The file that `trace` tells of, under a name that is not like that of a rotated one.
pub(super) fn elsewhere(path: &Path, trace: &Trace) -> Option<(PathBuf, FileMark)> {
    let is_it = |entry: DirEntry| {
        let file = (entry.ino() == trace.identity().1).then(|| File::open(entry.path()).ok())??;
        let mark = FileMark::of(Arc::new(file)).ok()?;
        trace.is_of(&mark).then(|| (entry.path(), mark))
    };
    directory(path).read_dir().ok()?.flatten().find_map(is_it)
}

/// Where rotation leaves files.
pub(super) fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

type Name = (PathBuf, Option<Stamp>, u64);

fn names(path: &Path) -> io::Result<Vec<Name>> {
    let base = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut names: Vec<Name> = Vec::new();
    for entry in directory(path).read_dir()? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let stamp = Stamp::of(&name, &base);
        let is_file = || entry.path().metadata().is_ok_and(|metadata| metadata.is_file());
        if (name == base || stamp.is_some()) && is_file() {
            // A link is the file that it leads to.
            let inode = entry
                .path()
                .metadata()
                .map_or(entry.ino(), |metadata| std::os::unix::fs::MetadataExt::ino(&metadata));
            names.push((entry.path(), stamp, inode));
        }
    }
    // One that is being compressed is there twice until that is done.
    let plain: Vec<PathBuf> = names.iter().map(|(path, ..)| path.clone()).collect();
    names.retain(|(path, stamp, _)| {
        stamp.is_none() || !is_compressed(path) || !plain.contains(&path.with_extension(""))
    });
    names.sort();
    Ok(names)
}

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|ending| COMPRESSED.iter().any(|known| ending == *known))
}

fn open((path, stamp, _): Name) -> io::Result<Rotated> {
    let file = File::open(&path)?;
    let metadata = file.metadata()?;
    let (modified, born) = (metadata.modified()?, metadata.created().ok());
    Ok(Rotated { path, mark: FileMark::of(Arc::new(file))?, modified, born, stamp })
}

impl Stamp {
    /// That of `name`, if it is one of a rotated file of `base`: `log.csv.1`, `log.csv-20260131`, `log-2026-01-31.csv`, each perhaps
    /// compressed. Nothing but digits tells such a file from another log.
    fn of(name: &str, base: &str) -> Option<Stamp> {
        let name = match name.rsplit_once('.') {
            Some((plain, ending)) if COMPRESSED.contains(&ending) => plain,
            _ => name,
        };
        let behind = name.strip_prefix(base);
        let within = || {
            let (stem, ending) = base.rsplit_once('.')?;
            name.strip_prefix(stem)?.strip_suffix(ending)?.strip_suffix('.')
        };
        let rest = behind.or_else(within)?;
        let rest = rest.strip_prefix(['.', '-', '_'])?;
        if rest == "old" {
            return Some(Stamp::Number(0));
        }
        let is_part = |c: char| c.is_ascii_digit() || ".-_:+TZ".contains(c);
        if !rest.chars().all(is_part) || !rest.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let groups = rest.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
        let groups: Vec<u64> = groups.map(|digits| digits.parse().ok()).collect::<Option<_>>()?;
        match *groups {
            [number] if rest.len() <= MOST_DIGITS_OF_A_NUMBER => Some(Stamp::Number(number)),
            _ => Some(Stamp::Date(groups)),
        }
    }
}

/// Dates and numbers say the order themselves; in which direction numbers count, the times of the files say. Of names that cannot
/// be compared the times say everything.
fn in_order(files: Vec<Rotated>) -> Vec<Rotated> {
    let (mut current, mut rotated): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| file.stamp.is_none());
    let is_number = |file: &Rotated| matches!(file.stamp, Some(Stamp::Number(_)));
    if rotated.iter().all(is_number) {
        rotated.sort_by(|a, b| b.stamp.cmp(&a.stamp));
        let ages = rotated.windows(2).map(|pair| match (pair[0].time(), pair[1].time()) {
            (older, newer) if older < newer => 1,
            (older, newer) if older > newer => -1,
            _ => 0,
        });
        // `.1` is the newest unless most say otherwise.
        if ages.sum::<i64>() < 0 {
            rotated.reverse();
        }
    } else if rotated.iter().any(is_number) {
        rotated.sort_by_key(|file| file.modified);
    } else {
        rotated.sort_by(|a, b| a.stamp.cmp(&b.stamp));
    }
    rotated.append(&mut current);
    rotated
}

impl Rotated {
    /// Whether it has the name itself.
    pub(super) fn is_current(&self) -> bool {
        self.stamp.is_none()
    }

    /// A compressed file is younger than what it holds; the time of its last change is that of the original.
    fn time(&self) -> SystemTime {
        self.born.filter(|_| !self.mark.is_compressed()).unwrap_or(self.modified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_a_number_or_a_date_are_those_of_rotated_files() {
        let number = |n| Some(Stamp::Number(n));
        let date = |groups: &[u64]| Some(Stamp::Date(groups.to_vec()));
        for (name, stamp) in [
            ("log.csv.1", number(1)),
            ("log.csv.12.gz", number(12)),
            ("log.1.csv", number(1)),
            ("log.csv.old", number(0)),
            ("log.csv-20260131", date(&[20_260_131])),
            ("log.csv-20260131.zst", date(&[20_260_131])),
            ("log.csv.2026-01-31T10:00", date(&[2026, 1, 31, 10, 0])),
            ("log-2026-01-31.csv.gz", date(&[2026, 1, 31])),
            ("log.csv.1767225600", date(&[1_767_225_600])),
            ("log.csv", None),
            ("log.csv.gz", None),
            ("log.csv.state", None),
            ("log.csv.1.rejects.jsonl", None),
            ("log-errors.csv", None),
            ("log2.csv", None),
            ("catalog.csv.1", None),
        ] {
            assert_eq!(Stamp::of(name, "log.csv"), stamp, "{name}");
        }
        assert_eq!(Stamp::of("messages-20260131.gz", "messages"), date(&[20_260_131]));
    }

    #[test]
    fn numbers_count_in_the_direction_of_the_files_ages_and_dates_always_forwards() {
        let directory = tempfile::tempdir().unwrap();
        let make = |names: &[&str]| {
            for (age, name) in names.iter().enumerate() {
                let file = File::create(directory.path().join(name)).unwrap();
                let age = std::time::Duration::from_secs(100 * age as u64);
                file.set_modified(SystemTime::UNIX_EPOCH + age).unwrap();
            }
        };
        let listed = |base: &str| -> Vec<String> {
            let files = list(&directory.path().join(base)).unwrap();
            files.iter().map(|file| file.path.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        make(&["a.10", "a.9", "a.2", "a.1", "a"]);
        assert_eq!(listed("a"), ["a.10", "a.9", "a.2", "a.1", "a"]);
        make(&["c-20260102", "c-20260103", "c-20260101", "c"]);
        assert_eq!(listed("c"), ["c-20260101", "c-20260102", "c-20260103", "c"]);
        make(&["d.1", "d.1.gz", "d"]);
        assert_eq!(listed("d"), ["d.1", "d"], "it is being compressed");
        assert!(listed("none").is_empty());
    }
}
