//! How many connections a load should have.

use howdah::facts::TableFacts;
use howdah::message;
use howdah::message::setting;

use crate::case::Case;
use crate::figures::count;
use crate::finding::{Basis, Finding, Remedy, Severity};
use crate::rule::Rule;
use crate::trials::ConnectionsTrial;
use crate::verdict::{Judged, Verdict};

pub(super) const RULES: &[Rule] = &[Rule {
    id: "load.connections",
    title: "several connections are faster than one (with measurements only)",
    condition: "2, 4 or 8 connections that lead the same rows into one copy of the table at once are done earlier than one: the interval \
                excludes 0, and the median is more than 5 % and more than the machine's noise. The number that is named is the \
                largest that is at least 5 % faster than the one before it",
    why: "the server works for each connection on a core of its own, as long as they do not wait for each other",
    remedy: "let the load open so many connections. More take connections and gain nothing",
    judge: connections,
}];

fn connections(case: &Case<'_>) -> Judged {
    let trial = case.trials.and_then(|trials| trials.connections.as_ref()).ok_or(Verdict::DoesNotApply)?;
    let Some(knee) = trial.knee().filter(|knee| *knee > 1) else { return Ok(Verdict::Fine) };
    let Some(saved) = trial.saved(knee).filter(|saved| trial.is_clear(*saved)) else {
        return Ok(Verdict::Fine);
    };
    let opens_one = case.table().and_then(opens_one);
    // Elsewhere a load opens several by itself.
    let severity = if opens_one.is_some() { Severity::Costs } else { Severity::Notice };
    let mut finding = Finding::new(
        severity,
        Basis::Measured,
        format!("{knee} connections are faster than one"),
    )
    .seen(curve(trial))
    .seen(format!(
        "{} rounds of {} rows into copies that begin empty, and have neither foreign keys nor triggers",
        trial.rounds(),
        count(trial.rows as f64)
    ));
    if let Some(why) = opens_one {
        finding =
            finding.seen(format!("a load opens one here, unless it is told otherwise, because of {why}"));
    } else {
        finding = finding.seen(
            "a load opens as many as its own machine has cores, at most 4, unless it is told otherwise",
        );
    }
    let price = match opens_one {
        Some(_) => "as many connections of the server, and rows are not in the order of the input",
        None => "as many connections of the server",
    };
    let remedy = Remedy::load(message![setting::JOBS.number(knee as usize)], price);
    finding = finding.remedy(remedy);
    finding.cost = Some(saved);
    Ok(Verdict::of(vec![finding]))
}

/// What makes a load open one connection by itself.
fn opens_one(table: &TableFacts) -> Option<&'static str> {
    let has_triggers = table.triggers.seen().is_some_and(|triggers| !triggers.is_empty());
    let mut keys = table.foreign_keys.seen().into_iter().flatten();
    let refers_to_itself = keys.any(|key| (&key.parent_schema, &key.parent) == (&table.schema, &table.name));
    match (has_triggers, refers_to_itself) {
        (true, _) => Some("a trigger"),
        (_, true) => Some("a foreign key to the table itself"),
        _ => None,
    }
}

/// What each number of connections takes off.
fn curve(trial: &ConnectionsTrial) -> String {
    let each = trial.tried().into_iter().filter_map(|tried| {
        Some(format!("{tried} connections take {} of one's time off", trial.saved(tried)?.percent()))
    });
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use howdah::facts::TriggerFacts;

    use super::*;
    use crate::testing::{connections, healthy, measured, seen, table};
    use crate::trials::Trials;
    use crate::{Ask, diagnose};

    fn with(tried: &[(u32, f64)]) -> Trials {
        Trials { connections: Some(connections(tried)), ..Trials::default() }
    }

    #[test]
    fn the_number_that_pays_is_named_with_what_the_others_gain() {
        let Verdict::Found(found) = measured("load.connections", &with(&[(2, 0.6), (4, 0.4), (8, 0.395)]))
        else {
            panic!("nothing is found")
        };
        assert_eq!(found[0].title, "4 connections are faster than one");
        assert_eq!(found[0].cost.unwrap().percent(), "60 % (60 to 60)");
        assert_eq!(
            found[0].evidence[0],
            "2 connections take 40 % (40 to 40) of one's time off, 4 connections take 60 % (60 to 60) of one's time off, \
             8 connections take 61 % (61 to 61) of one's time off"
        );
        // A load opens four by itself.
        assert_eq!(found[0].severity, Severity::Notice);
    }

    #[test]
    fn what_gains_too_little_or_was_not_measured_is_no_finding() {
        assert_eq!(measured("load.connections", &with(&[(2, 0.96), (4, 0.96)])), Verdict::Fine);
        assert_eq!(measured("load.connections", &with(&[(2, 1.4)])), Verdict::Fine);
        assert_eq!(measured("load.connections", &Trials::default()), Verdict::DoesNotApply);
        // Seven per cent, on a machine that wavers by ten.
        let mut noisy = with(&[(2, 0.93)]);
        let runs = &mut noisy.connections.as_mut().unwrap().runs;
        for (at, run) in runs.iter_mut().filter(|run| run.connections == 1).enumerate() {
            run.seconds = if at % 2 == 0 { 0.95 } else { 1.05 };
        }
        assert_eq!(measured("load.connections", &noisy), Verdict::Fine);
    }

    #[test]
    fn it_costs_time_where_a_load_opens_one_connection() {
        let mut facts = healthy();
        seen(&mut table(&mut facts).triggers).push(TriggerFacts::default());
        let diagnosis = diagnose(&facts, &Ask::default(), Some(&with(&[(2, 0.6)])));
        let found = diagnosis.findings.iter().find(|finding| finding.id == "load.connections").unwrap();
        assert_eq!(found.severity, Severity::Costs);
        assert_eq!(
            found.evidence[2],
            "a load opens one here, unless it is told otherwise, because of a trigger"
        );
    }

    #[test]
    fn no_difference_is_said() {
        let diagnosis = diagnose(&healthy(), &Ask::default(), Some(&with(&[(2, 0.98), (4, 1.1)])));
        let said: Vec<_> =
            diagnosis.no_difference.iter().map(|it| (it.what.as_str(), it.cost.percent())).collect();
        assert_eq!(said, [("2 connections instead of one", "2 % (2 to 2)".to_owned())]);
    }
}
