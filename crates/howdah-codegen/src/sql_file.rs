//! The text of a SQL file, and what is wrong with it before anybody reads its SQL.

use std::path::Path;

use crate::config::NamedPath;
use crate::diagnostic::{Code, Diagnostic, Place, nearest};

/// The text of a file; or what is wrong with it, and what of it can be shown.
pub(crate) fn load(folder: &Path, named: &NamedPath) -> Result<String, (Box<Diagnostic>, Option<String>)> {
    let path = folder.join(&named.path);
    let nowhere = Place { file: named.path.clone(), line: 1, column: 1, length: 1 };
    let bytes = std::fs::read(&path).map_err(|error| {
        let place = named.place.clone().unwrap_or_else(|| nowhere.clone());
        let mut message =
            Diagnostic::error(Code::FileNotFound, place, format!("`{}` cannot be read: {error}", named.path));
        message.suggestion = sibling(&path).map(|near| format!("perhaps you meant `{near}`"));
        (Box::new(message), None)
    })?;
    let (text, wrong) = match String::from_utf8(bytes) {
        Ok(mut text) => {
            // A byte order mark is no character of the first line.
            if text.starts_with('\u{feff}') {
                text.remove(0);
            }
            let nul = text.find('\0').map(|at| (at, "the server takes no NUL characters"));
            (text, nul)
        }
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            (text, Some((at, "the file is not UTF-8")))
        }
    };
    match wrong {
        None => Ok(text),
        Some((at, message)) => {
            let place = crate::diagnostic::Lines::new(&text).place(&named.path, at..at);
            Err((Box::new(Diagnostic::error(Code::SqlParseError, place, message)), Some(text)))
        }
    }
}

/// The file beside a missing one that was probably meant.
fn sibling(path: &Path) -> Option<String> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names =
        std::fs::read_dir(parent).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names = names.filter(|name| name.ends_with(".sql")).collect::<Vec<_>>();
    names.sort();
    let wanted = path.file_name()?.to_str()?;
    nearest(wanted, names.iter().map(String::as_str)).map(str::to_owned)
}
