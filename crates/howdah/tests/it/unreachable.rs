//! A connection that cannot be made is the same failure to a program as to a person: kind, text, and the cause behind it.

use std::error::Error as _;
use std::net::TcpListener;

use howdah::connect::{self, ConnectOptions, Environment, Target};
use howdah::{BulkWriter, Error, ErrorKind, Writer, WriterOptions};
use howdah_testkit::Database;
use howdah_testkit::waiting::PATIENCE;

fn target(conninfo: String) -> Target {
    let options = ConnectOptions::default().conninfo(conninfo);
    options.resolve(&Environment::default()).unwrap()
}

fn refused(target: &Target) -> Error {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(BulkWriter::start(target, "t", None)).err().unwrap()
}

fn cause(error: &Error) -> &connect::Error {
    error.source().and_then(|cause| cause.downcast_ref()).unwrap()
}

#[test]
fn the_kind_decides_about_the_exit_code_and_the_cause_stays() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = refused(&target(format!("host=127.0.0.1 port={port} user=me")));
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::Connect, None));
    assert!(error.hint().unwrap().contains("accepting TCP/IP connections"), "{error:?}");
    assert!(cause(&error).is_retryable() && cause(&error).source().unwrap().is::<std::io::Error>());

    let database = Database::new();
    let port = database.tcp_address().port();
    let error = refused(&target(format!("host=127.0.0.1 port={port} user=nobody password=x dbname=nowhere")));
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::Connect, Some("28P01")), "{error:?}");
    assert_eq!(error.message(), cause(&error).message());
    assert!(cause(&error).as_driver_error().is_some());

    let error = refused(&target(format!("host=127.0.0.1 port={port} user=nobody dbname=nowhere")));
    assert_eq!(error.kind(), ErrorKind::PasswordRequired, "{error:?}");

    let options = ConnectOptions::default().conninfo("nonsense=1".to_owned());
    let error = Error::from(options.resolve(&Environment::default()).unwrap_err());
    assert_eq!((error.kind(), error.message()), (ErrorKind::Connect, "invalid connection option"));
}

/// All that a program could print of an error: its texts, its causes, and what `{:?}` makes of it.
fn everything_said(error: &Error) -> String {
    let mut said = format!("{error} {error:?} {:?} {:?}", error.hint(), error.detail());
    let mut cause = error.source();
    while let Some(error) = cause {
        said += &format!(" {error} {error:?}");
        cause = error.source();
    }
    said
}

#[test]
fn a_password_is_in_no_text_that_a_writer_or_its_errors_give() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int CHECK (a > 0))");
    let password = database.setting("password");
    assert!(password.len() > 8, "a password that could not be found by chance");
    let right = target(database.conninfo());
    let writer = Writer::connect_blocking(&right, "t", WriterOptions::default()).unwrap();
    let refused = writer.write_blocking(&(-1,)).unwrap().wait().unwrap_err();
    let statistics = format!("{:?}", writer.close_blocking(PATIENCE));
    let wrong = target(format!("{} user=nobody password=not-{password}", database.conninfo()));
    let unknown = Writer::connect_blocking(&wrong, "t", WriterOptions::default()).err().unwrap();
    let bulk = self::refused(&wrong);
    for said in [
        format!("{right:?} {wrong:?}"),
        statistics,
        everything_said(&refused),
        everything_said(&unknown),
        everything_said(&bulk),
    ] {
        assert!(said.len() > 20, "nothing was said: {said}");
        assert!(!said.contains(&password), "{}", said.replace(&password, "[the password]"));
    }
}

#[test]
fn the_engine_is_known_to_the_server_by_its_name_unless_another_is_given() {
    let database = Database::new();
    database.sql("CREATE TABLE t (name text DEFAULT current_setting('application_name'), n int)");
    for (rest, name) in [("", "howdah"), (" fallback_application_name=x", "x"), (" application_name=y", "y")]
    {
        let target = target(format!("{}{rest}", database.conninfo()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut writer = BulkWriter::start(&target, "t", Some(&["n"])).await.unwrap();
            writer.write(&(1,)).await.unwrap();
            writer.finish().await.unwrap();
        });
        assert_eq!(database.sql("SELECT name FROM t"), name);
        database.sql("TRUNCATE t");
    }
}
