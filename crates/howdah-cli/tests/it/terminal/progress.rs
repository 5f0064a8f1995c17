//! Progress as terminals and logs get it: on a pseudo-terminal made by `script`, of several widths and abilities, and in a
//! pipe.

use std::process::Output;

use howdah_testkit::require::missing;
use howdah_testkit::secrets::Guarded;

use super::shell::Terminal;

/// A table whose every COPY takes so many seconds longer: progress is shown of loads that last.
fn slow_table(terminal: &Terminal, seconds: f64) {
    terminal.sql(&format!(
        "CREATE TABLE t (id int, name text);
         CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN PERFORM pg_sleep({seconds}); RETURN NULL; END $$;
         CREATE TRIGGER slow BEFORE INSERT ON t EXECUTE FUNCTION wait()"
    ));
    terminal.file("one.csv", "id,name\n1,Ada\n");
    terminal.file("two.csv", "id,name\n2,Grace\n");
}

/// What a terminal of so many columns is sent while `line` runs; `None` where there is no `script`.
fn on_a_terminal(terminal: &Terminal, columns: u16, setting: &str, line: &str) -> Option<String> {
    let script = format!("script -qefc 'stty rows 24 cols {columns}; {setting} {line}' /dev/null");
    let done = terminal.shell(&script).guarded_output();
    let sent = String::from_utf8(done.stdout).unwrap();
    if done.status.code() == Some(127) {
        missing("script", "there is no script here");
        return None;
    }
    assert!(done.status.success(), "{sent}");
    Some(sent)
}

/// The text of what was drawn, without the sequences that move the cursor or colour.
fn drawn(sent: &str) -> Vec<String> {
    let mut text = String::new();
    let mut characters = sent.chars();
    while let Some(c) = characters.next() {
        if c == '\x1b' {
            // `ESC [` parameters letter
            while characters.next().is_some_and(|c| !c.is_ascii_alphabetic()) {}
            text.push('\n');
        } else {
            text.push(c);
        }
    }
    text.split(['\r', '\n']).filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_terminal_shows_a_bar_the_rows_the_bytes_and_the_file_and_takes_them_off() {
    let terminal = Terminal::new();
    slow_table(&terminal, 1.2);
    let Some(sent) = on_a_terminal(&terminal, 120, "TERM=xterm", "howdah load one.csv two.csv --table t")
    else {
        return;
    };
    let lines = drawn(&sent);
    let shown =
        |wanted: &str| lines.iter().any(|line| line.starts_with("loading █") && line.contains(wanted));
    assert!(shown("2 rows, 30 B of 30 B (100 %)") && shown("file 2 of 2: two.csv"), "{lines:#?}");
    assert!(
        sent.contains("\x1b[2K") || sent.contains("\x1b[K") || sent.contains("\x1b[J"),
        "never erased: {sent:?}"
    );
    assert!(lines.last().unwrap().starts_with("look: psql"), "{lines:#?}");
}

#[test]
fn standard_input_without_a_size_shows_rows_and_bytes_and_promises_no_end() {
    let terminal = Terminal::new();
    slow_table(&terminal, 1.2);
    let line = "cat one.csv two.csv | howdah load - --table t --header=false --columns id,name";
    terminal.file("one.csv", "1,Ada\n");
    terminal.file("two.csv", "2,Grace\n");
    let Some(sent) = on_a_terminal(&terminal, 120, "export TERM=xterm;", line) else { return };
    let lines = drawn(&sent);
    assert!(
        lines.iter().any(|line| line.starts_with("loading ") && line.contains("2 rows, 14 B")),
        "{lines:#?}"
    );
    assert!(!lines.iter().any(|line| line.contains('%') || line.contains("left")), "{lines:#?}");
}

#[test]
fn a_narrow_terminal_is_not_flooded_by_lines_that_wrap() {
    let terminal = Terminal::new();
    slow_table(&terminal, 1.2);
    let Some(sent) = on_a_terminal(&terminal, 40, "TERM=xterm", "howdah load one.csv two.csv --table t")
    else {
        return;
    };
    let lines = drawn(&sent);
    let progress: Vec<&String> = lines.iter().filter(|line| line.starts_with("loading ")).collect();
    assert!(progress.iter().any(|line| line.contains("2 rows, 100 %")), "{lines:#?}");
    assert!(progress.iter().all(|line| line.chars().count() <= 40), "{lines:#?}");
}

#[test]
fn colours_are_left_out_when_nobody_wants_them() {
    let terminal = Terminal::new();
    slow_table(&terminal, 0.0);
    let command = "howdah load one.csv --table t";
    let Some(coloured) = on_a_terminal(&terminal, 80, "TERM=xterm", command) else { return };
    assert!(coloured.contains("\x1b[36mserver:"), "{coloured:?}");
    let plain = on_a_terminal(&terminal, 80, "NO_COLOR=1 TERM=xterm", command).unwrap();
    assert!(
        plain.contains("server:") && !plain.contains("m\x1b[") && !plain.contains("\x1b[36m"),
        "{plain:?}"
    );
}

#[test]
fn logs_and_dumb_terminals_get_plain_lines_now_and_then() {
    let terminal = Terminal::new();
    slow_table(&terminal, 10.5);
    let command = "howdah load one.csv --table t";
    let check = |sent: &str| {
        assert!(!sent.contains('\x1b') && !sent.contains('█'), "{sent:?}");
        let lines = sent.lines().filter(|line| line.starts_with("loading: ")).count();
        assert_eq!(lines, 1, "{sent}");
        assert!(sent.contains("loading: 1 row, 14 B of 14 B (100 %)"), "{sent}");
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let Output { stderr, .. } = terminal.shell(command).guarded_output();
            check(std::str::from_utf8(&stderr).unwrap());
        });
        scope.spawn(|| {
            if let Some(sent) = on_a_terminal(&terminal, 80, "TERM=dumb", command) {
                check(&sent);
            }
        });
    });
}

#[test]
fn a_terminal_shows_how_a_stream_goes_and_takes_it_off() {
    let terminal = Terminal::new();
    terminal.sql("CREATE TABLE t (id int, name text)");
    terminal.file("rows.csv", "1,Ada\n2,Grace\n");
    let line = "(cat rows.csv; sleep 1.5) | howdah stream --table t";
    let Some(sent) = on_a_terminal(&terminal, 120, "export TERM=xterm;", line) else { return };
    let lines = drawn(&sent);
    assert!(
        lines.iter().any(|line| line.starts_with("streaming ")
            && line.contains("2 rows, ")
            && line.contains(" rows/s, queue 0, p99 ")),
        "{lines:#?}"
    );
    assert!(lines.last().unwrap().starts_with("look: psql"), "{lines:#?}");
}
