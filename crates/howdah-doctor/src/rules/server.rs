//! The server, as far as it refuses loads, ends them, or writes each of their statements down.

use howdah::facts::SettingFacts;

use crate::case::Case;
use crate::figures::{count, duration};
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::remedies::{for_role, for_server};
use crate::rule::Rule;
use crate::sql;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "server.not-writable",
        title: "the server, or the role, takes no writes",
        condition: "the server is in recovery, or default_transaction_read_only is on",
        why: "every load is refused with SQLSTATE 25006",
        remedy: "name the primary, or let a connection string with several hosts find it; let the role write",
        judge: not_writable,
    },
    Rule {
        id: "server.timeouts",
        title: "a time limit ends loads that take longer",
        condition: "statement_timeout, transaction_timeout (17 and later) or idle_in_transaction_session_timeout is set, and \
                    less than an hour",
        why: "a COPY is one statement however long it takes: one that takes longer is cancelled, and nothing is loaded",
        remedy: "lift the limit for the load's own sessions, or for the role that loads",
        judge: timeouts,
    },
    Rule {
        id: "server.connections",
        title: "few connections are left",
        condition: "max_connections, less those that are reserved and used, or the limit of the role or the database, \
                    leaves fewer than five",
        why: "a load takes up to four connections, and one to watch them; one connection too many is refused with SQLSTATE 53300",
        remedy: "take fewer connections, or end sessions that nobody needs",
        judge: connections,
    },
    Rule {
        id: "server.logging",
        title: "each statement is written down again",
        condition: "log_statement is mod or all, log_duration is on, log_min_duration_statement or \
                    auto_explain.log_min_duration is 0, pgaudit.log has write, or track_functions is on",
        why: "a COPY is one statement, so little of it; of rows that are written by single statements each is a line of the log",
        remedy: "switch it off for the role that loads",
        judge: logging,
    },
];

fn not_writable(case: &Case<'_>) -> Judged {
    if case.version() == 0 {
        return Err(case.hidden_setting("default_transaction_read_only"));
    }
    if case.facts.session.in_recovery {
        let action = Action::Elsewhere(
            "connect to the primary: with all hosts in the connection string, target_session_attrs=read-write finds it"
                .to_owned(),
        );
        return Ok(Verdict::of(vec![
            Finding::new(Severity::Fails, Basis::Seen, "the server is a standby")
                .seen("pg_is_in_recovery() is true")
                .remedy(Remedy::new(action, "connect to the standby", "none")),
        ]));
    }
    let setting = case.see_setting("default_transaction_read_only")?;
    if !setting.is_on() {
        return Ok(Verdict::Fine);
    }
    let price = "whoever made the role read-only had a reason";
    Ok(Verdict::of(vec![
        Finding::new(Severity::Fails, Basis::Seen, "transactions are read-only by default")
            .seen(source(setting))
            .remedy(Remedy::session("default_transaction_read_only", "off", price))
            .remedy(for_role(case, setting, "off", price)),
    ]))
}

/// A setting's value and where it is from.
pub(super) fn source(setting: &SettingFacts) -> String {
    let place = match setting.source.as_str() {
        "user" => "set for the role",
        "database" => "set for the database",
        "database user" => "set for the role in this database",
        "client" => "set by the connection's own options",
        "default" => "the default",
        _ => "set for the whole server",
    };
    format!("{} = {}, {place}", setting.name, sql::value(setting).trim_matches('\''))
}

/// A limit of an hour and more is meant for what hangs.
const LONG_S: f64 = 3600.0;

fn timeouts(case: &Case<'_>) -> Judged {
    let mut findings = Vec::new();
    let mut names = vec!["statement_timeout", "idle_in_transaction_session_timeout"];
    if case.version() >= 170_000 {
        names.push("transaction_timeout");
    }
    for name in names {
        let setting = case.see_setting(name)?;
        let seconds = setting.number().unwrap_or(0.0) / 1000.0;
        if seconds > 0.0 && seconds < LONG_S {
            let price = "nothing ends a load that hangs";
            findings.push(
                Finding::new(Severity::Fails, Basis::Seen, format!("{name} is {}", duration(seconds)))
                    .seen(source(setting))
                    .remedy(Remedy::session(name, "0", price))
                    .remedy(for_role(case, setting, "0", price)),
            );
        }
    }
    Ok(Verdict::of(findings))
}

/// What a load takes by default: four connections and a watcher.
const NEEDED: f64 = 5.0;

fn connections(case: &Case<'_>) -> Judged {
    let session = &case.facts.session;
    let used = f64::from(*case.see(&case.facts.connections, "how many connections are used")?);
    let most = case.see_setting("max_connections")?.number().unwrap_or(0.0);
    let reserved = match session.is_superuser {
        true => 0.0,
        false => {
            case.number("superuser_reserved_connections").unwrap_or(0.0)
                + case.number("reserved_connections").unwrap_or(0.0)
        }
    };
    let mut limits = vec![("max_connections", most - reserved - used)];
    // How many the role or the database has of its own is not looked at: so many at most are left.
    for (what, limit) in [
        ("the role's limit, at most", session.role_limit),
        ("the database's limit, at most", session.database_limit),
    ] {
        if limit >= 0 && !session.is_superuser {
            limits.push((what, f64::from(limit)));
        }
    }
    let findings = limits.into_iter().filter(|(_, left)| *left < NEEDED).map(|(what, left)| {
        let left = left.max(0.0);
        Finding::new(
            Severity::Fails,
            Basis::Counted,
            format!("{} connections are left by {what}", count(left)),
        )
        .seen(format!("{} used, {} reserved, {} at most", count(used), count(reserved), count(most)))
        .remedy(Remedy::load(
            howdah::message![howdah::message::setting::JOBS.number(1)],
            "one connection encodes and sends alone",
        ))
    });
    Ok(Verdict::of(findings.collect()))
}

fn logging(case: &Case<'_>) -> Judged {
    let always = ["log_statement", "log_duration", "log_min_duration_statement", "track_functions"];
    for name in always {
        case.see_setting(name)?;
    }
    let off = |name: &str, is_loud: fn(&SettingFacts) -> bool, quiet: &'static str| {
        case.setting(name).filter(|setting| is_loud(setting)).map(|setting| (setting, quiet))
    };
    let loud = [
        off("log_statement", |s| matches!(s.value.as_str(), "mod" | "all"), "none"),
        off("log_duration", SettingFacts::is_on, "off"),
        off("log_min_duration_statement", |s| s.value == "0", "-1"),
        off("track_functions", |s| s.value != "none", "none"),
        off("auto_explain.log_min_duration", |s| s.value == "0", "-1"),
        off("pgaudit.log", |s| s.value.contains("write") || s.value == "all", "none"),
    ];
    let findings = loud.into_iter().flatten().map(|(setting, quiet)| {
        let price = match setting.name.as_str() {
            "pgaudit.log" => "what the role writes is in no audit",
            _ => "the role's statements are not in the log",
        };
        let value = sql::value(setting);
        let finding = Finding::new(
            Severity::Costs,
            Basis::Known,
            format!("{} is {}", setting.name, value.trim_matches('\'')),
        )
        .seen(source(setting))
        .remedy(for_role(case, setting, quiet, price));
        match setting.source.as_str() {
            "configuration file" => {
                let price = match setting.name.as_str() {
                    "pgaudit.log" => "what anybody writes is in no audit",
                    "track_functions" => "calls of functions are not counted",
                    _ => "nobody's statements are in the log",
                };
                finding.remedy(for_server(case, &[(&setting.name, quiet)], price))
            }
            _ => finding,
        }
    });
    Ok(Verdict::of(findings.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fine, found, hidden, hide_setting, seen, set, statements, unseen};

    #[test]
    fn a_server_or_role_that_takes_no_writes() {
        let finding = found("server.not-writable", |facts| facts.session.in_recovery = true);
        assert_eq!(finding.severity, Severity::Fails);
        let finding = found("server.not-writable", |facts| set(facts, "default_transaction_read_only", "on"));
        assert_eq!(statements(&finding, 1), "ALTER ROLE loader SET default_transaction_read_only = 'off';");
        assert_eq!(
            finding.remedies[1].undo.to_string(),
            "ALTER ROLE loader RESET default_transaction_read_only;"
        );
        fine("server.not-writable", |facts| set(facts, "default_transaction_read_only", "off"));
        unseen("server.not-writable", |facts| hide_setting(facts, "default_transaction_read_only"));
    }

    #[test]
    fn a_limit_below_an_hour_ends_loads() {
        let finding = found("server.timeouts", |facts| {
            set(facts, "statement_timeout", "600000");
            seen(&mut facts.settings).iter_mut().for_each(|setting| setting.source = "user".into());
        });
        assert_eq!(finding.title, "statement_timeout is 10 min");
        assert_eq!(finding.evidence, ["statement_timeout = 600000ms, set for the role"]);
        assert_eq!(statements(&finding, 1), "ALTER ROLE loader SET statement_timeout = '0';");
        assert_eq!(
            finding.remedies[1].undo.to_string(),
            "ALTER ROLE loader SET statement_timeout = '600000ms';"
        );
        found("server.timeouts", |facts| set(facts, "transaction_timeout", "3599999"));
        fine("server.timeouts", |facts| set(facts, "transaction_timeout", "3600000"));
        let of_database = found("server.timeouts", |facts| {
            set(facts, "statement_timeout", "1");
            seen(&mut facts.settings).iter_mut().for_each(|setting| setting.source = "database user".into());
        });
        assert_eq!(
            statements(&of_database, 1),
            "ALTER ROLE loader IN DATABASE shop SET statement_timeout = '0';"
        );
        // PostgreSQL 16 has no such setting.
        fine("server.timeouts", |facts| {
            facts.session.version_num = 160_004;
            hide_setting(facts, "transaction_timeout");
        });
        unseen("server.timeouts", |facts| hide_setting(facts, "statement_timeout"));
    }

    #[test]
    fn five_connections_are_enough_and_four_are_not() {
        let finding = found("server.connections", |facts| *seen(&mut facts.connections) = 93);
        assert_eq!(finding.title, "4 connections are left by max_connections");
        assert_eq!(finding.evidence, ["93 used, 3 reserved, 100 at most"]);
        fine("server.connections", |facts| *seen(&mut facts.connections) = 92);
        fine("server.connections", |facts| {
            *seen(&mut facts.connections) = 95;
            facts.session.is_superuser = true;
        });
        found("server.connections", |facts| facts.session.role_limit = 4);
        found("server.connections", |facts| facts.session.database_limit = 0);
        fine("server.connections", |facts| facts.session.role_limit = 5);
        unseen("server.connections", |facts| facts.connections = hidden());
    }

    #[test]
    fn what_writes_every_statement_down_is_named() {
        for (name, loud, quiet) in [
            ("log_statement", "mod", "ddl"),
            ("log_statement", "all", "none"),
            ("log_duration", "on", "off"),
            ("log_min_duration_statement", "0", "250"),
            ("track_functions", "pl", "none"),
            ("auto_explain.log_min_duration", "0", "-1"),
            ("pgaudit.log", "read, write", "ddl"),
        ] {
            let finding = found("server.logging", |facts| set(facts, name, loud));
            assert!(finding.title.starts_with(name), "{}", finding.title);
            assert_eq!(finding.basis, Basis::Known);
            // A setting that the connection brings is not the server's.
            assert_eq!(finding.remedies.len(), if name == "pgaudit.log" { 1 } else { 2 });
            fine("server.logging", |facts| set(facts, name, quiet));
        }
        unseen("server.logging", |facts| hide_setting(facts, "log_statement"));
    }
}
