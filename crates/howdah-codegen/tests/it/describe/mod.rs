//! What a server says of statements.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

mod functions;
mod nulls;
mod random;
mod types;

use howdah_codegen::describe::{self, DescribedStatement, Error, RequestedParameter};
use howdah_connect::{ConnectOptions, Connection, Environment};
use howdah_testkit::Database;

/// Runs `work` on a connection to `database`, in a transaction that is rolled back.
fn in_transaction<T>(database: &Database, work: impl AsyncFnOnce(&Connection) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = ConnectOptions::default().conninfo(database.conninfo());
        let connection = options.resolve(&Environment::default()).unwrap().connect().await.unwrap();
        connection.client().batch_execute("begin").await.unwrap();
        let answer = work(&connection).await;
        connection.client().batch_execute("rollback").await.unwrap();
        answer
    })
}

/// Describes one statement on a database with this schema.
fn described(schema: &str, sql: &str, requested: &[RequestedParameter]) -> Result<DescribedStatement, Error> {
    let database = Database::new();
    database.sql(schema);
    in_transaction(&database, async |connection| {
        describe::describe(connection.client(), sql, requested).await
    })
}

fn parameter(name: &str, ty: Option<&str>) -> RequestedParameter {
    RequestedParameter { name: name.to_owned(), ty: ty.map(str::to_owned) }
}

#[test]
fn nothing_is_executed_and_nothing_stays_after_an_error_too() {
    let database = Database::new();
    database.sql("create table t (id int primary key); create sequence s");
    in_transaction(&database, async |connection| {
        let client = connection.client();
        let statements = [
            "insert into t values ($1) returning id",
            "select nextval('s')",
            "select nothing",
            "select 1; select 2",
        ];
        for sql in statements {
            let _ = describe::describe(client, sql, &[]).await;
        }
        let left = "select (select count(*) from t), (select is_called from s),
                           (select count(*) from pg_proc where proname like 'howdah%')";
        let row = client.query_one(left, &[]).await.unwrap();
        assert_eq!((row.get::<_, i64>(0), row.get::<_, bool>(1), row.get::<_, i64>(2)), (0, false, 0));
    });
}

#[test]
fn an_error_carries_the_servers_code_and_place() {
    let error = described("create table t (a int)", "select 'é', emial from t", &[]).unwrap_err();
    assert_eq!(error.sqlstate.as_deref(), Some("42703"));
    assert_eq!(error.position, Some(13), "{error}");
    let error = described("", "select $1", &[parameter("x", Some("numbr"))]).unwrap_err();
    assert_eq!((error.sqlstate.as_deref(), error.parameter, error.position), (Some("42704"), Some(0), None));
    let error = described("", "select 1; select 2", &[]).unwrap_err();
    assert_eq!(error.sqlstate.as_deref(), Some("42601"));
}

#[test]
fn a_parameter_gets_the_type_that_is_asked_for_and_the_servers_otherwise() {
    let schema = "create type mood as enum ('happy'); create table t (a bigint)";
    let sql = "select 1 from t where a = $1 and $2 is not null";
    let requested = [parameter("a", None), parameter("m", Some("mood[]"))];
    let described = described(schema, sql, &requested).unwrap();
    let seen: Vec<_> =
        described.parameters.iter().map(|one| (one.name.as_str(), one.ty.sql.as_str())).collect();
    assert_eq!(seen, [("a", "bigint"), ("m", "public.mood[]")]);
}
