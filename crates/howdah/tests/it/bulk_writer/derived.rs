//! Structs as rows.

use std::borrow::Cow;

use howdah::{BulkWriter, Error, FieldWriter, Literal, Row, Value};
use howdah_testkit::Database;

use super::{run, start, target};

#[derive(Row)]
#[howdah(rename_all = "camelCase")]
struct Event<'e, T> {
    event_id: i64,
    r#type: &'e str,
    #[howdah(rename = "The Payload")]
    payload: Option<T>,
    #[howdah(skip)]
    #[expect(dead_code, reason = "it is no column")]
    attempts: u32,
}

/// Made by a macro, as programs do.
macro_rules! struct_of {
    ($name:ident { $($field:ident: $type:ty),+ }) => {
        #[derive(Row)]
        struct $name { $($field: $type),+ }
    };
}

struct_of!(Pair { a: i32, b: Option<Cow<'static, str>> });

fn table(database: &Database) {
    database.sql(r#"CREATE TABLE t ("eventId" bigint, type text, "The Payload" jsonb, more int DEFAULT 3)"#);
}

#[test]
fn fields_go_into_the_columns_of_their_names() {
    let database = Database::new();
    table(&database);
    let counted = run(async {
        let mut bulk = start(&database, Event::<&str>::COLUMNS).await?;
        let event = Event { event_id: 1, r#type: "push", payload: Some("[1]"), attempts: 0 };
        bulk.write(&event).await?;
        bulk.write(&Event { payload: None, ..event }).await?;
        // Another type with the same columns.
        let json = serde_json::json!({"a": [true, null]});
        bulk.write(&Event { event_id: 2, r#type: "pull", payload: Some(&json), attempts: 0 }).await?;
        bulk.finish().await
    });
    assert_eq!(counted.unwrap(), 3);
    assert_eq!(database.sql("TABLE t"), "1|push|[1]|3\n1|push||3\n2|pull|{\"a\": [true, null]}|3");
}

#[test]
fn a_struct_for_other_columns_is_refused_before_values_land_in_wrong_ones() {
    let database = Database::new();
    table(&database);
    database.sql("CREATE TABLE turned (b text, a int)");
    run(async {
        let mut bulk = start(&database, Some(&["type", "eventId", "The Payload"])).await.unwrap();
        let error = bulk
            .write(&Event { event_id: 1, r#type: "push", payload: Some(1), attempts: 0 })
            .await
            .unwrap_err();
        assert_eq!(error.sqlstate(), Some("42601"));
        assert!(error.hint().is_some_and(|hint| hint.contains("COLUMNS")), "{error:?}");
        let pair = Pair { a: 1, b: Some("x".into()) };
        let mut bulk = BulkWriter::start(&target(&database), "turned", None).await.unwrap();
        assert!(bulk.write(&pair).await.is_err());
        let mut bulk = BulkWriter::start(&target(&database), "turned", Pair::COLUMNS).await.unwrap();
        bulk.write(&pair).await.unwrap();
        bulk.write(&&Pair { a: 2, b: None }).await.unwrap();
        assert_eq!(bulk.finish().await.unwrap(), 2);
    });
    assert_eq!(database.sql("TABLE turned"), "x|1\n|2");
}

/// A value of the program's own.
struct Celsius(f64);

impl Value for Celsius {
    fn put(&self, field: &mut FieldWriter<'_>) -> Result<(), Error> {
        if field.column().type_name == "text" {
            return Literal(format_args!("{} °C", self.0)).put(field);
        }
        // What fails leaves nothing behind.
        if field.int(i64::MAX).is_err() { field.float8(self.0) } else { Ok(()) }
    }
}

/// Puts no field at all.
struct Nothing;

impl Value for Nothing {
    fn put(&self, _: &mut FieldWriter<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// Puts two.
struct Twice;

impl Value for Twice {
    fn put(&self, field: &mut FieldWriter<'_>) -> Result<(), Error> {
        field.int(1)?;
        field.int(1)
    }
}

#[test]
fn values_of_a_program_may_look_at_the_column_and_cannot_break_a_row() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a text, b real, c smallint)");
    let counted = run(async {
        let mut bulk = start(&database, None).await?;
        let error = bulk.write(&(Celsius(1.5), Celsius(1.5), Celsius(2.5))).await.unwrap_err();
        assert_eq!((error.sqlstate(), error.column()), (Some("22P02"), Some("c")));
        assert!(bulk.write(&(Nothing, 1, 1)).await.unwrap_err().message().contains("no field"));
        assert!(bulk.write(&(1, Twice, 1)).await.unwrap_err().message().contains("more than one"));
        bulk.write(&(Celsius(1.5), 1.5, Celsius(2.0))).await?;
        bulk.finish().await
    });
    assert_eq!(counted.unwrap(), 1);
    assert_eq!(database.sql("TABLE t"), "1.5 °C|1.5|2");
}
