//! A guess about record 1 that can be wrong is said, with the option that says otherwise; a certain one is not.

use howdah_testkit::Database;

use crate::common::{options, try_load};

fn said(database: &Database, csv: &str, table: &str) -> String {
    let file = database.file("t.csv", csv);
    let (_, notices) = try_load(database, &options(&file, table)).unwrap();
    notices.into_iter().filter(|notice| notice.contains("record 1")).collect()
}

#[test]
fn a_first_row_that_may_have_been_lost_is_said() {
    let database = Database::new();
    for (n, (csv, says)) in [
        ("Ada,Oslo\nBob,Rome\nAda,Oslo\n", "header=true"),
        ("Ada,Oslo\nBob,Rome\n", "is the header, it seems"),
        ("Ada,Oslo\nBob,Rome\n", "header=false"),
        ("name,city\nname,Rome\n", "header=false"),
        ("Berlin,unknown\nParis,12\n", "header=false"),
        (",a,b\nq,x,y\n", "header=false"),
        ("id,name,name\nx,y,z\n", "header=false"),
        ("country,2020,2021\nNorway,5,6\n", "header=false"),
        ("de_DE,Deutsch\nen_US,English\nes_ES,español\nzh_CN,中文\n", "header=true"),
        ("1,2\n3,4\n", "header=true"),
    ]
    .into_iter()
    .enumerate()
    {
        let said = said(&database, csv, &format!("made_{n}"));
        assert!(said.contains(says), "{csv:?}: {said}");
    }
    database.sql("CREATE TABLE people (name text, city text)");
    let said = said(&database, "Person,Town\nAda,Oslo\n", "people");
    assert!(said.contains("none of its fields is a column name") && said.contains("map["), "{said}");
}

#[test]
fn where_the_columns_are_listed_record_1_is_judged_by_its_look() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id text, q text)");
    for (csv, rows, says) in [
        ("id,x\nfoo,bar\n", "foo|bar", "header=false"),
        ("name,x_y\n1,bar\n", "1|bar", ""),
        ("foo,bar\nbaz,qux\n", "foo|bar\nbaz|qux", "header=true"),
        ("1,2\n3,4\n", "1|2\n3|4", ""),
    ] {
        database.sql("TRUNCATE t");
        let file = database.file("t.csv", csv);
        let wanted = options(&file, "t").column_list(["id", "q"]);
        let (_, notices) = try_load(&database, &wanted).unwrap();
        let said: String = notices.into_iter().filter(|notice| notice.contains("record 1")).collect();
        assert!(said.contains(says) && (says.is_empty() == said.is_empty()), "{csv:?}: {said}");
        assert_eq!(database.sql("TABLE t"), rows, "{csv:?}");
    }
}

#[test]
fn ordinary_files_are_loaded_without_a_word_about_their_header() {
    let database = Database::new();
    database.sql("CREATE TABLE people (name text, city text); CREATE TABLE numbers (a int, b int)");
    for (n, (csv, table)) in [
        ("id,Name\n1,Ada\n2,Bob\n", ""),
        ("first_name,city2\nAda,Oslo\n", ""),
        ("City,Name\nOslo,Ada\n", "people"),
        ("Ada,Oslo\nBob,Rome\nEve,Oslo\n", "people"),
        ("1,2\n3,4\n", "numbers"),
    ]
    .into_iter()
    .enumerate()
    {
        let made = format!("made_{n}");
        let said = said(&database, csv, if table.is_empty() { &made } else { table });
        assert_eq!(said, "", "{csv:?}");
    }
}

#[test]
fn a_header_of_other_names_that_a_typed_table_refuses_is_recognised() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, born date)");
    let file = database.file("t.csv", "number,birthday\n1,2020-01-01\n");
    let error = try_load(&database, &options(&file, "t")).unwrap_err();
    assert_eq!(error.location().unwrap().line, Some(1));
    let hint = error.hint().unwrap();
    assert!(hint.contains("header=true") && hint.contains("map["), "{hint}");
    // What looks like data is a bad record.
    let file = database.file("t.csv", "1,birthday\n1,2020-01-01\n");
    let error = try_load(&database, &options(&file, "t")).unwrap_err();
    assert!(error.hint().unwrap().contains("on_error=ignore"), "{error:?}");
}
