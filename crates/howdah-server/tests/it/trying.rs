//! Settings that are tried: what one who is killed leaves is put back, also on a server that does not start with it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use howdah_server::{Error, Persistent, Stood};

use crate::tools::{ask, base};

fn stood(name: &str, value: Option<&str>) -> Stood {
    Stood { name: name.into(), value: value.map(str::to_owned) }
}

/// The lines that ALTER SYSTEM wrote.
fn lines(base: &Path) -> Vec<String> {
    let conf = fs::read_to_string(base.join("trial/data/postgresql.auto.conf")).unwrap();
    conf.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn a_server_that_does_not_start_with_what_is_tried_starts_as_it_was() {
    let base = base();
    let ours = Persistent::in_directory(base.path(), "trial").unwrap();
    assert!(matches!(ours.try_settings().unwrap_err(), Error::Foreign(_)));
    let server = ours.start().unwrap();
    ask(&server, &server.conninfo(), "ALTER SYSTEM SET work_mem = '8MB'");
    ask(&server, &server.conninfo(), "ALTER SYSTEM SET shared_buffers = '16MB'");
    assert_eq!(ours.tried_settings().unwrap(), None);
    let trying = ours.try_settings().unwrap();
    assert!(matches!(ours.try_settings().unwrap_err(), Error::Trying(name) if name == "trial"));
    let before = [stood("shared_buffers", Some("16MB")), stood("shared_preload_libraries", None)];
    trying.write_down(&before).unwrap();
    let mode = fs::metadata(base.path().join("trial/trying")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let tried = ours.tried_settings().unwrap().unwrap();
    assert_eq!((tried.stood.as_slice(), tried.is_under_way), (&before[..], true));

    for tried in ["shared_buffers = '32MB'", "shared_preload_libraries = 'nowhere'"] {
        ask(&server, &server.conninfo(), &format!("ALTER SYSTEM SET {tried}"));
    }
    assert!(matches!(trying.restart().unwrap_err(), Error::Start { .. }));
    let again = trying.start_as_it_was().unwrap();
    assert_eq!(ask(&again, &again.conninfo(), "SHOW shared_buffers"), "16MB");
    assert_eq!(lines(base.path()), ["work_mem = '8MB'", "shared_buffers = '16MB'"]);
    assert_eq!((trying.left().unwrap(), ours.tried_settings().unwrap()), (Vec::new(), None));

    // One who was killed.
    trying.write_down(&[stood("work_mem", None)]).unwrap();
    ours.stop().unwrap();
    // As long as somebody is at it, a start changes nothing.
    let server = ours.start().unwrap();
    assert_eq!(ask(&server, &server.conninfo(), "SHOW work_mem"), "8MB");
    ours.stop().unwrap();
    drop(trying);
    assert!(!ours.tried_settings().unwrap().unwrap().is_under_way);
    let server = ours.start().unwrap();
    assert_eq!(ask(&server, &server.conninfo(), "SHOW work_mem"), "4MB");
    assert_eq!(lines(base.path()), ["shared_buffers = '16MB'"]);

    // Of a howdah that is to come.
    fs::write(base.path().join("trial/trying"), "2\nwork_mem\n").unwrap();
    assert!(matches!(ours.try_settings().unwrap().left().unwrap_err(), Error::TriedByOther(_)));
    fs::remove_file(base.path().join("trial/trying")).unwrap();
    ours.delete().unwrap();
}
