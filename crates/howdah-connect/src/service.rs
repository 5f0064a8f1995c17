//! Service files: connection options under a name.
//! <https://www.postgresql.org/docs/current/libpq-pgservice.html>

use std::path::{Path, PathBuf};

use crate::conninfo::{Parameters, keyword};
use crate::environment::Environment;
use crate::error::Error;

/// Where Debian's libpq looks for the system's file.
const SYSTEM_DIRECTORY: &str = "/etc/postgresql-common";

/// The options of a service; `given` are those of the connection string.
///
/// # Errors
/// No such service, or a file that libpq would refuse as well.
pub(crate) fn find(given: &Parameters, environment: &Environment) -> Result<Parameters, Error> {
    let named = |keyword: &str, variable: &str| -> Option<String> {
        given.get(keyword).cloned().or_else(|| environment.get(variable).map(str::to_owned))
    };
    let Some(name) = named("service", "PGSERVICE") else { return Ok(Parameters::new()) };
    let own = match named("servicefile", "PGSERVICEFILE") {
        Some(path) => Some(PathBuf::from(path)),
        None => environment.home().map(|home| home.join(".pg_service.conf")).filter(|path| path.exists()),
    };
    let system =
        Path::new(environment.get("PGSYSCONFDIR").unwrap_or(SYSTEM_DIRECTORY)).join("pg_service.conf");
    for path in own.into_iter().chain(Some(system).filter(|path| path.exists())) {
        let text = std::fs::read_to_string(&path).map_err(|error| {
            let text = format!("service file {:?} cannot be read: {error}", path.display());
            Error::configuration(text).caused_by(error)
        })?;
        if let Some(found) = section(&text, &name, &path)? {
            return Ok(found);
        }
    }
    Err(Error::configuration(format!("definition of service {name:?} not found"))
        .with_hint("services are defined in ~/.pg_service.conf, or in the file that PGSERVICEFILE names"))
}

/// The first section of this name; of an option given twice the first value counts.
fn section(text: &str, name: &str, path: &Path) -> Result<Option<Parameters>, Error> {
    let mut found: Option<Parameters> = None;
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        // The line itself may hold a password.
        let wrong = |what: &str| {
            Error::configuration(format!("{what} in service file {:?}, line {number}", path.display()))
        };
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(heading) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            if heading.strip_suffix(']') == Some(name) {
                found = Some(Parameters::new());
            }
            continue;
        }
        let Some(options) = &mut found else { continue };
        if line.starts_with("ldap") {
            return Err(wrong("LDAP look-ups are not supported"));
        }
        let (key, value) = line.split_once('=').ok_or_else(|| wrong("syntax error"))?;
        if key == "service" || key == "servicefile" {
            return Err(wrong(&format!("nested \"{key}\" specifications not supported")));
        }
        let key = keyword(key).map_err(|_| wrong("syntax error"))?;
        options.entry(key).or_insert_with(|| value.to_owned());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_read_as_by_libpq() {
        let text = "# mine\nhost=nowhere\n\n[a]\nhost=h\n  port=1 \nport=2\npassword=se cret\n[b]\nnonsense\n[c]\nservice=a\n";
        let read = |name: &str| section(text, name, Path::new("f"));
        let a = read("a").unwrap().unwrap();
        assert_eq!((a["host"].as_str(), a["port"].as_str(), a["password"].as_str()), ("h", "1", "se cret"));
        assert_eq!(read("none").unwrap(), None);
        assert_eq!(read("b").unwrap_err().message(), "syntax error in service file \"f\", line 10");
        assert!(read("c").unwrap_err().message().starts_with("nested \"service\""));
    }
}
