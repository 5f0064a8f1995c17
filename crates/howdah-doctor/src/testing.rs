//! Made-up facts for the rules' tests: all is well, but for what a test changes.

use howdah::facts::{
    ArchiverFacts, CheckpointFacts, ColumnFacts, DiskFacts, Fact, Facts, IndexFacts, LogFacts, SessionFacts,
    SettingFacts, StandbyFacts, TableFacts, TableSize,
};

use crate::attachment::{Attachment, Variant};
use crate::case::{Ask, Case};
use crate::finding::{Finding, Gap};
use crate::rules;
use crate::trials::{ConnectionsRun, ConnectionsTrial, Run, TableTrial, Trials};
use crate::verdict::Verdict;

/// Settings of a server that is well: name, value, unit, context.
const SETTINGS: [(&str, &str, &str, &str); 30] = [
    ("archive_mode", "off", "", "postmaster"),
    ("autovacuum", "on", "", "sighup"),
    ("checkpoint_completion_target", "0.9", "", "sighup"),
    ("checkpoint_timeout", "300", "s", "sighup"),
    ("commit_delay", "0", "", "superuser"),
    ("default_toast_compression", "pglz", "", "user"),
    ("default_transaction_read_only", "off", "", "user"),
    ("fsync", "on", "", "sighup"),
    ("full_page_writes", "on", "", "sighup"),
    ("idle_in_transaction_session_timeout", "0", "ms", "user"),
    ("log_duration", "off", "", "superuser"),
    ("log_min_duration_statement", "-1", "ms", "superuser"),
    ("log_statement", "none", "", "superuser"),
    ("maintenance_work_mem", "65536", "kB", "user"),
    ("max_connections", "100", "", "postmaster"),
    ("max_slot_wal_keep_size", "-1", "MB", "sighup"),
    ("max_wal_size", "1024", "MB", "sighup"),
    ("min_wal_size", "80", "MB", "sighup"),
    ("reserved_connections", "0", "", "postmaster"),
    ("shared_buffers", "16384", "8kB", "postmaster"),
    ("statement_timeout", "0", "ms", "user"),
    ("superuser_reserved_connections", "3", "", "postmaster"),
    ("synchronous_commit", "on", "", "user"),
    ("synchronous_standby_names", "", "", "sighup"),
    ("track_functions", "none", "", "superuser"),
    ("transaction_timeout", "0", "ms", "user"),
    ("wal_compression", "off", "", "superuser"),
    ("wal_level", "replica", "", "postmaster"),
    ("auto_explain.log_min_duration", "-1", "ms", "superuser"),
    ("auto_explain.log_analyze", "off", "", "superuser"),
];

/// A server and a table `public.events` with 10 million rows in 1 GB, with which nothing is wrong.
pub(crate) fn healthy() -> Facts {
    let settings = SETTINGS.map(|(name, value, unit, context)| SettingFacts {
        name: name.into(),
        value: value.into(),
        unit: (!unit.is_empty()).then(|| unit.to_owned()),
        source: "default".into(),
        context: context.into(),
        choices: (name == "wal_compression").then(|| vec!["off".into(), "lz4".into(), "zstd".into()]),
        is_altered: None,
    });
    Facts {
        session: SessionFacts {
            version: "18.1".into(),
            version_num: 180_001,
            database: "shop".into(),
            role: "loader".into(),
            reads_activity: true,
            reads_settings: true,
            encoding: "UTF8".into(),
            role_limit: -1,
            database_limit: -1,
            transaction_age: 1_000_000,
            schema: Some("public".into()),
            creates_tables: true,
            counted_days: Some(94.0),
            ..SessionFacts::default()
        },
        settings: Fact::Seen(settings.into()),
        log: Fact::Seen(LogFacts { full_pages: 10.0, bytes: 1e10 }),
        checkpoints: Fact::Seen(CheckpointFacts { timed: 100.0, requested: 10.0 }),
        connections: Fact::Seen(5),
        transactions: Fact::Seen(Vec::new()),
        prepared: Fact::Seen(Vec::new()),
        standbys: Fact::Seen(StandbyFacts::default()),
        slots: Fact::Seen(Vec::new()),
        archiver: Fact::Seen(ArchiverFacts::default()),
        disk: Fact::Seen(DiskFacts { free: 1e12, total: 2e12 }),
        table: Some(events()),
        watched: None,
    }
}

fn events() -> TableFacts {
    TableFacts {
        schema: "public".into(),
        name: "events".into(),
        kind: "r".into(),
        owner: "ann".into(),
        uses_schema: true,
        rights: ["INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE"].map(str::to_owned).into(),
        rows: Some(1e7),
        bytes: 1e9,
        live_rows: 1e7,
        is_analyzed: true,
        has_identity: true,
        size: Fact::Seen(TableSize { table: 1e9, toast: 0.0, indexes: 2e8 }),
        columns: Fact::Seen(vec![ColumnFacts {
            name: "id".into(),
            r#type: "bigint".into(),
            width: Some(8.0),
            correlation: Some(1.0),
            ..ColumnFacts::default()
        }]),
        indexes: Fact::Seen(vec![IndexFacts { scans: 10.0, is_key: true, ..index("events_pkey", "id") }]),
        foreign_keys: Fact::Seen(Vec::new()),
        references: Fact::Seen(Vec::new()),
        checks: Fact::Seen(Vec::new()),
        triggers: Fact::Seen(Vec::new()),
        locks: Fact::Seen(Vec::new()),
        ..TableFacts::default()
    }
}

/// An index that is used.
pub(crate) fn index(name: &str, column: &str) -> IndexFacts {
    IndexFacts {
        schema: "public".into(),
        name: name.into(),
        method: "btree".into(),
        columns: vec![Some(column.into())],
        is_valid: true,
        is_plain: true,
        bytes: 1e8,
        scans: 10.0,
        ..IndexFacts::default()
    }
}

/// The table of the facts.
pub(crate) fn table(facts: &mut Facts) -> &mut TableFacts {
    facts.table.as_mut().unwrap()
}

/// What is seen, to be changed.
pub(crate) fn seen<T>(known: &mut Fact<T>) -> &mut T {
    match known {
        Fact::Seen(fact) => fact,
        Fact::Hidden(_) => panic!("it is hidden"),
    }
}

/// Gives a setting another value.
pub(crate) fn set(facts: &mut Facts, name: &str, value: &str) {
    let settings = seen(&mut facts.settings);
    if let Some(setting) = settings.iter_mut().find(|setting| setting.name == name) {
        value.clone_into(&mut setting.value);
        "configuration file".clone_into(&mut setting.source);
    } else {
        settings.push(SettingFacts { name: name.into(), value: value.into(), ..SettingFacts::default() });
    }
}

/// Hides a setting, as from a role that may not see it.
pub(crate) fn hide_setting(facts: &mut Facts, name: &str) {
    seen(&mut facts.settings).retain(|setting| setting.name != name);
}

/// What is hidden from the role.
pub(crate) fn hidden<T>() -> Fact<T> {
    Fact::Hidden(howdah::facts::Unseen::NoRight)
}

/// The verdict of the rule `id` on facts that `change` has changed, for a load that `ask` describes.
pub(crate) fn verdict_for(id: &str, ask: &Ask, change: impl FnOnce(&mut Facts)) -> Verdict {
    let mut facts = healthy();
    change(&mut facts);
    rules::find(id).unwrap_or_else(|| panic!("no rule {id}")).verdict(&Case {
        facts: &facts,
        ask,
        trials: None,
    })
}

/// What the rule `id` finds.
pub(crate) fn found(id: &str, change: impl FnOnce(&mut Facts)) -> Finding {
    found_for(id, &Ask::default(), change)
}

/// The same, for a load.
pub(crate) fn found_for(id: &str, ask: &Ask, change: impl FnOnce(&mut Facts)) -> Finding {
    match verdict_for(id, ask, change) {
        Verdict::Found(mut findings) => {
            for finding in &findings {
                assert!(!finding.evidence.is_empty() && !finding.remedies.is_empty(), "{finding:?}");
                for remedy in &finding.remedies {
                    let texts = [&remedy.undo.to_string(), &remedy.price, &remedy.needs];
                    assert!(!texts.iter().any(|text| text.is_empty()));
                }
            }
            findings.remove(0)
        }
        other => panic!("{id}: {other:?}"),
    }
}

/// Asserts that the rule `id` finds nothing.
pub(crate) fn fine(id: &str, change: impl FnOnce(&mut Facts)) {
    fine_for(id, &Ask::default(), change);
}

/// The same, for a load.
pub(crate) fn fine_for(id: &str, ask: &Ask, change: impl FnOnce(&mut Facts)) {
    let verdict = verdict_for(id, ask, change);
    assert!(matches!(verdict, Verdict::Fine | Verdict::DoesNotApply), "{id}: {verdict:?}");
}

/// What the rule `id` could not see.
pub(crate) fn unseen(id: &str, change: impl FnOnce(&mut Facts)) -> Gap {
    match verdict_for(id, &Ask::default(), change) {
        Verdict::NotSeen(gap) => gap,
        other => panic!("{id}: {other:?}"),
    }
}

/// The statements of a finding's remedy, in one line.
pub(crate) fn statements(finding: &Finding, at: usize) -> String {
    match &finding.remedies[at].action {
        crate::finding::Action::Sql(statements) => statements.join(" "),
        other => panic!("{other:?}"),
    }
}

/// Seven rounds in which each attachment costs its share of the time, and nothing wavers: 10,000 rows in a second, of next to no
/// bytes.
pub(crate) fn trial(costs: &[(Attachment, f64)]) -> TableTrial {
    let mut variants = vec![(Variant::Whole, 0.0), (Variant::WholeAgain, 0.0)];
    variants.extend(costs.iter().map(|(attachment, cost)| (Variant::Without(attachment.clone()), *cost)));
    let rounds = (0..=7).flat_map(|round| {
        variants.iter().map(move |(variant, cost)| Run {
            round,
            variant: variant.clone(),
            seconds: 1.0 - cost,
            log: 2e6,
        })
    });
    TableTrial { rows: 10_000, bytes: 10, runs: rounds.collect(), ..TableTrial::default() }
}

/// Seven rounds in which the same rows take so many seconds as text and as CSV, where they take one in binary.
pub(crate) fn with_forms(text: f64, csv: f64) -> TableTrial {
    let mut trial = trial(&[]);
    let forms = [trial.run_of(&Variant::Text, text), trial.run_of(&Variant::Csv, csv)];
    trial.runs.extend(forms.into_iter().flatten());
    trial
}

impl TableTrial {
    /// Runs of `variant` that take so many seconds, one for each round.
    pub(crate) fn run_of(&self, variant: &Variant, seconds: f64) -> Vec<Run> {
        (0..=7).map(|round| Run { round, variant: variant.clone(), seconds, log: 2e6 }).collect()
    }
}

/// Seven rounds in which so many connections take so many seconds, where one takes one second, and nothing wavers.
pub(crate) fn connections(tried: &[(u32, f64)]) -> ConnectionsTrial {
    let counts = [(1, 1.0), (1, 1.0)];
    let rounds = (0..=7).flat_map(|round| {
        let run = move |(connections, seconds): &(u32, f64)| ConnectionsRun {
            round,
            connections: *connections,
            seconds: *seconds,
            log: 2e6,
        };
        counts.iter().chain(tried).map(run).collect::<Vec<_>>()
    });
    ConnectionsTrial { rows: 10_000, runs: rounds.collect() }
}

/// The verdict of the rule `id` on a server that is well and was measured.
pub(crate) fn measured(id: &str, trials: &Trials) -> Verdict {
    let (facts, ask) = (healthy(), Ask::default());
    let case = Case { facts: &facts, ask: &ask, trials: Some(trials) };
    rules::find(id).unwrap_or_else(|| panic!("no rule {id}")).verdict(&case)
}
