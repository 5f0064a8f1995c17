//! What can be null: statements whose truth was written by hand, on every version of the server that there is.

use std::path::Path;
use std::process::{Command, Stdio};

use howdah_codegen::describe::{self, RequestedParameter};
use howdah_testkit::Database;
use howdah_testkit::require::missing;
use tokio_postgres::SimpleQueryMessage;

use super::{described, in_transaction, parameter};

const SCHEMA: &str = include_str!("../fixtures/nulls/schema.sql");
const STATEMENTS: &str = include_str!("../fixtures/nulls/statements.txt");

/// Rows with a NULL wherever one may be, and with partners for some of them only.
const ROWS: &str = include_str!("../fixtures/nulls/rows.sql");

/// Of the fixture's columns at least so many in a hundred are judged as they are.
const RIGHT: usize = 95;

/// The fixture's statements for a server, each with the truth of its columns: `!` is never null, `?` can be.
fn statements(version: u32) -> Vec<(&'static str, &'static str)> {
    let lines = STATEMENTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let fields = lines.map(|line| {
        let [kind, truth, sql] = line.splitn(3, " | ").collect::<Vec<_>>().try_into().unwrap();
        let needed = kind.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0u32);
        (needed, truth, sql)
    });
    fields.filter(|(needed, ..)| version / 10_000 >= *needed).map(|(_, truth, sql)| (truth, sql)).collect()
}

/// Of the columns that are said to be null at times, at least so many in a hundred are on the fixture's rows.
const SHOWN: usize = 60;

#[test]
fn what_was_written_by_hand_is_true_of_rows() {
    let database = Database::new();
    database.sql(SCHEMA);
    let version: u32 = database.sql("show server_version_num").parse().unwrap();
    let (mut wrong, mut seen, mut said, mut silent) = (Vec::new(), 0, 0, Vec::new());
    in_transaction(&database, async |connection| {
        let client = connection.client();
        // A recursion that does not end would be an error of the fixture.
        client.batch_execute("set local statement_timeout = '20s'").await.unwrap();
        for (truth, sql) in statements(version) {
            let mut null = vec![false; truth.len()];
            // Without rows too: an aggregate of nothing is null.
            for (rows, value) in [("", "NULL"), (ROWS, "NULL"), (ROWS, "'a'"), (ROWS, "'{a,x}'")] {
                client.batch_execute(&format!("savepoint s; {rows}")).await.unwrap();
                // Some values are of another type than the parameter, and some statements break a constraint.
                let answer = client.simple_query(&sql.replace("$1", value)).await.unwrap_or_default();
                client.batch_execute("rollback to savepoint s").await.unwrap();
                for message in answer {
                    if let SimpleQueryMessage::Row(row) = message {
                        for (index, null) in null.iter_mut().enumerate() {
                            *null |= row.get(index).is_none();
                        }
                    }
                }
            }
            for (index, truth) in truth.chars().enumerate() {
                match (truth, null[index]) {
                    ('!', true) => wrong.push(format!("{sql}: column {}", index + 1)),
                    ('?', shown) => {
                        said += 1;
                        seen += usize::from(shown);
                        if !shown {
                            silent.push(sql);
                        }
                    }
                    _ => {}
                }
            }
        }
    });
    assert!(wrong.is_empty(), "null on {version}:\n{}", wrong.join("\n"));
    println!("{seen} of {said} columns that can be null were on {version}; never:\n{}", silent.join("\n"));
    assert!(seen * 100 >= said * SHOWN, "{seen} of {said}:\n{}", silent.join("\n"));
}

#[test]
fn no_column_is_called_not_null_that_can_be_null() {
    let database = Database::new();
    database.sql(SCHEMA);
    let version: u32 = database.sql("show server_version_num").parse().unwrap();
    let (mut unsound, mut vague, mut columns, statements) = (Vec::new(), Vec::new(), 0, statements(version));
    in_transaction(&database, async |connection| {
        for &(truth, sql) in &statements {
            let described = describe::describe(connection.client(), sql, &[]).await;
            let described = described.unwrap_or_else(|error| panic!("{sql}: {error}"));
            assert_eq!(described.columns.len(), truth.len(), "{sql}");
            for (column, truth) in described.columns.iter().zip(truth.chars()) {
                assert!(!column.because.is_empty(), "{sql}");
                columns += 1;
                let said = format!("{sql}: {} ({})", column.name, column.because);
                match (truth, column.nullable) {
                    ('?', false) => unsound.push(said),
                    ('!', true) => vague.push(said),
                    _ => {}
                }
            }
        }
    });
    assert!(unsound.is_empty(), "called NOT NULL on {version}:\n{}", unsound.join("\n"));
    let right = columns - vague.len();
    println!(
        "{} statements, {right} of {columns} columns right on {version}; vague:\n{}",
        statements.len(),
        vague.join("\n")
    );
    assert!(
        statements.len() >= 100 && right * 100 >= columns * RIGHT,
        "{right} of {columns} are right:\n{}",
        vague.join("\n")
    );
}

#[test]
fn postgresql_15_is_read_as_later_ones_are() {
    let programs = "/usr/lib/postgresql/15/bin";
    if !Path::new(programs).join("initdb").exists() {
        return missing("postgres15", "there is no PostgreSQL 15 in /usr/lib/postgresql");
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    // The same model and the same bytes of code: the snapshots are those of the newest server.
    command.args(["describe::", "a_project_becomes_a_model_and_code", "--skip", "postgresql_15"]);
    command.args(["--test-threads", "2"]).stdin(Stdio::null());
    let run = command.env("HOWDAH_PG_BIN", programs).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}\n{}", String::from_utf8_lossy(&run.stderr));
    for test in ["describe::nulls::no_column_is_called_not_null", "projects::a_project_becomes_a_model"] {
        assert!(said.contains(&format!("test {test}")), "{said}");
    }
}

#[test]
fn a_parameter_may_be_null_where_null_is_of_use() {
    let answers = |sql: &str| -> Vec<bool> {
        described(SCHEMA, sql, &[]).unwrap().parameters.iter().map(|one| one.nullable).collect()
    };
    let insert = "insert into users (id, email, name, must, born) values ($1, $2, $3, $4, now()), ($5, '', $3, $4, now())";
    assert_eq!(answers(insert), [false, false, true, false, false]);
    assert_eq!(answers("insert into users (id, email, name, born) select $1, 'a', $2, now()"), [false, true]);
    assert_eq!(answers("update users set name = $1, email = $2 where id = $3"), [true, false, false]);
    let upsert =
        "insert into users (id, email, born) values (1, '', now()) on conflict (id) do update set name = $1";
    assert_eq!(answers(upsert), [true]);
    assert_eq!(
        answers("select 1 from users where ($1::text is null or name = $1) and age = $2"),
        [true, false]
    );
    assert_eq!(answers("select coalesce($1, name) from users where age is distinct from $2"), [true, true]);
    assert_eq!(answers("update users set name = $1, email = $1"), [false]);
}

#[test]
fn what_is_too_large_or_too_deep_is_nullable() {
    let many: Vec<String> = (1..=101).map(|number| format!("${number}::int")).collect();
    let sql = format!("select 1, coalesce({})", many.join(", "));
    let answer = described("", &sql, &[]).unwrap();
    assert!(answer.columns.iter().all(|column| column.nullable));
    let mut schema = "create table t (a int not null); create view v0 as select a from t;".to_owned();
    for number in 1..=300 {
        schema.push_str(&format!("create view v{number} as select a from v{};", number - 1));
    }
    let answers = [20, 300].map(|number| {
        let answer = described(&schema, &format!("select a from v{number}"), &[]).unwrap();
        answer.columns[0].nullable
    });
    assert_eq!(answers, [false, true]);
    let deep = format!("select {}1{}", "(1 + ".repeat(900), ")".repeat(900));
    assert!(described("", &deep, &[]).unwrap().columns[0].nullable);
}

#[test]
fn a_statement_that_ends_in_a_comment_or_has_no_tree_is_described() {
    let answer = described("", "select 1 -- one", &[]).unwrap();
    assert!(!answer.columns[0].nullable, "{}", answer.columns[0].because);
    let answer = described("", "show work_mem", &[]).unwrap();
    assert!(answer.columns[0].nullable);
    let requested: [RequestedParameter; 1] = [parameter("a", Some("int"))];
    assert!(described("", "select $1 is null", &requested).unwrap().parameters[0].nullable);
}
