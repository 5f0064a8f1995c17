//! `howdah.doctor`: looks at a server, measures there if that is asked for, and gives the report as JSON, in Python's words.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use howdah::message::Respell;
use howdah::name::TableName;
use howdah::{Control, Error, ErrorKind, Target};
use howdah_cli::{ServerOwner, not_owned, own_server};
use howdah_doctor::{
    Ask, Attempt, Change, Facts, InputEstimate, InputLook, Limits, Report, Saved, Wanted, WatchFacts, apply,
    measure, put_back_left,
};
use pyo3::prelude::*;

use crate::error::raised;
use crate::fork;
use crate::spelling::Keywords;
use crate::target::{Chosen, Place};
use crate::wait::in_thread_until_stopped;

/// How much measuring may cost: seconds, bytes of log; whether others may be at work, or event triggers fire; findings whose
/// remedies are to be tried, and those whose settings are to be applied.
#[derive(FromPyObject)]
pub(crate) struct Cost(f64, f64, bool, bool, Vec<String>, Vec<String>);

/// The same.
struct Measuring {
    limits: Limits,
    tries: Vec<String>,
    applies: Vec<String>,
}

/// The load that is to come: its input, its rows, its bytes; how many seconds the server is watched before, and whether the
/// statements of programs are.
#[derive(FromPyObject)]
pub(crate) struct Coming(Option<PathBuf>, Option<u64>, Option<u64>, Option<f64>, bool);

/// An earlier report: its file, or its JSON.
#[derive(FromPyObject)]
pub(crate) struct Baseline(Option<PathBuf>, String);

impl Baseline {
    fn read(self) -> Result<Saved, Error> {
        let Baseline(path, json) = self;
        path.map_or_else(|| Saved::read(&json), |path| Saved::open(&path))
    }
}

/// What is told of a diagnosis: the report as JSON, the script of its remedies, the server in words, and notices.
type Told = (String, String, String, Vec<String>);

/// Looks, and measures if `cost` says how long; beside an earlier report, if one is given.
///
/// # Errors
/// No server, no such table, nothing to measure with; and what a signal's handler raised.
#[pyfunction]
#[pyo3(signature = (table, place, coming, cost, baseline))]
pub(crate) fn doctor(
    py: Python<'_>,
    table: Option<&str>,
    place: Place,
    coming: Coming,
    cost: Option<Cost>,
    baseline: Option<Baseline>,
) -> PyResult<Told> {
    fork::check().map_err(|error| raised(py, &error))?;
    let table = table.map(TableName::parse).transpose().map_err(|error| raised(py, &error))?;
    let cost = cost.map(|Cost(seconds, bytes, allow_busy, allow_event_triggers, tries, applies)| Measuring {
        limits: Limits { seconds, bytes, allow_busy, allow_event_triggers },
        tries,
        applies,
    });
    let baseline = baseline.map(Baseline::read).transpose().map_err(|error| raised(py, &error))?;
    let control = Control::new();
    let work = {
        let control = control.clone();
        move || {
            let mut chosen = Chosen::by(place)?;
            let report = report(&mut chosen, table.as_ref(), coming, cost, &control)?;
            let report = match baseline {
                Some(before) => report.compared_with(&before)?,
                None => report,
            };
            let script = report.script(SystemTime::now(), &Keywords).text;
            let report = serde_json::to_string(&report.respelled(&Keywords));
            let report = report.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
            Ok((report, script, chosen.server, chosen.notices))
        }
    };
    in_thread_until_stopped(py, "howdah-doctor", &control, work)?.map_err(|error| raised(py, &error))
}

fn report(
    chosen: &mut Chosen,
    table: Option<&TableName>,
    Coming(data, rows, bytes, watch, app): Coming,
    cost: Option<Measuring>,
    control: &Control,
) -> Result<Report, Error> {
    let owner = match &cost {
        Some(work) if !work.applies.is_empty() => Some(owner(chosen)?),
        _ => None,
    };
    let target = &chosen.target;
    let mut facts = Facts::look(target, table, control)?;
    if let Some(seconds) = watch {
        let watch = if app { WatchFacts::watch_programs } else { WatchFacts::watch };
        facts.watched = Some(watch(target, seconds, control)?);
    }
    let input = match data.as_deref().zip(table) {
        Some((data, table)) => rows_of(data, table, target, control, &mut chosen.notices)?,
        None => None,
    };
    let ask = Ask { rows, bytes, input };
    let trials = match cost {
        Some(Measuring { limits, applies, .. }) if owner.is_some() => {
            let changes = Change::named(&applies, &facts, &ask)?;
            let owner = owner.as_ref().ok_or_else(not_owned)?;
            let applied = apply(owner, target, &facts, &changes, &limits, control, &mut |_| ())?;
            // It may answer elsewhere, once it was started again.
            let target = own_server(chosen.own.as_deref(), |_| ())?.target;
            let facts = Facts { watched: facts.watched, ..Facts::look(&target, table, control)? };
            return Ok(Report::new(facts, ask, None).with_applied(applied));
        }
        Some(Measuring { limits, tries, .. }) => {
            let attempt = (!tries.is_empty()).then(|| Attempt::new(&tries, &facts, &ask)).transpose()?;
            let wanted = Wanted { ask: &ask, attempt: attempt.as_ref(), limits };
            Some(measure(target, &facts, wanted, control, &mut |_| ())?)
        }
        None => None,
    };
    Ok(Report::new(facts, ask, trials))
}

/// The owner of the server, which is one of howdah's own; what one who was killed left is put back.
fn owner(chosen: &mut Chosen) -> Result<ServerOwner, Error> {
    let name = chosen.own.as_deref().ok_or_else(|| not_owned().with_hint("server=\"…\" names one"))?;
    let owner = ServerOwner::of(Some(name))?;
    let left = put_back_left(&owner, &chosen.target)?;
    if !left.is_empty() {
        let names = left.join(", ");
        chosen.notices.push(format!("{names}: put back as it was, since who applied it was killed"));
    }
    Ok(owner)
}

/// How many rows the input has, if that can be told; else why not is noted.
fn rows_of(
    data: &Path,
    table: &TableName,
    target: &Target,
    control: &Control,
    notices: &mut Vec<String>,
) -> Result<Option<InputEstimate>, Error> {
    let why = match InputEstimate::look(data, table, target, control)? {
        InputLook::Known(input) => return Ok(Some(input)),
        InputLook::Unknown => "cannot be told without reading it: rows=… says it".to_owned(),
        InputLook::Refused(error) => {
            format!("is not known: a dry run of the load failed: {}", error.respelled(&Keywords))
        }
    };
    notices.push(format!("how many rows {} has {why}", data.display()));
    Ok(None)
}
