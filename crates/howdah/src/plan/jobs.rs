//! How many connections write, and why.

use howdah_message::{Message, setting};

use crate::catalog::table::Table;
use crate::error::Error;
use crate::options::{LoadOptions, Mode, OnError};

/// More connections than this gained nothing on the machines measured; a server with many cores takes more when asked.
const DEFAULT_MOST: usize = 4;

/// Below this share of input per connection, opening a second one costs more than it saves.
const BYTES_PER_JOB: u64 = 4 * 1024 * 1024;

/// The number of connections, and a sentence when it is not simply the number of cores or what was asked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Jobs {
    pub(crate) count: usize,
    pub(crate) reason: Option<Message>,
}

impl Jobs {
    /// The one connection that sees the columns which it adds to the table, however many were asked for: nobody knows
    /// beforehand what an input brings.
    pub(crate) fn of_an_evolving_table(options: &LoadOptions) -> Jobs {
        let asked = options.writing.jobs.filter(|asked| *asked > 1);
        let instead = asked.map(|asked| format!(" instead of {asked}")).unwrap_or_default();
        let why = "columns are added in the load's transaction, and no other sees them before its end";
        Jobs { count: 1, reason: Some(format!("one connection{instead}: {why}").into()) }
    }
}

/// Chooses. `table` is the existing target, `bytes` the input's size when known; rows that are `staged` meet no index on
/// their way; what of the table is `altered` in the load's transaction keeps others away.
///
/// # Errors
/// A usage error when the number asked for contradicts what can only be done on one connection.
pub(crate) fn choose(
    options: &LoadOptions,
    table: Option<&Table>,
    bytes: Option<u64>,
    cores: usize,
    staged: bool,
    altered: Option<&'static str>,
) -> Result<Jobs, Error> {
    let tolerates = options.tolerance.on_error == OnError::Ignore;
    let only_one = if options.writing.freeze {
        Some(Message::from("FREEZE works only in the transaction that makes or empties the table"))
    } else if options.target.mode == Mode::Truncate && table.is_some() && !staged {
        Some(Message::from("TRUNCATE locks the table for one transaction"))
    } else if let Some(altered) = altered.filter(|_| !staged) {
        Some(Message::from(altered))
    } else if !options.target.before.is_empty() {
        Some(message![setting::BEFORE, " is part of the load's transaction"])
    } else if !options.target.after.is_empty()
        && table.is_some()
        && options.target.mode != Mode::Replace
        && !staged
    {
        Some(message![setting::AFTER, " is part of the load's transaction"])
    } else {
        None
    };
    let hazards = table
        .filter(|_| !staged)
        .filter(|_| options.target.mode != Mode::Replace || tolerates)
        // Rows that commit at once keep others waiting for moments.
        .filter(|_| !options.writing.write_path.commits_rows() || tolerates);
    let hazards = hazards.map(|table| hazards_of(table, tolerates)).filter(|hazards| !hazards.is_empty());
    // The key of a new table, or of the one that takes the place of this.
    let key_first = !options.target.mode.matches_rows() && !options.target.key.is_empty() && tolerates;
    let hazards = hazards.or(key_first.then(|| "a primary key".to_owned()));
    if options.writing.jobs == Some(0) {
        return Err(Error::usage(message![setting::JOBS, " must be at least 1"]));
    }
    match (options.writing.jobs, only_one) {
        (Some(asked), Some(reason)) if asked > 1 => {
            Err(Error::usage(message![setting::JOBS.number(asked), " is not possible: ", reason])
                .with_hint(message!["leave ", setting::JOBS, " out, or use ", setting::JOBS.number(1)]))
        }
        // Which of two rows with one key is refused would depend on which connection sent it first.
        (Some(asked), None) if asked > 1 && tolerates && hazards.is_some() => {
            let reason = message![
                "one connection instead of {asked}: the table has ",
                hazards.unwrap_or_default(),
                ", and ",
                setting::ON_ERROR.word("ignore"),
                " refuses the later of two rows"
            ];
            Ok(Jobs { count: 1, reason: Some(reason) })
        }
        (Some(asked), _) => Ok(Jobs { count: asked, reason: None }),
        (None, Some(reason)) => Ok(Jobs { count: 1, reason: Some(message!["one connection: ", reason]) }),
        (None, None) => {
            if let Some(hazards) = hazards {
                let reason = if tolerates {
                    message![
                        "one connection: the table has {hazards}, and ",
                        setting::ON_ERROR.word("ignore"),
                        " refuses the later of two rows"
                    ]
                } else {
                    message!["one connection: the table has {hazards}; several could wait for each other"]
                };
                return Ok(Jobs { count: 1, reason: Some(reason) });
            }
            let most = cores.clamp(1, DEFAULT_MOST);
            let worth =
                bytes.map_or(most, |bytes| usize::try_from(bytes / BYTES_PER_JOB + 1).unwrap_or(most));
            let reason =
                (worth < most).then(|| message!["{worth} of {most} connections: the input is small"]);
            Ok(Jobs { count: most.min(worth), reason })
        }
    }
}

/// What connections that insert into `table` could meet in. In a key meet only rows of which one is refused: without
/// tolerance the load fails, whichever that is.
fn hazards_of(table: &Table, tolerates: bool) -> String {
    let keys = (table.hazards.keys && tolerates).then_some("a unique index or exclusion constraint");
    let all: Vec<&str> = keys.into_iter().chain(table.hazards.of_good_rows()).collect();
    all.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::table::Hazards;

    fn keyed() -> Table {
        Table::with_hazards(Hazards { keys: true, ..Hazards::default() })
    }

    fn with_a_trigger() -> Table {
        Table::with_hazards(Hazards { keys: true, code: vec!["a row trigger"], ..Hazards::default() })
    }

    #[test]
    fn only_rows_of_which_one_is_refused_meet_in_a_key() {
        let strict = LoadOptions::default();
        assert_eq!(choose(&strict, Some(&keyed()), None, 8, false, None).unwrap().count, DEFAULT_MOST);
        let tolerant = LoadOptions::default().on_error(OnError::Ignore);
        assert_eq!(choose(&tolerant, Some(&keyed()), None, 8, false, None).unwrap().count, 1);
        assert_eq!(choose(&tolerant.jobs(4), Some(&keyed()), None, 8, false, None).unwrap().count, 1);
    }

    #[test]
    fn a_key_that_judges_rows_as_they_come_takes_one_connection() {
        let table = Table::with_hazards(Hazards::default());
        let keyed = LoadOptions::default().mode(Mode::Replace).key(["id"]).jobs(4);
        for table in [None, Some(&table)] {
            let tolerant = keyed.clone().on_error(OnError::Ignore);
            assert_eq!(choose(&tolerant, table, None, 8, false, None).unwrap().count, 1);
            assert_eq!(choose(&keyed, table, None, 8, false, None).unwrap().count, 4);
        }
    }

    #[test]
    fn a_table_with_a_trigger_is_filled_by_one_connection_unless_asked_otherwise() {
        let options = LoadOptions::default();
        assert_eq!(choose(&options, Some(&with_a_trigger()), None, 8, false, None).unwrap().count, 1);
        let asked = LoadOptions::default().jobs(4);
        let chosen = choose(&asked, Some(&with_a_trigger()), None, 8, false, None).unwrap();
        assert_eq!(chosen, Jobs { count: 4, reason: None });
        assert_eq!(choose(&options, None, None, 8, false, None).unwrap().count, DEFAULT_MOST);
    }

    #[test]
    fn several_connections_are_refused_where_only_one_can_work() {
        for options in [
            LoadOptions::default().jobs(2).freeze(true),
            LoadOptions::default().jobs(2).mode(Mode::Truncate),
            LoadOptions::default().jobs(0),
        ] {
            assert!(choose(&options, Some(&keyed()), None, 8, false, None).is_err());
        }
    }

    #[test]
    fn staged_rows_meet_no_index_on_their_way() {
        let options = LoadOptions::default().mode(Mode::Upsert);
        assert_eq!(choose(&options, Some(&keyed()), None, 8, true, None).unwrap().count, DEFAULT_MOST);
    }

    #[test]
    fn a_small_input_opens_one_connection() {
        assert_eq!(choose(&LoadOptions::default(), None, Some(1000), 8, false, None).unwrap().count, 1);
    }
}
