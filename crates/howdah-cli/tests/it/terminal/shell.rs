//! A terminal session as a new user would have it: commands typed into a shell, in a directory with some files, against a
//! server; and what they print, with everything that differs from run to run made equal.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use howdah_server::{Settings, Throwaway};
use howdah_testkit::require::missing;
use howdah_testkit::secrets::{self, Guarded};
use tempfile::TempDir;

/// The server of this test program; it ends with the program.
fn server() -> &'static Throwaway {
    static SERVER: OnceLock<Throwaway> = OnceLock::new();
    SERVER.get_or_init(|| {
        let server = Throwaway::start(&Settings::fast_and_unsafe()).unwrap();
        secrets::guard(server.password());
        server
    })
}

/// What a command did.
pub(crate) struct Done {
    /// Both streams as a terminal shows them, made equal.
    pub(crate) shown: String,
    pub(crate) code: i32,
}

/// Which server a person has who types into a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surroundings {
    /// One that `PG*` variables name, with the database `shop`.
    Shop,
    /// None: howdah uses its own.
    OwnServer,
}

/// A shell with a working directory, a database of its own, and `howdah` and `psql` in its search path.
pub(crate) struct Terminal {
    home: TempDir,
    database: String,
    surroundings: Surroundings,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let database = format!("shop_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        Terminal::with(database, Surroundings::Shop)
    }

    /// What the reader of a guide has; one guide at a time.
    pub(crate) fn of_a_guide(surroundings: Surroundings) -> Self {
        Terminal::with("shop".into(), surroundings)
    }

    fn with(database: String, surroundings: Surroundings) -> Self {
        let home = TempDir::new().unwrap();
        // A server started by root runs under another account, which must get in.
        std::fs::set_permissions(home.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut terminal =
            Terminal { home, database: server().dbname().to_owned(), surroundings: Surroundings::Shop };
        terminal.sql(&format!("DROP DATABASE IF EXISTS {database}"));
        terminal.sql(&format!("CREATE DATABASE {database} TEMPLATE template0 LOCALE 'C.UTF-8'"));
        terminal.database = database;
        terminal.surroundings = surroundings;
        terminal
    }

    /// Puts a file into the working directory.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Runs SQL as the superuser; what psql prints for it.
    pub(crate) fn sql(&self, commands: &str) -> String {
        let done =
            self.shell("psql -XAtq -v ON_ERROR_STOP=1 -c \"$SQL\"").env("SQL", commands).guarded_output();
        assert!(done.status.success(), "{commands}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim_end().to_owned()
    }

    /// A shell that is about to run `line`.
    pub(crate) fn shell(&self, line: &str) -> Command {
        let server = server();
        let mut shell = Command::new("bash");
        let programs = Path::new(env!("CARGO_BIN_EXE_howdah")).parent().unwrap();
        shell
            .args(["-c", line])
            .current_dir(self.home.path())
            .env_clear()
            .env("PATH", format!("{}:{}:/usr/bin:/bin", programs.display(), server.bin_dir().display()))
            .env("HOME", self.home.path())
            .env("LC_ALL", "C.UTF-8")
            .env("HOWDAH_PG_BIN", server.bin_dir())
            .env("HOWDAH_DATA_DIR", self.home.path().join("servers"))
            .stdin(std::process::Stdio::null());
        if self.surroundings == Surroundings::Shop {
            shell
                .env("PGHOST", "127.0.0.1")
                .env("PGPORT", server.port().to_string())
                .env("PGUSER", server.user())
                .env("PGPASSWORD", server.password())
                .env("PGDATABASE", &self.database);
        }
        shell
    }

    /// Types `line` and waits for its end.
    pub(crate) fn run(&self, line: &str) -> Done {
        let done = self.shell(&format!("exec 2>&1; {line}")).guarded_output();
        let shown = String::from_utf8(done.stdout).unwrap();
        Done { shown: self.made_equal(&shown), code: done.status.code().unwrap_or(-1) }
    }

    /// Types `line` into a pseudo-terminal made by `script`; what stays on it when all is drawn, without colours. `None`
    /// where there is no `script`.
    fn run_on_a_terminal(&self, line: &str) -> Option<Done> {
        let script = "script -qefc 'stty rows 24 cols 250; exec bash -c \"$LINE\" < /dev/null' /dev/null";
        let done = self.shell(script).env("LINE", line).env("TERM", "xterm").guarded_output();
        let code = done.status.code().unwrap_or(-1);
        if code == 127 {
            missing("script", "there is no script here");
            return None;
        }
        Some(Done { shown: self.made_equal(&left_standing(&String::from_utf8(done.stdout).unwrap())), code })
    }

    /// The lines of a session, with exit codes where they are not 0.
    pub(crate) fn session(&self, lines: &[&str]) -> String {
        let one = |line: &&str| listed(line, &self.run(line));
        lines.iter().map(one).collect::<Vec<_>>().join("\n")
    }

    /// The same on a terminal; `None` where there is no `script`, which makes one.
    pub(crate) fn session_on_a_terminal(&self, lines: &[&str]) -> Option<String> {
        let one = |line: &&str| Some(listed(line, &self.run_on_a_terminal(line)?));
        Some(lines.iter().map(one).collect::<Option<Vec<_>>>()?.join("\n"))
    }

    /// Takes out of `shown` what is different in every run: places, identifiers, times.
    fn made_equal(&self, shown: &str) -> String {
        let shown = shown
            .replace(&self.home.path().display().to_string(), "/home/me")
            .replace(&server().port().to_string(), "5432")
            .replace(&self.database, "shop");
        shown.lines().map(|line| format!("{}\n", self.made_equal_line(line))).collect()
    }

    /// The same for a line that a guide shows.
    pub(crate) fn made_equal_line(&self, line: &str) -> String {
        timeless(&nameless(line))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.home.path().join("servers").exists() {
            let all =
                "howdah server list | while read -r name _; do howdah server --name $name delete --yes; done";
            let _ = self.shell(all).status();
        }
    }
}

/// A line of a session with what it printed, and its exit code where that is not 0.
fn listed(line: &str, done: &Done) -> String {
    let code = if done.code == 0 { String::new() } else { format!("[exit code {}]\n", done.code) };
    format!("$ {line}\n{}{code}", done.shown)
}

/// What is left on a terminal of what it was sent: erased lines are gone, colours are not text.
fn left_standing(sent: &str) -> String {
    let mut text = String::new();
    let mut characters = sent.chars();
    while let Some(c) = characters.next() {
        match c {
            '\x1b' => {
                // `ESC [` parameters letter; K and J erase from the cursor, which stands at the line's beginning.
                let last = characters.find(char::is_ascii_alphabetic);
                if matches!(last, Some('K' | 'J')) {
                    text.truncate(text.rfind('\n').map_or(0, |at| at + 1));
                }
            }
            '\r' => {}
            _ => text.push(c),
        }
    }
    text
}

/// What every load's id is shown as.
pub(crate) const LOAD_ID: &str = "5e2b8c972a883ac2";

/// Sixteen hexadecimal digits are a load's id.
fn nameless(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        out.push_str(before);
        out.push_str(if word.len() == 16 { LOAD_ID } else { word });
        rest = after;
    }
    out + rest
}

/// The time and the rate of the summary.
fn timeless(line: &str) -> String {
    let Some((before, rest)) = line.split_once(" in ") else { return line.to_owned() };
    let Some((_, rest)) = rest.split_once(" rows/s, ") else { return line.to_owned() };
    format!("{before} in 0.02 s: 120 rows/s, {rest}")
}
