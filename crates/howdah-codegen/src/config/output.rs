//! Where files may be written: below the folder of an output, and nowhere else.

use std::path::{Component, Path, PathBuf};

/// The path of a generated file below a folder, which the user named.
///
/// # Errors
///
/// What keeps it from being there: it is absolute, goes up, names no file, or something on the way is a link.
pub fn below(folder: &Path, file: &str) -> Result<PathBuf, String> {
    let names = Path::new(file)
        .components()
        .map(|component| match component {
            Component::Normal(name) => Ok(name),
            _ => Err(format!("`{file}` would not be below the output; paths have no `.`, `..` or root")),
        })
        .collect::<Result<Vec<_>, _>>()?;
    if names.is_empty() || file.ends_with('/') || file.contains(['\0', '\\']) {
        return Err(format!("`{file}` names no file"));
    }
    let mut path = folder.to_owned();
    for name in names {
        path.push(name);
        // A link in the folder could lead anywhere; the folder itself is the user's word.
        if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(format!("`{}` is a link; nothing is written through it", path.display()));
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_outside_of_the_output() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path();
        assert_eq!(below(root, "a/b.py"), Ok(root.join("a/b.py")));
        for outside in ["", "/etc/passwd", "../a", "a/../../b", "./a", "a/", "a\0b", "a\\..\\b"] {
            assert!(below(root, outside).is_err(), "{outside:?}");
        }
        std::os::unix::fs::symlink("/tmp", root.join("link"))?;
        assert!(below(root, "link/a").is_err());
        assert!(below(root, "link").is_err());
        Ok(())
    }
}
