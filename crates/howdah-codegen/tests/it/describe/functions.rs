//! The functions that are known to give values for values, called on many of them.

use howdah_testkit::{Database, Rng, knob};

const FUNCTIONS: &str = include_str!("../../../src/tree/strict_functions.txt");

/// Edge values of each type, as SQL.
fn values(ty: &str) -> Vec<String> {
    let plain: &[&str] = match ty {
        "smallint" => &["0", "1", "-1", "32767", "-32768"],
        "integer" => &["0", "1", "-1", "7", "2147483647", "-2147483648"],
        "bigint" => &["0", "1", "-1", "9223372036854775807", "-9223372036854775808"],
        "real" | "double precision" => &["0", "-0", "1.5", "-1", "NaN", "Infinity", "-Infinity", "1e-30"],
        "numeric" => &["0", "1", "-1.50", "NaN", "Infinity", "-Infinity", "1e-100", "12345678901234567890.5"],
        "text" | "character varying" | "name" => {
            &["", "a", "A b", "%", "(a", "day", "UTC", "base64", "é𝄞", "1"]
        }
        "character" => &["", "a", "Ab "],
        "\"char\"" => &["", "a", "\\377"],
        "boolean" => &["t", "f"],
        "date" => &["2024-02-29", "infinity", "-infinity", "0044-03-15 BC", "5874897-12-31"],
        "time without time zone" => &["00:00", "24:00", "12:34:56.789"],
        "time with time zone" => &["00:00+00", "24:00-15:59"],
        "timestamp without time zone" | "timestamp with time zone" => {
            &["2024-02-29 12:34:56.7", "infinity", "-infinity", "0044-03-15 BC", "294276-12-31 23:59:59"]
        }
        "interval" => &["0", "1 mon", "-1 day", "1 year 2 days 3:04:05.6", "infinity", "-infinity"],
        "uuid" => &["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
        "bytea" => &["", "\\x00", "\\xff61"],
        "oid" => &["0", "1", "4294967295"],
        "jsonb" => &["null", "{}", "[]", "[null]", "{\"a\": null}", "1", "\"a\""],
        "inet" => &["0.0.0.0/0", "::1"],
        "text[]" => &["{}", "{a}", "{NULL}"],
        "anyarray" => {
            return ["'{}'", "'{1}'", "'{NULL}'", "'{{1,2},{3,NULL}}'"]
                .map(|one| format!("{one}::int[]"))
                .into();
        }
        "anyenum" => return vec!["'a'::pg_temp.letter".into(), "'b'::pg_temp.letter".into()],
        "record" => {
            return vec!["ROW(1, NULL::int)".into(), "ROW(NULL::int, NULL::int)".into(), "ROW(2, 3)".into()];
        }
        "anyelement" | "anynonarray" => {
            return vec!["''::text".into(), "'NaN'::float8".into(), "'a'::text".into()];
        }
        other => panic!("no values of {other}"),
    };
    plain.iter().map(|value| format!("'{value}'::{ty}")).collect()
}

/// What calls of one function are tried, of all that there could be.
fn calls(signature: &str, rng: &mut Rng) -> Vec<String> {
    let (name, arguments) = signature.trim_end_matches(')').split_once('(').unwrap();
    let arguments: Vec<Vec<String>> = arguments.split(", ").map(values).collect();
    let most = knob("HOWDAH_FUNCTION_CALLS", 40);
    let one = |rng: &mut Rng| {
        let chosen: Vec<&str> = arguments
            .iter()
            .map(|values| values[usize::try_from(rng.within(0..values.len() as u64)).unwrap()].as_str())
            .collect();
        format!("pg_catalog.\"{name}\"({})", chosen.join(", "))
    };
    (0..most).map(|_| one(rng)).collect()
}

#[test]
fn no_known_function_gives_null() {
    let database = Database::new();
    let mut rng = Rng::new(knob("HOWDAH_SEED", 20) as u64);
    let mut script = String::from(
        "SET client_min_messages = error;
         CREATE TYPE pg_temp.letter AS ENUM ('a', 'b');
         CREATE FUNCTION pg_temp.gives_null(call text) RETURNS text LANGUAGE plpgsql AS $$
         DECLARE is_null boolean;
         BEGIN
             EXECUTE 'SELECT (' || call || ') IS NOT DISTINCT FROM NULL' INTO is_null;
             RETURN CASE WHEN is_null THEN 'null' ELSE 'value' END;
         EXCEPTION WHEN undefined_function OR syntax_error OR ambiguous_function THEN RETURN 'unknown';
         WHEN others THEN RETURN 'refused';
         END $$;
         CREATE TEMP TABLE calls (signature text, call text);",
    );
    for signature in FUNCTIONS.lines() {
        for call in calls(signature, &mut rng) {
            script.push_str(&format!("INSERT INTO calls VALUES ($q${signature}$q$, $q${call}$q$);\n"));
        }
    }
    script.push_str(
        "CREATE TEMP TABLE answers AS SELECT signature, call, pg_temp.gives_null(call) AS answer FROM calls;
         SELECT 'null: ' || call FROM answers WHERE answer = 'null';
         SELECT 'unknown: ' || min(call) FROM answers WHERE answer = 'unknown' GROUP BY signature;
         SELECT 'never answers: ' || min(call) FROM answers GROUP BY signature HAVING bool_and(answer <> 'value');",
    );
    assert_eq!(database.sql(&script), "");
}
