//! The files that a pattern stands for: those that a shell (bash with globstar) puts in its place, whatever bytes their names
//! are made of.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Whether `name` has a character in it that stands for others.
pub(crate) fn is_pattern(name: &OsStr) -> bool {
    name.as_bytes().iter().any(|byte| b"*?[".contains(byte))
}

/// What a pattern matches.
#[derive(Debug, Default)]
pub(crate) struct Matches {
    /// Everything but directories: links that lead nowhere and pipes too, as a shell has it. Sorted by name.
    pub(crate) files: Vec<PathBuf>,
    /// What somebody may miss, and what it is.
    pub(crate) left_out: Vec<(PathBuf, &'static str)>,
}

/// Finds what `pattern` matches.
///
/// # Errors
/// A directory in which something may match cannot be read.
pub(crate) fn find(pattern: &OsStr) -> Result<Matches, (PathBuf, io::Error)> {
    let bytes = pattern.as_bytes();
    let mut steps: Vec<PathPart> =
        bytes.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).map(PathPart::new).collect();
    let ends_in_all_below = matches!(steps.last(), Some(PathPart::AllBelow));
    if ends_in_all_below {
        steps.push(PathPart::Matching(Name::new(b"*")));
    }
    let only_directories = bytes.ends_with(b"/");
    let mut search = Search { matches: Matches::default(), only_directories, ends_in_all_below };
    search.walk(Path::new(if bytes.starts_with(b"/") { "/" } else { "" }), &steps)?;
    let mut matches = search.matches;
    // Two ** lead to a file in more than one way.
    matches.files.sort();
    matches.files.dedup();
    matches.left_out.sort();
    matches.left_out.dedup();
    Ok(matches)
}

/// One part of a path.
enum PathPart {
    /// `**`: no directory, or any directories below one another.
    AllBelow,
    One(OsString),
    Matching(Name),
}

impl PathPart {
    fn new(part: &[u8]) -> PathPart {
        if part == b"**" {
            return PathPart::AllBelow;
        }
        let name = Name::new(part);
        match name.literal() {
            Some(literal) => PathPart::One(literal),
            None => PathPart::Matching(name),
        }
    }
}

struct Search {
    matches: Matches,
    only_directories: bool,
    ends_in_all_below: bool,
}

impl Search {
    fn walk(&mut self, base: &Path, steps: &[PathPart]) -> Result<(), (PathBuf, io::Error)> {
        let Some((step, rest)) = steps.split_first() else { return Ok(()) };
        match step {
            PathPart::One(name) => {
                let path = base.join(name);
                if !rest.is_empty() {
                    return self.walk(&path, rest);
                }
                match path.symlink_metadata() {
                    Ok(_) => self.take(path),
                    Err(error) if is_nothing(&error) => {}
                    Err(error) => return Err((path, error)),
                }
            }
            PathPart::Matching(wanted) => {
                for (name, _) in entries(base)? {
                    if !wanted.matches(&name) {
                        continue;
                    }
                    let path = base.join(name);
                    if rest.is_empty() {
                        self.take(path);
                    } else {
                        self.walk(&path, rest)?;
                    }
                }
            }
            PathPart::AllBelow => {
                self.walk(base, rest)?;
                for (name, kind) in entries(base)? {
                    if name.as_bytes().starts_with(b".") {
                        continue;
                    }
                    let path = base.join(name);
                    if kind.is_dir() {
                        self.walk(&path, steps)?;
                    } else if kind.is_symlink() && path.is_dir() {
                        // It may lead upwards, or to what is found by another way.
                        self.matches.left_out.push((path, "a link to a directory, which ** does not follow"));
                    }
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, path: PathBuf) {
        if !path.is_dir() {
            if !self.only_directories {
                self.matches.files.push(path);
            }
        } else if !self.ends_in_all_below {
            self.matches.left_out.push((path, "a directory"));
        }
    }
}

/// What is in the directory; nothing is in what is none.
fn entries(directory: &Path) -> Result<Vec<(OsString, std::fs::FileType)>, (PathBuf, io::Error)> {
    let named = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let read = || {
        std::fs::read_dir(named)?
            .map(|entry| entry.and_then(|e| Ok((e.file_name(), e.file_type()?))))
            .collect()
    };
    match read() {
        Err(error) if is_nothing(&error) => Ok(Vec::new()),
        read => read.map_err(|error| (named.to_owned(), error)),
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A pattern of names: characters, and bytes that belong to none.
struct Name(Vec<Token>);

#[derive(Debug, PartialEq)]
enum Token {
    One(u32),
    Any,
    Many,
    Set { is_negated: bool, members: Vec<Member> },
}

#[derive(Debug, PartialEq)]
enum Member {
    Range(u32, u32),
    /// A class of characters, by its name.
    Class(String),
}

/// Bytes that are no UTF-8 come behind all characters.
const NO_CHARACTER: u32 = 0x11_0000;

fn symbols(name: &[u8]) -> Vec<u32> {
    let of = |chunk: std::str::Utf8Chunk<'_>| -> Vec<u32> {
        let bytes = chunk.invalid().iter().map(|byte| NO_CHARACTER + u32::from(*byte));
        chunk.valid().chars().map(u32::from).chain(bytes).collect()
    };
    name.utf8_chunks().flat_map(of).collect()
}

impl Name {
    fn new(pattern: &[u8]) -> Name {
        let symbols = symbols(pattern);
        let mut tokens = Vec::new();
        let mut rest = &symbols[..];
        while let Some((first, behind)) = rest.split_first() {
            rest = behind;
            tokens.push(match char::from_u32(*first) {
                Some('*') => Token::Many,
                Some('?') => Token::Any,
                Some('[') => match set(behind) {
                    Some((set, behind)) => {
                        rest = behind;
                        set
                    }
                    // It is not closed.
                    None => Token::One(*first),
                },
                _ => {
                    let (symbol, behind) = escaped(*first, behind);
                    rest = behind;
                    Token::One(symbol)
                }
            });
        }
        Name(tokens)
    }

    /// The name, if there is only one that matches.
    fn literal(&self) -> Option<OsString> {
        let mut bytes = Vec::new();
        for token in &self.0 {
            let Token::One(symbol) = token else { return None };
            match char::from_u32(*symbol) {
                Some(character) => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
                None => bytes.extend(u8::try_from(symbol - NO_CHARACTER)),
            }
        }
        Some(OsString::from_vec(bytes))
    }

    fn matches(&self, name: &OsStr) -> bool {
        // A hidden file has to be asked for.
        if name.as_bytes().starts_with(b".") && self.0.first() != Some(&Token::One(u32::from('.'))) {
            return false;
        }
        let name = symbols(name.as_bytes());
        let (mut at, mut next) = (0, 0);
        // Behind the last star, and where what it stands for ends at the least.
        let mut star = None;
        loop {
            match (self.0.get(at), name.get(next)) {
                (Some(Token::Many), _) => {
                    star = Some((at + 1, next));
                    at += 1;
                }
                (None, None) => return true,
                (Some(token), Some(symbol)) if token.admits(*symbol) => (at, next) = (at + 1, next + 1),
                _ => match star {
                    Some((behind, end)) if end < name.len() => {
                        star = Some((behind, end + 1));
                        (at, next) = (behind, end + 1);
                    }
                    _ => return false,
                },
            }
        }
    }
}

/// The symbol that `first` is or escapes, and what comes then.
fn escaped(first: u32, behind: &[u32]) -> (u32, &[u32]) {
    match behind.split_first() {
        Some((symbol, behind)) if first == u32::from('\\') => (*symbol, behind),
        _ => (first, behind),
    }
}

/// The set whose bracket was opened before `symbols`, and what comes behind it; `None`: it is not closed.
fn set(symbols: &[u32]) -> Option<(Token, &[u32])> {
    let is = |symbol: Option<&u32>, character: char| symbol == Some(&u32::from(character));
    let is_negated = is(symbols.first(), '!') || is(symbols.first(), '^');
    let mut rest = &symbols[usize::from(is_negated)..];
    let mut members = Vec::new();
    loop {
        let (first, behind) = rest.split_first()?;
        if is(Some(first), ']') && !members.is_empty() {
            return Some((Token::Set { is_negated, members }, behind));
        }
        if is(Some(first), '[') && is(behind.first(), ':') {
            let close = behind.windows(2).skip(1).position(|two| is(two.first(), ':') && is(two.get(1), ']'));
            if let Some(length) = close {
                let name = &behind[1..=length];
                members
                    .push(Member::Class(name.iter().filter_map(|symbol| char::from_u32(*symbol)).collect()));
                rest = &behind[length + 3..];
                continue;
            }
        }
        let (from, behind) = escaped(*first, behind);
        rest = behind;
        let to = match behind {
            [dash, last, behind @ ..] if is(Some(dash), '-') && !is(Some(last), ']') => {
                let (to, behind) = escaped(*last, behind);
                rest = behind;
                to
            }
            _ => from,
        };
        members.push(Member::Range(from, to));
    }
}

impl Token {
    fn admits(&self, symbol: u32) -> bool {
        match self {
            Token::One(one) => *one == symbol,
            Token::Any => true,
            Token::Many => false,
            Token::Set { is_negated, members } => {
                members.iter().any(|member| member.admits(symbol)) != *is_negated
            }
        }
    }
}

impl Member {
    fn admits(&self, symbol: u32) -> bool {
        match self {
            Member::Range(from, to) => (*from..=*to).contains(&symbol),
            Member::Class(name) => char::from_u32(symbol).is_some_and(|c| is_of(name, c)),
        }
    }
}

fn is_of(class: &str, c: char) -> bool {
    match class {
        "alpha" => c.is_alphabetic(),
        "digit" => c.is_ascii_digit(),
        "alnum" => c.is_alphanumeric(),
        "upper" => c.is_uppercase(),
        "lower" => c.is_lowercase(),
        "space" => c.is_whitespace(),
        "blank" => c == ' ' || c == '\t',
        "punct" => c.is_ascii_punctuation(),
        "xdigit" => c.is_ascii_hexdigit(),
        "cntrl" => c.is_control(),
        "graph" => !c.is_control() && !c.is_whitespace(),
        "print" => !c.is_control(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    /// What bash makes of `pattern`, without directories.
    fn of_bash(directory: &Path, pattern: &[u8]) -> Option<Vec<PathBuf>> {
        let script = [b"shopt -s globstar nullglob; printf '%s\\0' ", pattern].concat();
        let mut bash = Command::new("bash");
        bash.arg("-c").arg(OsStr::from_bytes(&script)).env("LC_ALL", "C.UTF-8").current_dir(directory);
        let printed = bash.output().ok()?.stdout;
        let names = printed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let paths = names.map(|name| directory.join(OsStr::from_bytes(name)));
        let mut files: Vec<PathBuf> = paths.filter(|path| !path.is_dir()).collect();
        files.sort();
        Some(files)
    }

    fn of_ours(directory: &Path, pattern: &[u8]) -> Vec<PathBuf> {
        find(directory.join(OsStr::from_bytes(pattern)).as_os_str()).unwrap().files
    }

    /// Names of all kinds, links and a pipe.
    fn tree() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &[u8]| directory.path().join(OsStr::from_bytes(name));
        for name in [&b"gd"[..], b"gd/sub", b"gd/sub/low", b".hidden", b"gd/\xff dir", b"[x]"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        for name in [
            &b"a.csv"[..],
            b"b.csv",
            b"ab.csv",
            b"B1.csv",
            b"-.csv",
            b"].csv",
            b"[.csv",
            b"*.csv",
            b"\\.csv",
            b"gd/a.csv",
            b"gd/b\xff.csv",
            b"gd/.hid.csv",
            "gd/é.csv".as_bytes(),
            b"gd/sub/c.csv",
            b"gd/sub/low/d.csv",
            b".hidden/e.csv",
            b"gd/\xff dir/f.csv",
            b"[x]/g.csv",
            b"c d.csv",
            b"^.csv",
            b"!.csv",
        ] {
            std::fs::write(path(name), b"").unwrap();
        }
        symlink("nowhere", path(b"gd/dangling.csv")).unwrap();
        symlink("a.csv", path(b"gd/link.csv")).unwrap();
        symlink("gd", path(b"linked")).unwrap();
        assert!(Command::new("mkfifo").arg(path(b"gd/pipe.csv")).status().unwrap().success());
        directory
    }

    #[test]
    fn a_pattern_takes_what_the_shell_takes() {
        let tree = tree();
        for pattern in [
            &b"gd/*.csv"[..],
            b"gd/.*.csv",
            b"gd/.h*",
            b"*.csv",
            b"**/*.csv",
            b"gd/**",
            b"linked/**/*.csv",
            b"*/*.csv",
            b"*/*/*.csv",
            b"gd/?.csv",
            b"gd/b?.csv",
            b"gd/b\xff*",
            b"gd/\xff*/*",
            b"gd/[!a].csv",
            b"[[:upper:]]*.csv",
            b"[]].csv",
            b"[!]].csv",
            b"[a-c]*.csv",
            b"[a-].csv",
            b"[[].csv",
            b"[*].csv",
            b"\\**",
            b"[\\\\]*",
            b"[x]/*",
            b"\\[x]/*.csv",
            b"*.nothing",
            b"./*.csv",
            b"gd/../*.csv",
            b"*/a.csv",
            b"**/sub/*",
            b"**/**/c.csv",
            b"a.csv/*",
            b"*[",
            b"[[:digit:]x]*",
            b"*[[:digit:]].csv",
            b".*/*.csv",
            b"[.]hidden/*",
            b"*\\ *",
            b"[\\^].csv",
            b"a**",
            b"*/",
        ] {
            let Some(expected) = of_bash(tree.path(), pattern) else { return };
            assert_eq!(of_ours(tree.path(), pattern), expected, "{}", pattern.escape_ascii());
        }
    }

    #[test]
    fn what_is_left_out_is_known() {
        let tree = tree();
        let left_out = |pattern: &[u8]| {
            let found = find(tree.path().join(OsStr::from_bytes(pattern)).as_os_str()).unwrap();
            let name = |path: &Path| path.strip_prefix(tree.path()).unwrap().to_string_lossy().into_owned();
            found.left_out.iter().map(|(path, what)| (name(path), *what)).collect::<Vec<_>>()
        };
        assert_eq!(left_out(b"gd/s*"), [("gd/sub".to_owned(), "a directory")]);
        let linked = ("linked".to_owned(), "a link to a directory, which ** does not follow");
        assert_eq!(left_out(b"**/*.csv"), [linked]);
        assert_eq!(left_out(b"gd/**"), []);
    }

    #[test]
    fn a_directory_that_cannot_be_read_is_an_error_with_its_name() {
        let long = "x".repeat(300);
        let (path, _) = find(OsStr::new(&format!("/{long}/*"))).unwrap_err();
        assert_eq!(path, Path::new(&format!("/{long}")));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
        #[test]
        fn any_pattern_takes_what_the_shell_takes(
            name in "[ab.\\]-]{1,5}",
            pattern in "([ab.?*]|\\[[!^]?[ab.-]{1,3}\\]){1,6}",
        ) {
            let directory = tempfile::tempdir().unwrap();
            prop_assume!(name != "." && name != ".." && is_pattern(OsStr::new(&pattern)));
            std::fs::write(directory.path().join(&name), b"").unwrap();
            if let Some(expected) = of_bash(directory.path(), pattern.as_bytes()) {
                prop_assert_eq!(of_ours(directory.path(), pattern.as_bytes()), expected);
            }
        }
    }
}
