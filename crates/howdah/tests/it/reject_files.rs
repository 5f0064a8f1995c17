//! The file that rejects go to: never one that is read, never over what somebody may still need, and only its owner's.

use std::os::unix::fs::PermissionsExt;

use howdah::options::OnError;
use howdah::{Control, ErrorKind, LoadOptions};
use howdah_testkit::Database;

use crate::common::{GATE, Holder, load, options, target, try_load, until_at_the_gate};

fn tolerant(database: &Database, file: &str) -> LoadOptions {
    options(file, "t").on_error(OnError::Ignore).rejects(database.path("rejects.jsonl"))
}

fn lines(path: &str) -> usize {
    std::fs::read_to_string(path).unwrap().lines().count()
}

#[test]
fn rejects_never_overwrite_an_input_and_only_the_owner_reads_them() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int)");
    let file = database.file("input.csv", "a\nx\n1\n");
    let wanted = tolerant(&database, &file).rejects(file.clone());
    assert_eq!(try_load(&database, &wanted).unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a\nx\n1\n");
    let nowhere = tolerant(&database, &file).rejects("/no/where.jsonl");
    assert_eq!(try_load(&database, &nowhere).unwrap_err().kind(), ErrorKind::Source);
    // A file of an earlier load that may go is emptied, whoever could read it.
    let path = database.file("rejects.jsonl", "old");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    load(&database, &tolerant(&database, &file));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(lines(&path), 1);
}

#[test]
fn a_reject_file_of_an_earlier_load_is_never_lost_without_being_asked() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int)");
    let file = database.file("input.csv", "a\nx\n1\n");
    let path = database.path("rejects.jsonl");
    let careful = tolerant(&database, &file).overwrite_rejects(false);
    load(&database, &careful);
    let kept = std::fs::read_to_string(&path).unwrap();
    let clean = database.file("clean.csv", "a\n2\n");
    let again = careful.clone().paths([clean]);
    let error = try_load(&database, &again).unwrap_err();
    assert_eq!((error.kind(), error.visible()), (ErrorKind::Usage, Some("nothing was changed")), "{error:?}");
    assert!(
        error.message().contains("exists already") && error.hint().unwrap().contains("overwrite_rejects")
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), kept);
    // Nor through a link, to whatever it leads.
    let precious = database.file("precious", "");
    for target in [precious.as_str(), path.as_str(), "/no/where"] {
        let link = database.path("link.jsonl");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(target, &link).unwrap();
        let error = try_load(&database, &careful.clone().rejects(link.clone())).unwrap_err();
        assert!(error.message().contains("is a link"), "{error:?}");
    }
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "");
    // An empty file and a device are there to be written to.
    load(&database, &careful.clone().rejects(precious.clone()));
    assert_eq!(lines(&precious), 1);
    load(&database, &careful.rejects("/dev/null"));
    assert_eq!(database.sql("SELECT count(*) FROM t"), "3");
    load(&database, &again.overwrite_rejects(true));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
}

#[test]
fn a_hard_link_to_an_input_is_no_place_for_rejects() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int)");
    let file = database.file("t.csv", "a\n1\nx\n");
    let link = database.path("link.jsonl");
    std::fs::hard_link(&file, &link).unwrap();
    let wanted = options(&file, "t").on_error(OnError::Ignore).rejects(link).overwrite_rejects(true);
    let error = try_load(&database, &wanted).unwrap_err();
    assert!(error.message().ends_with("is an input: rejects cannot go there"), "{error:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a\n1\nx\n");
}

#[test]
fn a_reject_file_that_another_load_writes_to_is_refused_before_any_row_moves() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int); CREATE TABLE other (a int)");
    let file = database.file("input.csv", "a\nx\n1\n");
    let path = database.path("rejects.jsonl");
    for overwrites in [false, true] {
        let gate = Holder::gate(&database);
        let first = tolerant(&database, &file).overwrite_rejects(overwrites).before([GATE]);
        let to = target(&database);
        let first = std::thread::spawn(move || howdah::load(&first, &to, &Control::new()));
        until_at_the_gate(&database, &first);
        let (hard, soft) = (database.path("hard.jsonl"), database.path("soft.jsonl"));
        for link in [&hard, &soft] {
            let _ = std::fs::remove_file(link);
        }
        std::fs::hard_link(&path, &hard).unwrap();
        std::os::unix::fs::symlink(&path, &soft).unwrap();
        for (name, overwrites) in
            [(&path, false), (&path, true), (&hard, false), (&hard, true), (&soft, true)]
        {
            let second = options(&file, "other").on_error(OnError::Ignore);
            let second = second.rejects(name.clone()).overwrite_rejects(overwrites);
            let error = try_load(&database, &second).unwrap_err();
            assert_eq!((error.kind(), error.visible()), (ErrorKind::Usage, Some("nothing was changed")));
            let expected = format!("rejects cannot go to {name}: another load or stream is writing there");
            assert_eq!(error.message(), expected);
        }
        assert_eq!(database.sql("SELECT count(*) FROM other"), "0");
        gate.release();
        assert_eq!(first.join().unwrap().unwrap().rows_rejected, 1);
        assert_eq!(lines(&path), 1);
    }
    // It is free again.
    load(&database, &tolerant(&database, &file));
    assert_eq!(lines(&path), 1);
}
