//! Where things lie: the one module of this crate that reads the environment.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the module that reads the environment for the others"
)]

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// `sys.prefix` of the Python that we run in.
static PYTHON: OnceLock<PathBuf> = OnceLock::new();

/// Tells that we run in a Python of the environment at `prefix`, whose packages go before all others. The first call counts.
pub fn in_python(prefix: PathBuf) {
    PYTHON.get_or_init(|| prefix);
}

/// The directory of PostgreSQL's programs that a person named: `HOWDAH_PG_BIN`.
pub(crate) fn named_bin_dir() -> Option<PathBuf> {
    set("HOWDAH_PG_BIN").map(PathBuf::from)
}

/// The roots of the Python environments we may have been installed in, likeliest first: the one that Python told, that of a
/// program in its `bin`, and the active one.
pub(crate) fn python_environments() -> Vec<PathBuf> {
    let mut roots = Vec::from_iter(PYTHON.get().cloned());
    let program = env::current_exe().ok();
    let bin = program.as_deref().and_then(Path::parent);
    let bin = bin.filter(|bin| bin.file_name().is_some_and(|name| name == "bin"));
    roots.extend(bin.and_then(Path::parent).map(Path::to_path_buf));
    roots.extend(set("VIRTUAL_ENV").map(PathBuf::from));
    let mut seen = Vec::new();
    roots.retain(|root| {
        let new = !seen.contains(root);
        seen.push(root.clone());
        new
    });
    roots
}

/// The file called `name` that a shell would run.
pub(crate) fn on_path(name: &Path) -> Option<PathBuf> {
    env::split_paths(&set("PATH")?).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// The directory below which persistent servers lie. Root's are not below its home, which the unprivileged user that
/// runs the server cannot enter.
pub(crate) fn data_base(root: bool) -> Option<PathBuf> {
    if let Some(named) = set("HOWDAH_DATA_DIR") {
        return Some(PathBuf::from(named));
    }
    if root {
        return Some(PathBuf::from("/var/lib/howdah"));
    }
    // The XDG specification: a relative path there is to be ignored.
    let data_home = set("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data_home = data_home.or_else(|| Some(PathBuf::from(set("HOME")?).join(".local/share")))?;
    Some(data_home.join("howdah"))
}

/// Where copies of programs go that the unprivileged user cannot read. Only root makes them.
pub(crate) fn program_cache() -> PathBuf {
    PathBuf::from("/var/cache/howdah")
}

/// Directories for temporary files, the person's choice first.
pub(crate) fn temporary_directories() -> Vec<PathBuf> {
    vec![env::temp_dir(), PathBuf::from("/tmp")]
}

/// The environment that PostgreSQL's programs get. Everything else is kept from them: `PG*` variables would change
/// what they do, and a server that runs on for weeks has no business with a shell's secrets.
pub(crate) fn server_environment() -> Vec<(&'static str, OsString)> {
    let mut variables: Vec<(&'static str, OsString)> = ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TZ"]
        .into_iter()
        .filter_map(|name| set(name).map(|value| (name, value)))
        .collect();
    variables.push(("PATH", set("PATH").unwrap_or_else(|| "/usr/bin:/bin".into())));
    // Messages in English: the caller may have to tell one failure from another.
    variables.push(("LC_ALL", "C".into()));
    variables
}

/// A variable, where empty means unset, as for PostgreSQL's own.
fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}
