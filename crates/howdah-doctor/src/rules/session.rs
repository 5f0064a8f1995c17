//! The way to the server, and what becomes of text on it.

use crate::case::Case;
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::rule::Rule;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "net.tls",
        title: "a connection within the machine is encrypted",
        condition: "the session is encrypted and its address is a loopback one",
        why: "both ends encrypt what nobody else can read",
        remedy: "connect by the Unix socket, or without TLS on this machine only. Elsewhere TLS stays",
        judge: tls,
    },
    Rule {
        id: "client.encoding",
        title: "every text is converted",
        condition: "the database's encoding is neither UTF8 nor SQL_ASCII",
        why: "rows are sent as UTF-8, so the server converts each value, and refuses what its encoding lacks",
        remedy: "a database in UTF8",
        judge: encoding,
    },
];

fn tls(case: &Case<'_>) -> Judged {
    if case.version() == 0 {
        return Err(case.hidden_setting("ssl"));
    }
    let session = &case.facts.session;
    if !(session.is_encrypted && session.is_local) {
        return Ok(Verdict::Fine);
    }
    let action = Action::Elsewhere(
        "sslmode=disable in the connection string, or the socket's directory as the host".to_owned(),
    );
    Ok(Verdict::of(vec![
        Finding::new(Severity::Costs, Basis::Known, "a connection within the machine is encrypted")
            .seen("pg_stat_ssl has it; the client's address is a loopback one")
            .remedy(Remedy::new(
                action,
                "leave it out",
                "whoever may capture the machine's own traffic can read the rows",
            )),
    ]))
}

fn encoding(case: &Case<'_>) -> Judged {
    let encoding = case.facts.session.encoding.as_str();
    match encoding {
        "" => Err(case.hidden_setting("server_encoding")),
        "UTF8" | "SQL_ASCII" => Ok(Verdict::Fine),
        _ => {
            let action = Action::Elsewhere(
                "dump the database, make one with ENCODING 'UTF8' TEMPLATE template0, and restore it there"
                    .to_owned(),
            );
            Ok(Verdict::of(vec![
                Finding::new(Severity::Costs, Basis::Known, format!("the database's encoding is {encoding}"))
                    .seen(format!("server_encoding = {encoding}"))
                    .remedy(
                        Remedy::new(action, "the old database", "the time of dump and restore")
                            .needs("CREATEDB"),
                    ),
            ]))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{fine, found, unseen};

    #[test]
    fn encryption_within_the_machine_is_named_and_elsewhere_it_is_not() {
        found("net.tls", |facts| (facts.session.is_encrypted, facts.session.is_local) = (true, true));
        fine("net.tls", |facts| facts.session.is_encrypted = true);
        fine("net.tls", |facts| facts.session.is_local = true);
        unseen("net.tls", |facts| facts.session.version_num = 0);
    }

    #[test]
    fn an_encoding_that_is_converted() {
        let finding = found("client.encoding", |facts| facts.session.encoding = "LATIN1".into());
        assert_eq!(finding.evidence, ["server_encoding = LATIN1"]);
        fine("client.encoding", |facts| facts.session.encoding = "SQL_ASCII".into());
        unseen("client.encoding", |facts| facts.session.encoding = String::new());
    }
}
