//! A connection that cannot be made is the same failure to a program as to a person: kind, text, and the cause behind it.

use std::error::Error as _;
use std::net::TcpListener;

use howdah::connect::{self, ConnectOptions, Environment, Target};
use howdah::{BulkWriter, Error, ErrorKind};
use howdah_testkit::Database;

fn target(conninfo: String) -> Target {
    let options = ConnectOptions { conninfo: Some(conninfo), ..ConnectOptions::default() };
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

    let options = ConnectOptions { conninfo: Some("nonsense=1".to_owned()), ..ConnectOptions::default() };
    let error = Error::from(options.resolve(&Environment::default()).unwrap_err());
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::Connect, "invalid connection option \"nonsense\"")
    );
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
