//! The files of an entry of `schema:`, by their names.

use std::io;
use std::path::Path;

use super::FolderError;
use crate::diagnostic::Code;

/// How deep folders are looked into. Links to folders are not followed, so there is always an end.
const DEPTH: usize = 8;

/// More files are no schema's.
const MOST: usize = 20_000;

/// A file, by its name below the entry and by its name below the project.
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) shown: String,
}

pub(super) struct Listing {
    pub(super) files: Vec<Listed>,
    /// The entry is a folder, not a file.
    pub(super) is_folder: bool,
}

/// Lists a folder's files, in the order of their names, or the file itself.
pub(super) fn list(root: &Path, path: &str) -> Result<Listing, FolderError> {
    let unreadable = |error: &io::Error| {
        let help = "name a folder of migrations or a SQL file, relative to the configuration";
        FolderError::new(Code::FileNotFound, format!("`{path}` cannot be read: {error}"), help)
    };
    let full = root.join(path);
    let found = std::fs::metadata(&full).map_err(|error| unreadable(&error))?;
    if !found.is_dir() {
        let name = full.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let files = vec![Listed { name, shown: path.to_owned() }];
        return Ok(Listing { files, is_folder: false });
    }
    let mut names = Vec::new();
    walk(&full, "", 0, &mut names).map_err(|error| unreadable(&error))?;
    names.sort();
    let below = if path.ends_with('/') { path.to_owned() } else { format!("{path}/") };
    let files = names.into_iter().map(|name| Listed { shown: format!("{below}{name}"), name }).collect();
    Ok(Listing { files, is_folder: true })
}

fn walk(folder: &Path, before: &str, depth: usize, names: &mut Vec<String>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        // Editors' and version control's own files.
        if name.starts_with('.') {
            continue;
        }
        let name = format!("{before}{name}");
        if entry.file_type()?.is_dir() {
            if depth < DEPTH {
                walk(&entry.path(), &format!("{name}/"), depth + 1, names)?;
            }
        } else if entry.path().is_file() {
            names.push(name);
        }
        if names.len() > MOST {
            return Err(io::Error::other(format!("it has more than {MOST} files")));
        }
    }
    Ok(())
}
