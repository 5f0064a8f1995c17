//! Every failure of the first ten minutes, in a pipe and on a pseudo-terminal. The snapshots are read by people before they are accepted:
//! each message says where, what the server said, what is visible now and what to do next.
//! `INSTA_UPDATE=always cargo test -p howdah-cli --test it terminal::` writes them anew.

use howdah_testkit::secrets::Guarded;

use super::shell::Terminal;

const PEOPLE: &str = "id,name,born\n1,Ada,1815-12-10\n2,Grace,1906-12-09\n";
const TABLE: &str = "CREATE TABLE people (id int, name text, born date)";

/// The lines as a log or a pipe gets them are the snapshot; a terminal shows the same.
fn snapshot(name: &str, terminal: &Terminal, lines: &[&str]) {
    let session = terminal.session(lines);
    if let Some(shown) = terminal.session_on_a_terminal(lines) {
        assert_eq!(shown, session, "a terminal shows something else");
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, session));
}

/// As [`snapshot`], of lines that change what they meet the second time.
fn snapshot_once(name: &str, terminal: &Terminal, lines: &[&str]) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, terminal.session(lines)));
}

#[test]
fn who_cannot_connect_is_told_what_to_check() {
    let terminal = Terminal::new();
    terminal.file("people.csv", PEOPLE);
    snapshot(
        "connecting",
        &terminal,
        &[
            "howdah load people.csv -p 1",
            "howdah load people.csv -h /nowhere",
            "PGPASSWORD=guess howdah load people.csv -w",
            "env -u PGPASSWORD howdah load people.csv -w",
            // A session of its own has no terminal to ask on.
            "setsid -w env -u PGPASSWORD howdah load people.csv",
            "howdah load people.csv -d warehouse",
            "howdah load people.csv -U stranger",
        ],
    );
}

#[test]
fn a_missing_right_comes_with_the_statement_that_grants_it() {
    let terminal = Terminal::new();
    terminal.file("people.csv", PEOPLE);
    terminal.sql(&format!(
        "CREATE ROLE visitor LOGIN PASSWORD 'visitor'; {TABLE}; CREATE SCHEMA hr; CREATE TABLE hr.staff (id int)"
    ));
    let as_visitor =
        |command: &str| format!("PGUSER=visitor PGPASSWORD=visitor howdah load people.csv {command}");
    let lines =
        ["--table people", "--mode truncate", "--table guests", "--table guests -j 2", "--table hr.staff"];
    let lines = lines.map(as_visitor);
    snapshot("permissions", &terminal, &lines.each_ref().map(String::as_str));
    assert_eq!(terminal.sql("SELECT count(*) FROM people"), "0");
}

#[test]
fn a_table_that_does_not_fit_the_mode_or_the_file_is_not_touched() {
    let terminal = Terminal::new();
    terminal.file("people.csv", PEOPLE);
    terminal.file("typo.csv", "id,naem,birth\n1,Ada,1815-12-10\n");
    let numbers = || (1..30).map(|number| number.to_string());
    let names: Vec<String> = numbers().map(|number| format!("k{number}")).collect();
    let values: Vec<String> = numbers().collect();
    terminal.file("wide.csv", format!("id,{}\n0,{}\n", names.join(","), values.join(",")));
    terminal.sql(TABLE);
    snapshot(
        "tables",
        &terminal,
        &[
            "howdah load people.csv --mode create",
            "howdah load people.csv --table guests --mode append",
            "howdah load people.csv --table hr.people",
            "howdah load typo.csv --table people",
            "howdah load typo.csv --table people --header",
            // Another file than the one that made the table.
            "howdah load wide.csv --table people --mode replace",
            "howdah load wide.csv --table people --mode replace --header",
        ],
    );
    assert_eq!(terminal.sql("SELECT count(*) FROM people"), "0");
    // What is said to do it does it.
    terminal.sql("DROP TABLE public.people");
    assert_eq!(terminal.run("howdah load wide.csv --table people --mode replace").code, 0);
}

#[test]
fn a_table_that_exists_and_is_to_be_otherwise_ends_with_what_to_type() {
    let terminal = Terminal::new();
    terminal.file("people.csv", PEOPLE);
    terminal.sql(TABLE);
    snapshot(
        "dead_ends",
        &terminal,
        &[
            "howdah load people.csv --key id",
            "howdah load people.csv --types id=bigint",
            "howdah load people.csv --mode upsert",
            "howdah load people.csv --mode upsert --key id",
        ],
    );
    // What is said to do it does it.
    terminal.sql("ALTER TABLE public.people ADD PRIMARY KEY (id)");
    terminal.sql("ALTER TABLE public.people ALTER id TYPE bigint USING id::bigint");
    let line = "howdah load people.csv -q --mode";
    let done = terminal.session(&[&format!("{line} replace --types id=bigint"), &format!("{line} upsert")]);
    assert!(!done.contains("error"), "{done}");
    terminal.sql("ALTER TABLE public.people DROP CONSTRAINT people_pkey");
    let done = terminal.session(&[&format!("{line} replace --key id --types born=text")]);
    assert!(!done.contains("error"), "{done}");
    assert_eq!(terminal.sql("SELECT count(*) FROM people WHERE born > '1815'"), "2");
}

#[test]
fn a_column_that_few_values_make_text_is_said_with_value_line_and_option() {
    let terminal = Terminal::new();
    let rows = |bad: &[(usize, &str)]| {
        let amount = |row: usize| bad.iter().find(|(at, _)| *at == row).map_or("2.50", |(_, value)| value);
        (1..=1000).map(|row| format!("{row},{},2024-01-02\n", amount(row))).collect::<String>()
    };
    terminal.file("one.csv", format!("id,amount,day\n{}", rows(&[(100, "abc")])));
    terminal
        .file("few.csv", format!("id,amount,day\n{}", rows(&[(7, "\"1.682,97\""), (8, "x"), (900, "y")])));
    snapshot_once(
        "kept_from_a_type",
        &terminal,
        &[
            "howdah load one.csv",
            "howdah load one.csv --table plan --dry-run",
            "howdah load few.csv",
            "howdah load few.csv one.csv --table both",
            "howdah load - --table piped < one.csv",
            "howdah load one.csv --table forced --types amount=numeric",
        ],
    );
    let done = terminal.shell("howdah load one.csv --table j --report json -q").guarded_output();
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let columns = &report["plan"]["columns"];
    let because = "amount: 999 of 1,000 are numeric; line 101 has 'abc': --types amount=numeric";
    assert_eq!((&columns[1]["because"], columns[0].get("because")), (&because.into(), None));
}

#[test]
fn notes_of_one_kind_are_one_line_whatever_the_number_of_columns() {
    let terminal = Terminal::new();
    let table = |value: &dyn Fn(usize, usize) -> String| {
        let names: Vec<String> = (0..31).map(|column| format!("s{column}")).collect();
        let record = |row: usize| (0..31).map(|column| value(row, column)).collect::<Vec<_>>().join(",");
        let records = (0..300).map(|row| format!("{row},{}\n", record(row)));
        format!("id,{}\n{}", names.join(","), records.collect::<String>())
    };
    // An empty field is NULL, so that NA is not guessed to be.
    let na = |row: usize, column: usize| match (row + column) % 5 {
        0 => "NA".to_owned(),
        1 => String::new(),
        _ => "3.25".to_owned(),
    };
    let few = |row: usize, _| if row == 50 { "n/a".to_owned() } else { "3.25".to_owned() };
    let each = |row: usize, column: usize| if row == 50 { format!("x{column}") } else { "3.25".to_owned() };
    terminal.file("na.csv", table(&na));
    terminal.file("few.csv", table(&few));
    terminal.file("each.csv", table(&each));
    for (file, notes, said) in [
        ("na", 1, "20 % of 31 columns (s0, s1, s2 and 28 more) are exactly NA"),
        (
            "few",
            1,
            "31 columns (s0, s1, s2 and 28 more) are double precision but for few values; line 52 has 'n/a'",
        ),
        ("each", 5, "27 more columns (s4, s5, s6 and 24 more) are text because of few values"),
    ] {
        let done = terminal.session(&[&format!("howdah load {file}.csv")]);
        assert_eq!(done.matches("note: ").count(), notes, "{done}");
        assert!(done.contains(said), "{done}");
        assert!(done.contains("COPY 300"), "{done}");
    }
    // What is said of few values does it.
    let done = terminal.session(&["howdah load few.csv --table cured --null n/a"]);
    assert!(!done.contains("note: "), "{done}");
    assert_eq!(
        terminal.sql("SELECT pg_typeof(s30), count(s30) FROM cured GROUP BY 1"),
        "double precision|299"
    );
}

#[test]
fn a_reject_file_that_is_loaded_twice_is_said_to_double_its_rows() {
    let terminal = Terminal::new();
    terminal.sql(&format!("{TABLE}; CREATE TABLE keyed (id int PRIMARY KEY, name text, born date)"));
    terminal.file("bad.csv", "id,name,born\n1,Ada,1815-12-10\n2,Grace,1906-13-09\n");
    let load =
        "howdah load bad.csv --on-error ignore --overwrite-rejects --rejects r.rejects.jsonl -q --table";
    let mend = "sed -i 's/13-09/12-09/g' r.rejects.jsonl";
    let said = "a second time if this reject file was loaded before";
    terminal.session(&[&format!("{load} people"), mend]);
    let done = terminal.session(&["howdah load r.rejects.jsonl"]);
    assert!(done.contains(said) && done.contains("COPY 1"), "{done}");
    // A key refuses them, and other files are new.
    terminal.session(&[&format!("{load} keyed"), mend]);
    for line in ["howdah load r.rejects.jsonl", "howdah load bad.csv --on-error ignore --table people"] {
        let done = terminal.session(&[line]);
        assert!(done.contains("holds rows already") && !done.contains(said), "{done}");
    }
}

#[test]
fn a_stream_that_is_small_takes_one_connection() {
    let terminal = Terminal::new();
    let done = terminal.session(&["printf 'a,b\\n1,2\\n3,4\\n' | howdah load - --table tiny"]);
    assert!(done.contains("2 rows") && done.contains("1 connection,"), "{done}");
}

#[test]
fn names_that_cannot_be_columns_are_made_ones_or_come_with_their_cure() {
    let terminal = Terminal::new();
    let question = "Which of these side dishes are typically served at your Thanksgiving dinner?";
    terminal.file("survey.csv", format!("id,{question} - Mashed potatoes,{question} - Rolls\n1,yes,no\n"));
    terminal.file("rows.csv", ",name\n1,Ada\n2,Grace\n");
    terminal.file("left.csv", "name,gone,age\nAda,x,36\n");
    snapshot_once(
        "names",
        &terminal,
        &[
            "howdah load survey.csv --table kept",
            "howdah load survey.csv --names snake",
            // The same names again.
            "howdah load survey.csv --names snake",
            "howdah load rows.csv --table numbered",
            "howdah load rows.csv --map 1=row_no",
            "howdah load rows.csv --map 1=row_no",
            "howdah load rows.csv --table friendly --names snake --map 1=row_no",
            "howdah load rows.csv --table others --map 3=row_no",
            // Friendly names find the columns that friendly names made.
            "howdah load survey.csv",
            "howdah load survey.csv --header",
            // What is left out is no column.
            "howdah load left.csv --table friendly --skip-columns gone",
        ],
    );
    assert_eq!(terminal.sql("SELECT sum(row_no), count(name) FROM rows"), "6|4");
    assert_eq!(terminal.sql("SELECT count(*) FROM friendly WHERE row_no = 2"), "1");
}

#[test]
fn the_line_that_shows_the_rows_works_where_it_is_pasted() {
    let terminal = Terminal::new();
    terminal.file("people.csv", "id,name\n1,Ada\n");
    for typed in
        ["", "-d $PGDATABASE -h $PGHOST", "-d postgresql://$PGUSER:$PGPASSWORD@$PGHOST:$PGPORT/$PGDATABASE"]
    {
        let clear = if typed.contains("PASSWORD") { "unset PGHOST PGPORT PGUSER PGDATABASE; " } else { "" };
        let load = format!(
            "PGPASSWORD=$PGPASSWORD howdah load people.csv --mode replace {typed} 2>&1 | sed -n 's/^look: //p'"
        );
        let line = format!("look=$({load}); echo \"$look\"; {clear}eval \"$look\"");
        let shown = terminal.run(&line).shown;
        assert!(shown.starts_with("psql") && shown.contains("| Ada"), "{typed}: {shown}");
        let asks = shown.lines().next().unwrap().ends_with("# it asks for the password");
        assert_eq!(asks, typed.contains("PASSWORD"), "{shown}");
    }
}

#[test]
fn the_line_that_shows_the_rows_holds_no_line_end_of_a_name() {
    let terminal = Terminal::new();
    terminal.file("people.csv", "id,name\n1,Ada\n");
    let table = r#"$'"a\n\tb\'\\"'"#;
    let load = format!("howdah load people.csv --table {table} 2>&1 | sed -n 's/^look: //p'");
    let shown = terminal.run(&format!("look=$({load}); echo \"$look\"; eval \"$look\"")).shown;
    assert!(shown.starts_with("psql") && shown.contains("| Ada"), "{shown}");
    assert_eq!(shown.matches("look").count(), 0, "{shown}");
}

#[test]
fn a_file_that_cannot_be_read_is_named_before_a_server_is_looked_for() {
    let terminal = Terminal::new();
    terminal.file("people.csv", PEOPLE);
    terminal.file("logs/a.csv", PEOPLE);
    terminal.file("empty.csv", "");
    terminal.file("people.parquet", b"PAR1\x15\x04\x15 and so on");
    terminal.file("bad.jsonl", "{\"id\":1,\"name\":\"Ada\"}\n{\"id\":2,\"name\":\"Bob\",}\n");
    terminal.file("more.jsonl", "{\"id\":1,\"name\":\"Ada\",\"age\":36}\n");
    terminal.file("people.xlsx", b"PK\x03\x04 and so on");
    terminal.sql(TABLE);
    snapshot(
        "files",
        &terminal,
        &[
            "howdah load poeple.csv",
            "howdah load people.csv --header false",
            "howdah load '*.tsv'",
            "howdah load logs",
            "howdah load -",
            "howdah load empty.csv",
            "howdah load empty.csv --table people",
            "howdah load people.parquet",
            "howdah load people.xlsx",
            "howdah load bad.jsonl --table lines",
            "howdah load more.jsonl --table people",
            "howdah load more.jsonl --table people --delimiter ,",
        ],
    );
}

#[test]
fn a_record_that_is_no_row_is_shown_with_its_place() {
    let terminal = Terminal::new();
    terminal.file("semicolons.csv", "1;Ada;1815-12-10\n");
    terminal.file("bad.csv", "id,name,born\n1,Ada,1815-12-10\n2,Grace,1906-13-09\n");
    terminal.file("short.csv", "id,name,born\n1,Ada\n");
    terminal.file("quote.csv", "id,name,born\n1,\"Ada,1815-12-10\n");
    terminal.file("null.csv", "id,name,born\n1,Ada,NULL\n");
    terminal.sql(TABLE);
    snapshot(
        "records",
        &terminal,
        &[
            "howdah load semicolons.csv --table people --delimiter ,",
            "howdah load bad.csv --table people",
            "howdah load short.csv --table people",
            "howdah load quote.csv --table people",
            "howdah load null.csv --table people",
            "howdah load bad.csv --table people --on-error ignore --rejects /dev/full",
            "howdah load bad.csv --table people --on-error ignore --reject-limit 0",
        ],
    );
    assert_eq!(terminal.sql("SELECT count(*) FROM people"), "0");
}

#[test]
fn a_mistyped_command_is_answered_with_the_likely_one() {
    let terminal = Terminal::new();
    snapshot(
        "typing",
        &terminal,
        &[
            "howdah lode people.csv",
            "howdah load",
            "howdah load people.csv --tabel people",
            "howdah load people.csv --format xlsx",
            "howdah load people.csv --delimiter '====='",
            "howdah load people.csv --jobs many",
            "howdah load people.csv --encoding klingon",
            "howdah load people.csv --table a.b.c",
        ],
    );
}
