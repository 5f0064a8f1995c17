//! TABLEs whose rows nothing could write, refused where that is asked for.

use crate::projects::code_of;

#[test]
fn a_table_whose_rows_nothing_could_write_is_passed_over_in_silence() {
    let told = |sql: &str| {
        let sql = format!(
            "-- MIGRATE 1\nCREATE TABLE ids (id int GENERATED ALWAYS AS IDENTITY, d int GENERATED ALWAYS AS (1) STORED);\n\
                           CREATE TABLE nothing ();\nCREATE TABLE t (id int);\nCREATE TEMP TABLE here (a int);\n{sql}\n"
        );
        code_of("python/postgres", &sql, "runtime: howdah", "shop.py").expect_err("it is refused")
    };
    for (sql, message, help) in [
        ("-- TABLE ids :appender", "there would be no column in its rows", "`:appender(id)`"),
        ("-- TABLE ids :writer", "there would be no column in its rows", "`:appender(id)`"),
        ("-- TABLE nothing :appender", "there would be no column in its rows", "leave `:appender` out"),
        ("-- TABLE t :appender(id, id)", "`id` is named twice", "name it once"),
        ("-- TABLE here :appender", "`here` is a temporary table", "every session finds"),
    ] {
        let told = told(sql);
        assert!(told.contains(message) && told.contains(help), "{sql}: {told}");
    }
}
