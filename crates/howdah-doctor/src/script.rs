//! All remedies as one script of SQL, which a person reviews and then runs. What is not SQL, what stands for something else and what
//! cannot be taken back are comments in it.

use std::time::{SystemTime, UNIX_EPOCH};

use howdah::message::{Spelling, is_hidden};
use howdah_encode::civil::{UNIX_EPOCH_DAYS, date_of};

use crate::finding::{Action, Finding, Remedy};
use crate::report::Report;
use crate::sql;
use crate::undo::Undo;

/// Moves when a mark goes or means something else.
const FORMAT: u32 = 1;

/// Stands before statements that are not live.
const NOT_LIVE: &str = "-- sql: ";
/// Stands before the statements of the way back.
const UNDO: &str = "-- undo: ";

/// Names are read as they are written, whatever the client is set to.
const SETTINGS: [&str; 2] = ["SET client_encoding = 'UTF8';", "SET standard_conforming_strings = on;"];

/// How it is read.
const GUIDE: [&str; 6] = [
    "Lines without dashes are live. This runs them, and not with -1: some cannot be in a transaction.",
    "  psql -XAt -v ON_ERROR_STOP=1 -f FILE",
    "Behind `-- sql:` stands what is not live: alternatives, and what cannot be taken back.",
    "Behind `-- undo:`, at the end, stands the way back. This makes a script of it:",
    "  sed -n 's/^-- undo: //p' FILE > undo.sql",
    "Where this script stopped in the middle, run that without ON_ERROR_STOP: what was not done cannot be undone.",
];

/// Remedies for review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// The script: plain SQL, which any client runs.
    pub text: String,
    /// How many findings have a remedy that is live in it.
    pub live: usize,
}

impl Report {
    /// All remedies that are SQL as one script, with their labels, prices and undos; the others are comments in it, in the words of
    /// `spelling`. Of several remedies of a finding the first is live, unless it cannot be taken back.
    pub fn script(&self, written: SystemTime, spelling: &dyn Spelling) -> Script {
        let mut draft = Draft::default();
        draft.head(self, written);
        let with_remedies = self.diagnosis.findings.iter().filter(|finding| !finding.remedies.is_empty());
        for (at, finding) in with_remedies.enumerate() {
            draft.add(at + 1, finding, spelling);
        }
        let live = draft.live.len();
        draft.way_back();
        let mut text = draft.lines.join("\n");
        text.push('\n');
        Script { text, live }
    }
}

/// A remedy that is live.
struct Live<'r> {
    number: usize,
    finding: &'r Finding,
    statements: &'r [String],
    undo: &'r Undo,
}

#[derive(Default)]
struct Draft<'r> {
    lines: Vec<String>,
    live: Vec<Live<'r>>,
}

impl<'r> Draft<'r> {
    /// What it is a script of.
    fn head(&mut self, report: &Report, written: SystemTime) {
        let session = &report.facts.session;
        let version = report.howdah_version;
        self.comment(&format!("howdah doctor {version}: remedies for review. Nothing of this has been run."));
        self.comment(&format!("format    {FORMAT}"));
        self.comment(&format!("server    PostgreSQL {}", session.version));
        let (database, role) = (sql::name(&session.database), sql::name(&session.role));
        self.comment(&format!("database  {database}, looked at by the role {role}"));
        if let Some(table) = &report.facts.table {
            self.comment(&format!("table     {}", sql::table(table)));
        }
        self.comment(&format!("written   {}", moment(written)));
        self.lines.push("--".to_owned());
        GUIDE.iter().for_each(|line| self.comment(line));
        self.lines.push(String::new());
        self.lines.extend(SETTINGS.map(str::to_owned));
    }

    /// A finding with its remedies.
    fn add(&mut self, number: usize, finding: &'r Finding, spelling: &dyn Spelling) {
        let cost = finding.cost.map(|cost| format!(", {} of the time", cost.percent())).unwrap_or_default();
        self.lines.push(String::new());
        self.comment(&format!("{number}. {}{cost}: {}", finding.id, finding.title));
        self.note(&format!("{}, {}", finding.severity.name(), finding.basis.name()));
        for (at, remedy) in finding.remedies.iter().enumerate() {
            if at > 0 {
                self.note("or, instead of that:");
            }
            match &remedy.action {
                Action::Sql(statements) => {
                    self.describe(remedy);
                    self.put(number, at == 0, finding, remedy, statements);
                }
                Action::Load(say) => self.elsewhere(&format!("load with {}", say.spelled(spelling)), remedy),
                Action::Session(setting, value) => {
                    let set = format!("SET {} = {}", sql::name(setting), sql::literal(value));
                    self.elsewhere(&format!("{set} in the load's own sessions"), remedy);
                }
                Action::Elsewhere(text) => self.elsewhere(text, remedy),
            }
        }
    }

    /// A remedy that is no SQL.
    fn elsewhere(&mut self, what: &str, remedy: &Remedy) {
        self.note(&format!("do: {what}"));
        self.describe(remedy);
    }

    /// What there is to know of a remedy before it is run.
    fn describe(&mut self, remedy: &Remedy) {
        self.note(&format!("{}, {}; needs: {}", remedy.label, remedy.effect.name(), remedy.needs));
        self.note(&format!("price: {}", remedy.price));
        self.note(&format!("undo: {}", remedy.undo));
    }

    /// The statements, live or not.
    fn put(
        &mut self,
        number: usize,
        is_first: bool,
        finding: &'r Finding,
        remedy: &'r Remedy,
        statements: &'r [String],
    ) {
        let is_known = |live: &&Live<'_>| {
            let attachment = &live.finding.attachment;
            live.statements == statements || (attachment.is_some() && *attachment == finding.attachment)
        };
        let idle = match (&remedy.undo, self.live.iter().find(is_known)) {
            _ if !is_first => Some("one of them is enough".to_owned()),
            (Undo::Impossible(_), _) => Some("it cannot be taken back".to_owned()),
            (_, Some(live)) => Some(format!("{} is about the same thing", live.number)),
            _ => None,
        };
        if let Some(why) = idle {
            self.note(&format!("not live, since {why}:"));
            self.lines.extend(statements.iter().map(|statement| format!("{NOT_LIVE}{statement}")));
            return;
        }
        if let Undo::Printed(query) = &remedy.undo {
            self.note("keep what this prints, it is the undo:");
            self.lines.push(query.clone());
        }
        self.lines.extend(statements.iter().cloned());
        self.live.push(Live { number, finding, statements, undo: &remedy.undo });
    }

    /// What takes back all that is live, the last first.
    fn way_back(&mut self) {
        if self.live.iter().all(|live| *live.undo == Undo::NotNeeded) {
            return;
        }
        self.lines.push(String::new());
        self.comment("The way back, last first.");
        self.lines.extend(SETTINGS.map(|statement| format!("{UNDO}{statement}")));
        for live in std::mem::take(&mut self.live).into_iter().rev() {
            let of = format!("{}. {}", live.number, live.finding.id);
            match live.undo {
                Undo::Sql(statements) => {
                    self.comment(&of);
                    self.lines.extend(statements.iter().map(|statement| format!("{UNDO}{statement}")));
                }
                Undo::Printed(_) => {
                    self.comment(&format!("{of}: what the query before its statement printed"))
                }
                words => self.comment(&format!("{of}: {words}")),
            }
        }
    }

    fn note(&mut self, text: &str) {
        self.comment(&format!("   {text}"));
    }

    /// A comment of one line, whatever is in the text.
    fn comment(&mut self, text: &str) {
        let mut line = "-- ".to_owned();
        for c in text.chars() {
            if is_hidden(c) { line.extend(c.escape_unicode()) } else { line.push(c) }
        }
        self.lines.push(line);
    }
}

/// `2026-11-27 09:10:22 UTC`.
fn moment(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let days = i64::try_from(seconds / 86_400).unwrap_or(0);
    let date = date_of(days + i64::from(UNIX_EPOCH_DAYS));
    let [hour, minute, second] = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60];
    format!("{:04}-{:02}-{:02} {hour:02}:{minute:02}:{second:02} UTC", date.year, date.month, date.day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use howdah::facts::{Facts, IndexFacts, PreparedTransaction, TriggerFacts};
    use howdah::message::Library;

    use super::*;
    use crate::Ask;
    use crate::testing::{healthy, index, seen, set, table};

    fn written(change: impl FnOnce(&mut Facts)) -> Script {
        let mut facts = healthy();
        change(&mut facts);
        Report::new(facts, Ask::default(), None)
            .script(UNIX_EPOCH + Duration::from_secs(951_782_400), &Library)
    }

    /// What stands below the head.
    fn body(script: &Script) -> &str {
        script.text.split_once("_strings = on;\n\n").unwrap().1
    }

    /// An index that another one covers, and that no query used.
    fn covered() -> IndexFacts {
        IndexFacts { covered_by: Some("longer".into()), scans: 0.0, ..index("short", "at") }
    }

    #[test]
    fn what_can_be_taken_back_is_live_once_and_the_way_back_is_beside_it() {
        let script = written(|facts| {
            let gid = PreparedTransaction {
                gid: "x".into(),
                owner: "bob".into(),
                seconds: 3600.0,
                ..PreparedTransaction::default()
            };
            seen(&mut facts.prepared).push(gid);
            seen(&mut table(facts).indexes).push(covered());
        });
        assert_eq!(script.live, 1);
        let head: Vec<&str> = script.text.lines().take(6).collect();
        assert_eq!(
            head[1..],
            [
                "-- format    1",
                "-- server    PostgreSQL 18.1",
                "-- database  shop, looked at by the role loader",
                "-- table     public.events",
                "-- written   2000-02-29 00:00:00 UTC",
            ]
        );
        assert_eq!(
            body(&script),
            "\
-- 1. server.prepared: the transaction 'x' is prepared since 60 min
--    will fail or hurt, seen in the catalog
--    durable, at once; needs: the role bob, in that database
--    price: what it did is lost
--    undo: none: what it did is lost
--    not live, since it cannot be taken back:
-- sql: ROLLBACK PREPARED 'x';
--    or, instead of that:
--    durable, at once; needs: the role bob, in that database
--    price: its other halves may be rolled back
--    undo: none: what it did is there
--    not live, since one of them is enough:
-- sql: COMMIT PREPARED 'x';

-- 2. index.duplicate: public.short is covered by longer
--    costs time, seen in the catalog
--    durable, at once; needs: its owner, ann
--    price: none: longer finds the same
--    undo: CREATE INDEX CONCURRENTLY short ON public.events USING btree (at);
DROP INDEX CONCURRENTLY public.short;

-- 3. index.unused: no query used public.short
--    costs time, counted by the server
--    durable, at once; needs: its owner, ann
--    price: queries that need it are slower
--    undo: CREATE INDEX CONCURRENTLY short ON public.events USING btree (at);
--    not live, since 2 is about the same thing:
-- sql: DROP INDEX CONCURRENTLY public.short;

-- The way back, last first.
-- undo: SET client_encoding = 'UTF8';
-- undo: SET standard_conforming_strings = on;
-- 2. index.duplicate
-- undo: CREATE INDEX CONCURRENTLY short ON public.events USING btree (at);
"
        );
    }

    #[test]
    fn what_is_no_sql_is_a_comment_and_a_definition_is_asked_for_before_it_goes() {
        let script = written(|facts| {
            set(facts, "statement_timeout", "5000");
            set(facts, "commit_delay", "9");
            seen(&mut table(facts).indexes).push(IndexFacts { is_plain: false, ..covered() });
        });
        assert_eq!(script.live, 2);
        for part in [
            "\n--    do: SET statement_timeout = '0' in the load's own sessions\n",
            "\n--    not live, since one of them is enough:\n-- sql: ALTER ROLE loader SET statement_timeout = '0';\n",
            "\n--    keep what this prints, it is the undo:\n\
             SELECT pg_get_indexdef('public.short'::regclass) || ';';\nDROP INDEX CONCURRENTLY public.short;\n",
        ] {
            assert!(script.text.contains(part), "{part}: {}", script.text);
        }
        // The last one first, and what belongs together in its own order.
        let way_back = script.text.split_once("-- The way back, last first.\n").unwrap().1;
        let way_back: Vec<&str> = way_back.lines().skip(2).collect();
        assert_eq!(
            way_back,
            [
                "-- 4. commit.delay",
                "-- undo: ALTER SYSTEM SET commit_delay = '9';",
                "-- undo: SELECT pg_reload_conf();",
                "-- 2. index.duplicate: what the query before its statement printed",
            ]
        );
    }

    #[test]
    fn where_nothing_is_live_there_is_no_way_back() {
        let script = written(|_| {});
        assert_eq!(script.live, 0);
        assert!(script.text.ends_with("\nSET standard_conforming_strings = on;\n"), "{}", script.text);
    }

    #[test]
    fn no_name_becomes_a_line_of_its_own() {
        let evil =
            "x\n-- undo: DROP TABLE t;\r\nDROP TABLE t;\u{85}\u{2028}\u{202e}\u{1b}'\"; DROP TABLE t; \\! ls";
        let script = written(|facts| {
            let session = &mut facts.session;
            for text in [&mut session.version, &mut session.database, &mut session.role] {
                evil.clone_into(text);
            }
            set(facts, "log_statement", "all");
            let table = table(facts);
            for text in [&mut table.schema, &mut table.name, &mut table.owner] {
                evil.clone_into(text);
            }
            seen(&mut table.indexes).push(IndexFacts {
                schema: evil.into(),
                name: evil.into(),
                covered_by: Some(evil.into()),
                ..index("", evil)
            });
            seen(&mut table.indexes).push(IndexFacts {
                schema: evil.into(),
                name: format!("{evil}2"),
                scans: 0.0,
                ..IndexFacts { is_plain: false, ..index("", evil) }
            });
            let trigger = TriggerFacts { name: evil.into(), is_for_rows: true, ..TriggerFacts::default() };
            seen(&mut table.triggers).push(trigger);
        });
        assert_eq!(script.live, 4);
        let name = r#"U&"x\+00000A-- undo: DROP TABLE t;\+00000D\+00000ADROP TABLE t;\+000085\+002028\+00202E\+00001B'""; DROP TABLE t; \\! ls""#;
        let second = name.replace(" ls\"", " ls2\"");
        let regclass = sql::relation(evil, &format!("{evil}2"));
        let live: Vec<&str> =
            script.text.lines().filter(|line| !line.starts_with("--") && !line.is_empty()).collect();
        assert_eq!(
            live[2..],
            [
                format!("ALTER ROLE {name} SET log_statement = 'none';"),
                format!("DROP INDEX CONCURRENTLY {name}.{name};"),
                format!("SELECT pg_get_indexdef({regclass}::regclass) || ';';"),
                format!("DROP INDEX CONCURRENTLY {name}.{second};"),
                format!("ALTER TABLE {name}.{name} DISABLE TRIGGER {name};"),
            ]
        );
        let undone: Vec<&str> = script.text.lines().filter(|line| line.starts_with("-- undo: ")).collect();
        assert_eq!(undone.len(), 5, "{undone:#?}");
        assert!(!script.text.contains(|c: char| is_hidden(c) && c != '\n'), "{:?}", script.text);
    }
}
