//! In which form rows travel, and whether the program that sends them is the limit.

use howdah::message;
use howdah::message::setting;

use crate::attachment::Variant;
use crate::case::Case;
use crate::figures::{bytes, count, rate};
use crate::finding::{Action, Basis, Finding, Remedy, Severity};
use crate::measured::Measured;
use crate::rule::Rule;
use crate::trials::TableTrial;
use crate::undo::Undo;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "client.binary",
        title: "rows as text take longer than in binary (with measurements only)",
        condition: "COPY of the same rows into whole copies of the table takes longer as text or as CSV: the interval excludes 0, and \
                    the median is more than 5 % and more than the machine's noise",
        why: "the server reads each value from text. A load sends binary unless it is told otherwise; other programs send text",
        remedy: "have rows sent in binary",
        judge: binary,
    },
    Rule {
        id: "client.text",
        title: "rows as text are faster than in binary (with measurements only)",
        condition: "COPY of the same rows into whole copies of the table takes less time as text or as CSV, as of client.binary",
        why: "of some types the binary form is longer, or takes the server more work, than the text",
        remedy: "have rows sent in that form",
        judge: text,
    },
    Rule {
        id: "client.limit",
        title: "this machine is slower than the server (with measurements only)",
        condition: "reading and encoding the same rows here, as CSV, without sending them, takes one connection longer than the table \
                    takes to let them in",
        why: "the server waits for rows, so nothing that is done to table or server makes a load over one connection faster",
        remedy: "several connections, each of which encodes on a core of its own; or load from a machine with faster cores",
        judge: limit,
    },
];

/// Forms in which rows travel other than binary: what a run is called, a reader's word, the load's.
const FORMS: [(Variant, &str, &str); 2] =
    [(Variant::Text, "text", "copy-text"), (Variant::Csv, "CSV", "copy-csv")];

fn table_trial<'f>(case: &Case<'f>) -> Result<&'f TableTrial, Verdict> {
    case.trials.and_then(|trials| trials.table.as_ref()).ok_or(Verdict::DoesNotApply)
}

/// How it was measured, as evidence.
fn how(trial: &TableTrial) -> String {
    format!("{} rounds of {} rows over one connection", trial.rounds(), count(trial.rows as f64))
}

fn binary(case: &Case<'_>) -> Judged {
    let trial = table_trial(case)?;
    let dearer = FORMS.into_iter().filter_map(|(form, name, _)| {
        Some((name, trial.saved_by_binary(&form).filter(|saved| trial.is_clear(*saved))?))
    });
    let dearer: Vec<(&str, Measured)> = dearer.collect();
    let Some((_, most)) = dearer.iter().copied().reduce(|a, b| if b.1.median > a.1.median { b } else { a })
    else {
        return Ok(match trial.saved_by_binary(&Variant::Text) {
            Some(_) => Verdict::Fine,
            None => Verdict::DoesNotApply,
        });
    };
    let mut finding =
        Finding::new(Severity::Notice, Basis::Measured, "rows as text take longer than in binary");
    for (name, saved) in &dearer {
        finding = finding
            .seen(format!("binary takes {} of the time off that rows take as {name}", saved.percent()));
    }
    let elsewhere = Action::Elsewhere("in other programs: COPY … FROM STDIN (FORMAT binary)".to_owned());
    let price = "the program has to know the columns' types";
    let mut finding = finding
        .seen(how(trial))
        .remedy(Remedy::load(
            message![setting::WRITE_PATH.word("copy-binary")],
            "none: a load does so by itself",
        ))
        .remedy(Remedy::new(elsewhere, "COPY without the format", price));
    finding.cost = Some(most);
    Ok(Verdict::of(vec![finding]))
}

fn text(case: &Case<'_>) -> Judged {
    let trial = table_trial(case)?;
    let cheaper = FORMS.into_iter().filter_map(|(form, name, word)| {
        Some((name, word, trial.saved_by_form(&form).filter(|saved| trial.is_clear(*saved))?))
    });
    let Some((name, word, saved)) = cheaper.reduce(|a, b| if b.2.median > a.2.median { b } else { a }) else {
        return Ok(match trial.saved_by_form(&Variant::Text) {
            Some(_) => Verdict::Fine,
            None => Verdict::DoesNotApply,
        });
    };
    let price = "values are checked by the server, which names a bad one with its line of the COPY alone";
    let title = format!("rows as {name} are faster than in binary");
    let mut finding = Finding::new(Severity::Costs, Basis::Measured, title)
        .seen(how(trial))
        .remedy(Remedy::load(message![setting::WRITE_PATH.word(word)], price));
    finding.cost = Some(saved);
    Ok(Verdict::of(vec![finding]))
}

fn limit(case: &Case<'_>) -> Judged {
    let server = table_trial(case)?.rate().ok_or(Verdict::DoesNotApply)?;
    let client = case.trials.and_then(|trials| trials.client.as_ref()).ok_or(Verdict::DoesNotApply)?;
    let here = client.rate().ok_or(Verdict::DoesNotApply)?;
    // Surely slower, and not as far as these runs can tell.
    if here.high >= server.low {
        return Ok(Verdict::Fine);
    }
    let rates = |measured: Measured| {
        format!("{} rows a second ({} to {})", rate(measured.median), rate(measured.low), rate(measured.high))
    };
    let elsewhere = Action::Elsewhere("load from a machine with faster cores".to_owned());
    Ok(Verdict::of(vec![
        Finding::new(
            Severity::Notice,
            Basis::Measured,
            "this machine is slower than the server, core for core",
        )
        .seen(format!("read and encoded here, and sent nowhere: {}", rates(here)))
        .seen(format!("taken by the table, over one connection: {}", rates(server)))
        .seen(format!("{} of CSV a run", bytes(client.bytes as f64)))
        .remedy(Remedy::load(
            message![setting::JOBS.number(4)],
            "as many connections of the server, and cores of this machine",
        ))
        .remedy(Remedy::new(elsewhere, Undo::NotNeeded, "the files have to get there")),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{measured, trial, with_forms};
    use crate::trials::{ClientTrial, Trials};

    fn forms(text: f64, csv: f64) -> Trials {
        Trials { table: Some(with_forms(text, csv)), ..Trials::default() }
    }

    fn finding(id: &str, trials: &Trials) -> Finding {
        match measured(id, trials) {
            Verdict::Found(mut findings) => findings.remove(0),
            other => panic!("{id}: {other:?}"),
        }
    }

    #[test]
    fn text_that_takes_longer_is_named() {
        let found = finding("client.binary", &forms(1.25, 2.0));
        assert_eq!(found.cost.unwrap().percent(), "50 % (50 to 50)");
        assert_eq!(
            found.evidence[..2],
            [
                "binary takes 20 % (20 to 20) of the time off that rows take as text",
                "binary takes 50 % (50 to 50) of the time off that rows take as CSV"
            ]
        );
        // Loads send binary by themselves.
        assert_eq!(found.severity, Severity::Notice);
        assert_eq!(measured("client.binary", &forms(1.04, 0.9)), Verdict::Fine);
        let none = Trials { table: Some(trial(&[])), ..Trials::default() };
        assert_eq!(measured("client.binary", &none), Verdict::DoesNotApply);
        assert_eq!(measured("client.binary", &Trials::default()), Verdict::DoesNotApply);
    }

    #[test]
    fn text_that_is_faster_is_named_with_the_faster_form() {
        let found = finding("client.text", &forms(0.9, 0.8));
        assert_eq!(found.title, "rows as CSV are faster than in binary");
        assert_eq!(found.cost.unwrap().percent(), "20 % (20 to 20)");
        assert_eq!(measured("client.text", &forms(0.96, 1.3)), Verdict::Fine);
        let none = Trials { table: Some(trial(&[])), ..Trials::default() };
        assert_eq!(measured("client.text", &none), Verdict::DoesNotApply);
    }

    #[test]
    fn this_machine_is_the_limit_where_it_is_surely_slower() {
        let at = |seconds: f64| Trials {
            client: Some(ClientTrial { rows: 10_000, bytes: 1_000_000, seconds: vec![seconds; 5] }),
            ..forms(1.0, 1.0)
        };
        let found = finding("client.limit", &at(2.0));
        assert_eq!(
            found.evidence[..2],
            [
                "read and encoded here, and sent nowhere: 5,000 rows a second (5,000 to 5,000)",
                "taken by the table, over one connection: 10,000 rows a second (10,000 to 10,000)"
            ]
        );
        assert_eq!(measured("client.limit", &at(1.0)), Verdict::Fine);
        assert_eq!(measured("client.limit", &forms(1.0, 1.0)), Verdict::DoesNotApply);
    }
}
