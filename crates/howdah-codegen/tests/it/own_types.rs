//! Types of the user's: which columns they stand for, and which names they must leave to the code.

use crate::projects::code_of;

const PRICES: &str = "-- MIGRATE 1\nCREATE DOMAIN price AS numeric; CREATE TABLE t (a price, b numeric);\n\
                      -- QUERY q\n@set a = 1\nSELECT a, b, a + b AS c FROM t WHERE a = ${a};\n\
                      -- TABLE t :appender\n";

#[test]
fn what_stands_for_numeric_stands_for_a_domain_over_it() -> Result<(), String> {
    let entry = |of: &str, name: &str| {
        format!(
            "{of}: {{type: {name}, import: from app import {name}, decode: '{name}({{}})', encode: '{{}}.n'}}"
        )
    };
    let python = |types: &[String]| {
        code_of("python/postgres", PRICES, &format!("types: {{{}}}", types.join(", ")), "shop.py")
    };
    let (numeric, price) = (entry("numeric", "Money"), entry("price", "Price"));
    for (types, a, b) in [
        (vec![numeric.clone()], "Decimal", "Money"),
        (vec![price.clone()], "Price", "Decimal"),
        (vec![price, numeric], "Price", "Money"),
    ] {
        let text = python(&types)?;
        let table = format!("    a: {a} | None\n    b: {b} | None\n\n");
        let result = format!("    a: {a}\n    b: {b} | None\n    c: {b} | None\n\n");
        assert!(text.contains(&table) && text.contains(&result), "{a}, {b}: {text}");
    }
    Ok(())
}

#[test]
fn an_import_takes_a_name_that_the_code_has_for_something_else() {
    for (generator, import, name) in [
        ("python/postgres", "from app import copy", "copy"),
        ("python/postgres", "from app import Range", "Range"),
        ("typescript/postgres", "import * as pg from './app.js'", "pg"),
        ("go/postgres", "app/time", "time"),
        ("rust/postgres", "crate::app::Option", "Option"),
    ] {
        let types = format!("types: {{numeric: {{type: X, import: \"{import}\"}}}}");
        let told = code_of(generator, PRICES, &types, "").expect_err("it is refused");
        assert!(
            told.starts_with(&format!("`{name}`, which `numeric` of `types` imports")),
            "{import}: {told}"
        );
    }
}

#[test]
fn arrays_of_a_domain_over_box_are_divided_by_commas() -> Result<(), String> {
    let sql = "-- MIGRATE 1\nCREATE DOMAIN place AS box; CREATE DOMAIN own AS place; CREATE TABLE t (a own[]);\n\
               -- QUERY q\nSELECT a FROM t;\n";
    for (generator, file) in [
        ("python/postgres", "shop.py"),
        ("typescript/postgres", "shop.ts"),
        ("java/postgres", "Shop.java"),
        ("go/postgres", "shop.go"),
    ] {
        let text = code_of(generator, sql, "", file)?;
        let arrays = text.lines().filter(|line| line.contains("array_of(") || line.contains("rrayOf("));
        let arrays = arrays.collect::<Vec<_>>();
        assert!(
            !arrays.is_empty() && arrays.iter().all(|line| line.contains("';'") || line.contains("\";\"")),
            "{generator}: {arrays:?}"
        );
    }
    Ok(())
}
