//! What was seen while the server was watched: which share of their time sessions that write wait for something, and how much
//! they do.

use howdah::facts::{ProgramFacts, StatementKind, WatchFacts, WorkFacts, WriterFacts};

use crate::figures::{bytes, rate};
use crate::measured::Measured;
use crate::statistics::Interval;

/// Fewer looks at a session that writes say nothing.
const FEWEST: f64 = 20.0;

/// Kinds of waits that are named in a line.
const NAMED: usize = 4;

/// The share of their time that sessions which write do what `is` says; `None`: too few were seen.
pub(crate) fn share(watched: &WatchFacts, is: impl Fn(&WriterFacts) -> bool) -> Option<Measured> {
    let writers = watched.writers.seen()?;
    let count = |of: &dyn Fn(&WriterFacts) -> bool| {
        writers.iter().filter(|writer| of(writer)).map(|writer| writer.seen as f64).sum::<f64>()
    };
    let all = count(&|_| true);
    // Sessions that are seen at one look wait for each other: they are one observation.
    let observed = all.min(f64::from(watched.looks));
    if observed < FEWEST {
        return None;
    }
    let median = count(&is) / all;
    let interval = Interval::of_share(median * observed, observed)?;
    Some(Measured { median, low: interval.low, high: interval.high, rounds: whole(observed) })
}

fn whole(count: f64) -> usize {
    // Looks are counted in 32 bits.
    format!("{count:.0}").parse().unwrap_or(usize::MAX)
}

/// What was seen, in a line; `of_all`: of all roles' sessions, and not of the own one's only.
pub(crate) fn said(watched: &WatchFacts, of_all: bool) -> String {
    let mut parts = Vec::new();
    if let Some(work) = watched.work.seen() {
        let each = |n: f64| n / counted(watched, work);
        parts.push(format!(
            "{} commits, {} rows and {} of the log a second",
            rate(each(work.commits)),
            rate(each(work.rows)),
            bytes(each(work.log))
        ));
    }
    if let Some(writers) = watched.writers.seen() {
        let seen: u64 = writers.iter().map(|writer| writer.seen).sum();
        let at_once = seen as f64 / f64::from(watched.looks.max(1));
        let whose = if of_all { "" } else { " of the own role, whose alone it sees," };
        parts.push(format!("{at_once:.1} sessions{whose} in transactions that write"));
        let shares = writers.iter().take(NAMED).filter_map(|writer| {
            let share = share(watched, |other| other == writer)?;
            Some(format!("{} {}", name(writer), share.percent()))
        });
        let shares: Vec<String> = shares.collect();
        if !shares.is_empty() {
            parts.push(format!("of their time {}", shares.join(", ")));
        }
    }
    if let Some(sent) = watched.programs.as_ref().and_then(sent) {
        parts.push(sent);
    }
    format!("{:.0} s, {} looks: {}", watched.seconds, watched.looks, parts.join("; "))
}

/// Seconds in which `work` was counted: reports of long ago do not say.
pub(crate) fn counted(watched: &WatchFacts, work: &WorkFacts) -> f64 {
    if work.seconds > 0.0 { work.seconds } else { watched.seconds.max(0.001) }
}

/// Statements that bring rows, and those that nobody saw.
fn sent(programs: &ProgramFacts) -> Option<String> {
    let sent = programs.statements.seen()?;
    let bringing = sent
        .statements
        .iter()
        .filter(|it| matches!(it.said.kind, StatementKind::Insert | StatementKind::Copy));
    let (calls, rows) = bringing.fold((0.0, 0.0), |(calls, rows), it| (calls + it.calls, rows + it.rows));
    let each = |n: f64| rate(n / programs.seconds.max(0.001));
    let mut said = format!("{} statements a second bring rows to the database", each(calls));
    if calls > 0.0 {
        said.push_str(&format!(", {:.1} each", rows / calls));
    }
    if sent.hidden > 0.0 {
        said.push_str(&format!("; {} a second of other roles are not seen", each(sent.hidden)));
    }
    Some(said)
}

/// What they do, as PostgreSQL calls it.
fn name(writer: &WriterFacts) -> String {
    match (writer.is_active, writer.kind.as_str()) {
        (false, _) => "idle in transaction".to_owned(),
        (true, "") => "computing".to_owned(),
        (true, kind) => format!("{kind}:{}", writer.event),
    }
}

#[cfg(test)]
mod tests {
    use howdah::facts::{Fact, SentFacts, StatementFacts, StatementText};

    use super::*;

    fn writer(kind: &str, event: &str, seen: u64) -> WriterFacts {
        WriterFacts { is_active: true, kind: kind.into(), event: event.into(), seen }
    }

    #[test]
    fn shares_have_the_interval_of_their_looks_and_few_have_none() {
        let mut watched = WatchFacts {
            seconds: 10.0,
            looks: 100,
            writers: Fact::Seen(vec![writer("IO", "WALSync", 150), writer("", "", 50)]),
            work: Fact::Seen(WorkFacts {
                seconds: 10.0,
                commits: 20.0,
                rows: 1e6,
                log: 3e8,
                full_pages: 0.0,
            }),
            programs: None,
        };
        let sync = share(&watched, |writer| writer.event == "WALSync").unwrap();
        assert_eq!(sync.percent(), "75 % (66 to 82)");
        assert_eq!(
            said(&watched, true),
            "10 s, 100 looks: 2 commits, 100,000 rows and 30 MB of the log a second; 2.0 sessions in transactions that write; \
             of their time IO:WALSync 75 % (66 to 82), computing 25 % (18 to 34)"
        );
        watched.writers = Fact::Seen(vec![writer("IO", "WALSync", 19)]);
        assert_eq!(share(&watched, |_| true), None);
        assert!(said(&watched, true).ends_with("; 0.2 sessions in transactions that write"));
        let own = "; 0.2 sessions of the own role, whose alone it sees, in transactions that write";
        assert!(said(&watched, false).ends_with(own));
    }

    #[test]
    fn what_programs_sent_is_said_and_what_is_hidden_of_it() {
        let of = |text: &str, calls: f64, rows: f64| {
            let said = StatementText::read(text).unwrap();
            StatementFacts { said, calls, rows, ..StatementFacts::default() }
        };
        let statements = vec![
            of("INSERT INTO t VALUES ($1)", 50.0, 50.0),
            of("COPY t FROM STDIN", 10.0, 700.0),
            of("SELECT a FROM t", 900.0, 900.0),
        ];
        let mut programs = ProgramFacts {
            seconds: 10.0,
            statements: Fact::Seen(SentFacts { statements, ..SentFacts::default() }),
            ..ProgramFacts::default()
        };
        assert_eq!(sent(&programs).unwrap(), "6 statements a second bring rows to the database, 12.5 each");
        programs.statements = Fact::Seen(SentFacts { hidden: 70.0, ..SentFacts::default() });
        assert_eq!(
            sent(&programs).unwrap(),
            "0 statements a second bring rows to the database; 7 a second of other roles are not seen"
        );
        assert_eq!(sent(&ProgramFacts::default()), None);
    }
}
