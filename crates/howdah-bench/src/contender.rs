//! Other people's ways of loading: what `make contenders` found out about them, and how they are told what to load.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::continuous::{Buffer, Offer, Step};
use crate::dataset::Dataset;
use crate::error::Error;
use crate::process::Process;
use crate::record::Durability;

/// The file that `make contenders` writes, from the root of the repository.
pub const AVAILABLE: &str = "build/contenders/available.json";

/// One way of loading; `bench/contenders/README.md` says what the fields mean.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Contender {
    /// The name that reports show.
    pub name: String,
    /// The way in which it loads, in a line.
    pub what: String,
    /// The language that it is written in.
    pub language: String,
    /// The kind of its work: loading a file or writing rows one by one.
    #[serde(default)]
    pub kind: Kind,
    /// The directory in which it is run.
    pub directory: PathBuf,
    /// The program and its arguments.
    pub run: Vec<String>,
    /// Versions of all that takes part; empty where it cannot run.
    pub version: String,
    /// Endings of the files that it takes.
    pub inputs: Vec<String>,
    /// The names of data sets that it can load; empty where it takes any.
    #[serde(default)]
    pub datasets: Vec<String>,
    /// The connections that it can load over.
    pub connections: Connections,
    /// The rows that it commits at once.
    pub transaction: Transaction,
    /// What is left of its rows after a crash.
    pub durability: Durability,
    /// Says if its start is part of the measured time.
    pub startup: Startup,
    /// True if it takes a batch size.
    pub batches: bool,
    /// A note for readers of its figures; empty where there is nothing to know.
    pub note: String,
    /// True if it can run on this machine.
    pub available: bool,
    /// The reason why it cannot run on this machine.
    pub reason: Option<String>,
}

/// The kind of a contender's work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The contender loads a file.
    #[default]
    Load,
    /// The contender writes a file's rows one by one, through a buffer.
    Service,
}

/// The number of connections that a contender can load over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Connections {
    /// It loads over one connection.
    One,
    /// It loads over as many connections as it is told.
    Any,
}

/// The rows that a contender commits at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transaction {
    /// Everything.
    #[serde(rename = "one")]
    One,
    /// Each batch: a failure leaves a part.
    #[serde(rename = "one a batch")]
    OneABatch,
}

/// Says if the start of a contender is part of the measured time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Startup {
    /// The contender starts before the clock does.
    #[serde(rename = "before READY")]
    BeforeReady,
    /// The start is timed: the tool cannot wait.
    #[serde(rename = "counted")]
    Counted,
}

/// A load for a contender: the file, the table and the connection.
#[derive(Debug, Clone)]
pub struct Task<'a> {
    /// The server, as a URL with a TCP address; [`url`] makes one of other connection strings.
    pub url: &'a str,
    /// An empty table whose name needs no quotes.
    pub table: &'a str,
    /// The data set that is in the file.
    pub dataset: Dataset,
    /// The file, whose ending says its format.
    pub input: &'a Path,
    /// Rows a batch, for those that have batches.
    pub batch: u64,
    /// Connections, for those that can use more than one.
    pub connections: u32,
    /// The rows' offers to a contender that is a service; None for one that loads.
    pub service: Option<Service<'a>>,
}

/// Further orders for a contender that writes all the time.
#[derive(Debug, Clone, Copy)]
pub struct Service<'a> {
    /// The settings of its buffer.
    pub buffer: &'a Buffer,
    /// The moments at which rows are offered.
    pub offer: &'a Offer,
    /// The number of the file's rows that are offered, from the first on.
    pub rows: u64,
}

/// Milliseconds between flushes unless others are asked for: study 5's.
const INTERVAL_MS: f64 = 10.0;

impl Service<'_> {
    /// Variables and their values; a pace is a list of rows a second, colon, seconds.
    fn variables(&self) -> [(&'static str, String); 5] {
        let (producers, pace) = match self.offer {
            Offer::Waiting { producers } => (*producers, String::new()),
            Offer::Paced { steps } => {
                let step = |step: &Step| format!("{}:{}", step.rows_per_s, step.seconds);
                (0, steps.iter().map(step).collect::<Vec<_>>().join(","))
            }
            Offer::Full | Offer::Unasked | Offer::OfPeak { .. } => (0, String::new()),
        };
        [
            ("CONTENDER_INTERVAL_MS", self.buffer.interval_ms.unwrap_or(INTERVAL_MS).to_string()),
            ("CONTENDER_DISCARD", u8::from(self.buffer.discard).to_string()),
            ("CONTENDER_ROWS", self.rows.to_string()),
            ("CONTENDER_PRODUCERS", producers.to_string()),
            ("CONTENDER_PACE", pace),
        ]
    }
}

/// Reads what setup wrote, in its order.
///
/// # Errors
/// There is no such file, or it is another version's.
pub fn installed(file: &Path) -> Result<Vec<Contender>, Error> {
    #[derive(Deserialize)]
    struct Found {
        contenders: Vec<Contender>,
    }
    if !file.exists() {
        return Err(Error::Usage(format!(
            "other people's programs are not installed: in a checkout of howdah, `make contenders` does it (there is no {})",
            file.display()
        )));
    }
    let text = std::fs::read(file).map_err(Error::io(format!("could not read {}", file.display())))?;
    match serde_json::from_slice::<Found>(&text) {
        Ok(found) => Ok(found.contenders),
        Err(error) => Err(Error::Usage(format!(
            "{} is not what `make contenders` of this version writes: {error}",
            file.display()
        ))),
    }
}

impl Contender {
    /// Returns the reason why it cannot load such a file of this data set on this machine, if it cannot.
    #[must_use]
    pub fn obstacle(&self, dataset: Dataset, input: &Path) -> Option<String> {
        if !self.available {
            return Some(self.reason.clone().unwrap_or_else(|| "why it cannot run is not known".to_owned()));
        }
        if !self.datasets.is_empty() && !self.datasets.iter().any(|name| name == dataset.name()) {
            return Some(format!("it knows no {}, only {}", dataset.name(), self.datasets.join(" and ")));
        }
        let ending = input.extension().unwrap_or_default().to_string_lossy();
        let takes = self.inputs.iter().any(|input| *input == ending);
        (!takes).then(|| format!("it takes no {ending}, only {}", self.inputs.join(" and ")))
    }

    /// Over how many connections it loads when it is told to use `connections`.
    #[must_use]
    pub fn uses(&self, connections: u32) -> u32 {
        match self.connections {
            Connections::One => 1,
            Connections::Any => connections,
        }
    }

    /// Returns a note for readers of its figures, where it does other work than the others.
    #[must_use]
    pub fn terms(&self) -> String {
        let batch = matches!(self.transaction, Transaction::OneABatch).then_some("commits batch by batch");
        let startup = matches!(self.startup, Startup::Counted).then_some("its start is counted");
        let terms: Vec<&str> = batch.into_iter().chain(startup).collect();
        if terms.is_empty() { String::new() } else { format!(" ({})", terms.join(", ")) }
    }

    /// Starts it and waits, at most `patience`, until it is READY to load.
    ///
    /// # Errors
    /// It cannot run here, or did not get so far.
    pub fn start(&self, task: &Task, patience: Duration) -> Result<Process, Error> {
        if let Some(obstacle) = self.obstacle(task.dataset, task.input) {
            return Err(Error::Usage(format!("{} cannot be run: {obstacle}", self.name)));
        }
        if (self.kind == Kind::Service) != task.service.is_some() {
            return Err(Error::Usage(format!("{} does not do what was asked of it", self.name)));
        }
        Process::start(self.command(&self.run, task)?, patience)
    }

    fn command(&self, run: &[String], task: &Task) -> Result<Command, Error> {
        let Some((program, arguments)) = run.split_first() else {
            return Err(Error::Usage(format!("{} says no program", self.name)));
        };
        let input = task.input.canonicalize();
        let input = input.map_err(Error::io(format!("could not find {}", task.input.display())))?;
        let columns = task.dataset.types().map(|(name, r#type)| format!("{name} {type}")).collect::<Vec<_>>();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.directory)
            .env("CONTENDER_URL", task.url)
            .env("CONTENDER_TABLE", task.table)
            .env("CONTENDER_COLUMNS", columns.join("\n"))
            .env("CONTENDER_INPUT", input)
            .env("CONTENDER_BATCH", task.batch.to_string())
            .env("CONTENDER_CONNECTIONS", self.uses(task.connections).to_string())
            .envs(task.service.iter().flat_map(Service::variables));
        Ok(command)
    }
}

/// A connection string as the URL that every contender takes.
///
/// # Errors
/// It is none, or names no TCP address: not all drivers have Unix sockets.
pub fn url(conninfo: &str) -> Result<String, Error> {
    let config: Config = conninfo.parse().map_err(Error::server("could not read the connection string"))?;
    let address = config.get_hostaddrs().first().map(ToString::to_string);
    let host = match (address, config.get_hosts().first()) {
        (Some(address), _) => address,
        (None, Some(Host::Tcp(host))) => host.clone(),
        (None, _) => {
            let text = "contenders need a host name or an address: not all of them have Unix sockets";
            return Err(Error::Usage(text.to_owned()));
        }
    };
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let user = config.get_user().unwrap_or("postgres");
    let password = config.get_password().map(|bytes| format!(":{}", escaped(bytes))).unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let (user, database) = (escaped(user.as_bytes()), escaped(database.as_bytes()));
    Ok(format!("postgresql://{user}{password}@{host}:{port}/{database}"))
}

/// With a percent sign and two digits for everything that might mean something in a URL.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            text.push(char::from(*byte));
        } else {
            // Writing into a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::End;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// A contender that is a shell script, in a directory of its own.
    fn contender(directory: &Path, script: &str) -> Contender {
        let json = serde_json::json!({ "contenders": [{
            "name": "script", "what": "a script", "language": "shell", "directory": directory,
            "run": ["sh", "-c", script], "version": "1", "inputs": ["csv"], "connections": "one",
            "transaction": "one a batch", "durability": "durable", "startup": "counted", "batches": true,
            "note": "", "available": true, "reason": null, "new in some later version": 1
        }]});
        let file = directory.join("available.json");
        std::fs::write(&file, json.to_string()).expect("a file is written");
        installed(&file).expect("a description is read").remove(0)
    }

    fn task(input: &Path) -> Task<'_> {
        let (url, dataset) = ("postgresql://a:b@127.0.0.1:5432/c", Dataset::SensorReadings);
        Task { url, table: "loaded", dataset, input, batch: 500, connections: 4, service: None }
    }

    #[test]
    fn a_contender_is_told_everything_that_the_contract_names() {
        let directory = tempfile::tempdir().unwrap();
        let input = directory.path().join("rows.csv");
        std::fs::write(&input, "").unwrap();
        let script = "echo READY; read go; pwd; env | grep ^CONTENDER_ | sort; \
                      echo \"$CONTENDER_COLUMNS\" | grep -c .; echo DONE 1";
        let mut contender = contender(directory.path(), script);
        let run = contender.start(&task(&input), PATIENCE).unwrap().go(PATIENCE);
        assert_eq!(run.end, End::Done { rows: 1 });
        let canonical = directory.path().canonicalize().unwrap();
        for line in [
            canonical.display().to_string(),
            format!("CONTENDER_INPUT={}", canonical.join("rows.csv").display()),
            "CONTENDER_URL=postgresql://a:b@127.0.0.1:5432/c".to_owned(),
            "CONTENDER_TABLE=loaded".to_owned(),
            "CONTENDER_COLUMNS=device_id uuid".to_owned(),
            "CONTENDER_BATCH=500".to_owned(),
            "CONTENDER_CONNECTIONS=1".to_owned(),
            "9".to_owned(),
        ] {
            assert!(run.said.lines().any(|said| said == line), "{line} is missing: {}", run.said);
        }
        contender.connections = Connections::Any;
        assert_eq!(contender.uses(4), 4);
    }

    #[test]
    fn a_service_is_told_how_rows_are_offered_and_is_no_loader() {
        let directory = tempfile::tempdir().unwrap();
        let input = directory.path().join("rows.csv");
        std::fs::write(&input, "").unwrap();
        let mut contender = contender(directory.path(), "echo READY; read go; env; echo DONE 1");
        let buffer = Buffer::fixed(crate::continuous::Path::Copy, 20, 100, 2.5).discarding();
        let offer = Offer::Paced {
            steps: vec![Step { rows_per_s: 20.0, seconds: 3.0 }, Step { rows_per_s: 90.5, seconds: 1.5 }],
        };
        let service = Some(Service { buffer: &buffer, offer: &offer, rows: 77 });
        let task = Task { service, ..task(&input) };
        assert!(contender.start(&task, PATIENCE).is_err());
        contender.kind = Kind::Service;
        assert!(contender.start(&Task { service: None, ..task.clone() }, PATIENCE).is_err());
        let run = contender.start(&task, PATIENCE).unwrap().go(PATIENCE);
        for line in [
            "CONTENDER_INTERVAL_MS=2.5",
            "CONTENDER_DISCARD=1",
            "CONTENDER_ROWS=77",
            "CONTENDER_PRODUCERS=0",
            "CONTENDER_PACE=20:3,90.5:1.5",
        ] {
            assert!(run.said.lines().any(|said| said == line), "{line} is missing: {}", run.said);
        }
    }

    #[test]
    fn columns_are_told_without_constraints_and_defaults() {
        let types: Vec<_> = Dataset::SensorReadings.types().collect();
        assert_eq!(types[0], ("device_id", "uuid"));
        assert_eq!(types[6], ("is_anomaly", "boolean"));
        assert_eq!(types[4], ("pressure", "numeric(10,2)"));
        assert!(Dataset::ALL.iter().all(|dataset| dataset.types().count() == dataset.columns().len()));
    }

    #[test]
    fn what_cannot_run_says_why_and_is_not_tried() {
        let directory = tempfile::tempdir().unwrap();
        let mut contender = contender(directory.path(), "echo READY");
        let parquet = directory.path().join("rows.parquet");
        let error = contender.start(&task(&parquet), PATIENCE).unwrap_err().to_string();
        assert!(error.contains("parquet") && error.contains("csv"), "{error}");
        let csv = Path::new("x.csv");
        contender.datasets = vec!["readings".to_owned()];
        let reason = contender.obstacle(Dataset::SensorReadings, csv).unwrap();
        assert_eq!(reason, "it knows no sensor-readings, only readings");
        assert_eq!(contender.obstacle(Dataset::Readings, csv), None);
        (contender.available, contender.reason) = (false, Some("there is no such toolchain".to_owned()));
        assert_eq!(contender.obstacle(Dataset::Readings, csv).unwrap(), "there is no such toolchain");
        let missing = installed(&directory.path().join("nothing.json")).unwrap_err().to_string();
        assert!(missing.contains("make contenders"), "{missing}");
        std::fs::write(directory.path().join("old.json"), "{\"contenders\": [{}]}").unwrap();
        let old = installed(&directory.path().join("old.json")).unwrap_err().to_string();
        assert!(old.contains("make contenders") && old.contains("name"), "{old}");
    }

    #[test]
    fn a_url_means_what_the_connection_string_meant() {
        let url = url("host=db.example port=6000 user='a b' password='p@ss:/%' dbname=x").unwrap();
        assert_eq!(url, "postgresql://a%20b:p%40ss%3A%2F%25@db.example:6000/x");
        let again: Config = url.parse().unwrap();
        assert_eq!(again.get_password(), Some(&b"p@ss:/%"[..]));
        assert_eq!(super::url("hostaddr=::1 user=me").unwrap(), "postgresql://me@[::1]:5432/me");
        assert!(super::url("host=/run/postgresql user=me").is_err());
    }
}
