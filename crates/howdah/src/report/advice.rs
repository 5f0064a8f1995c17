//! What a person can do about a failure: hints for errors that come without one, and what is visible when nobody said.

use howdah_message::{Action, Message, setting};

use crate::catalog::name;
use crate::error::{Error, ErrorKind, why_ended};
use crate::options::{Format, LoadOptions, Mode, OnError};

/// The table was not there when the load began.
const MADE_MEANWHILE: &str = "another session made the table meanwhile: the same load again adds its rows to it, unless the mode is create";

/// Completes the error of a load by `role` into `table` (for SQL; empty while it is not known).
pub(crate) fn advise(error: Error, options: &LoadOptions, role: &str, table: &str) -> Error {
    // Whoever commits or cleans up says what became of it; every other failure came before any change.
    let error = error.or_nothing_changed();
    // "Check free disk space" is all that the server says.
    if error.hint().is_some() && error.sqlstate() != Some("53100") {
        return error;
    }
    let hint = match error.sqlstate().unwrap_or_default() {
        "28P01" => message![
            "check the user name (",
            setting::USERNAME,
            ") and the password: ",
            Action::SupplyPassword,
            " supply it"
        ],
        "28000" => message![
            "the server knows no such role, or lets it in from here only in another way: check ",
            setting::USERNAME,
            ", ",
            setting::DBNAME,
            " and sslmode"
        ],
        "3D000" => "psql -l lists the databases, createdb makes one".into(),
        "42501" => return refused(error, options, role, table),
        "53100" => "free some space on the server's disk and try again".into(),
        "53300" => {
            message!["wait until others are done, or take fewer connections: ", setting::JOBS.number(1)]
        }
        "55P03" => message![
            "another session uses the table: try again when it is done, or wait longer (",
            setting::LOCK_TIMEOUT,
            ")"
        ],
        // Two that make a table at once meet in the catalog.
        "42P07" => MADE_MEANWHILE.into(),
        "23505" if error.constraint().is_some_and(|name| name.starts_with("pg_")) => MADE_MEANWHILE.into(),
        "57014" => {
            "a time limit of the server or an administrator ended it: PGOPTIONS='-c statement_timeout=0' lifts the limit".into()
        }
        "57P03" => "the server is starting or stopping: try again in a moment".into(),
        "25006" => {
            "a standby takes no writes: name the primary; where the server is none, default_transaction_read_only is on".into()
        }
        ended => match why_ended(ended) {
            Some(why) => why.into(),
            None => return ignore(error, options),
        },
    };
    error.with_hint(hint)
}

/// A person whose load ended at one bad record wants to know that it need not.
fn ignore(error: Error, options: &LoadOptions) -> Error {
    let violates = error.location().is_none()
        && matches!(error.sqlstate(), Some("23502" | "23503" | "23505" | "23514" | "23P01"));
    if violates && options.tolerance.on_error == OnError::Stop {
        return error.with_hint(message![
            setting::ON_ERROR.word("ignore"),
            " finds the record, keeps it in a file and loads the others"
        ]);
    }
    let is_about_one_record = error.kind() == ErrorKind::Data && error.location().is_some();
    if !is_about_one_record || options.tolerance.on_error == OnError::Ignore {
        return error;
    }
    let ignore =
        message![setting::ON_ERROR.word("ignore"), " keeps such records in a file and loads the others"];
    if let Some(loss) = error.loss() {
        return error.with_hint(message![setting::ALLOW.word(loss.name()), " takes the loss; ", ignore]);
    }
    let format = options.input.format.unwrap_or_default();
    match error.null_marker().and_then(|marker| null_hint(marker, format)) {
        Some(marked) => error.with_hint(message![marked, "; ", ignore]),
        None => error.with_hint(ignore),
    }
}

/// How a value that stands for no value becomes one in `format`. In formats with types it is the source that is wrong.
fn null_hint(marker: &str, format: Format) -> Option<Message> {
    match format {
        Format::Json | Format::Ndjson => Some(message![
            "if \"{marker}\" stands for no value, write null without quotes, or leave the key out"
        ]),
        format if format.has_types() => None,
        _ => Some(message!["if {marker} stands for no value, add ", setting::NULL.text(marker)]),
    }
}

/// The right that is missing, as the statement that grants it. Only a server that speaks English says what it is about.
fn refused(error: Error, options: &LoadOptions, role: &str, table: &str) -> Error {
    let role = name::display(role);
    let hint = if let Some(schema) = error.message().strip_prefix("permission denied for schema ") {
        format!("GRANT USAGE ON SCHEMA {schema} TO {role} lets the role in, CREATE lets it make tables there")
    } else if error.message().starts_with("permission denied for table ") && !table.is_empty() {
        let rights = if options.target.mode == Mode::Truncate { "INSERT, TRUNCATE" } else { "INSERT" };
        format!("its owner can allow it: GRANT {rights} ON {table} TO {role}")
    } else {
        return ignore(error, options);
    };
    error.with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Committed, Location};

    fn hint(error: Error) -> String {
        let advised = advise(error, &LoadOptions::default(), "Me", "public.t");
        assert_eq!(advised.visible(), Some("nothing was changed"));
        advised.hint().unwrap_or_default().to_owned()
    }

    fn server(sqlstate: &str, message: &str) -> Error {
        Error::new(ErrorKind::Server, message).with_sqlstate(sqlstate)
    }

    #[test]
    fn a_missing_right_is_named_with_the_role_that_lacks_it() {
        let table = server("42501", "permission denied for table t");
        assert_eq!(hint(table), "its owner can allow it: GRANT INSERT ON public.t TO \"Me\"");
        assert!(hint(server("42501", "permission denied for schema s")).contains("ON SCHEMA s TO \"Me\""));
        assert_eq!(hint(server("42501", "Zugriff verweigert")), "");
    }

    #[test]
    fn a_server_that_went_away_is_not_called_a_bad_record() {
        let at = Location::of_text("f".into(), 3, None);
        let located = |error: Error| error.of_kind(ErrorKind::Data).at(at.clone());
        assert!(hint(located(server("57P01", "terminating"))).contains("try again when it answers"));
        assert!(hint(located(server("53100", "full").with_hint("Check."))).contains("free some space"));
        assert!(hint(located(server("22P02", "no number"))).contains("on_error=ignore"));
        assert_eq!(hint(server("22P02", "no number")), "");
    }

    #[test]
    fn a_marker_for_null_is_recognised_and_an_odd_value_is_not() {
        let at = Location::of_text("f".into(), 3, None);
        let value = |text: &str| {
            let message = format!("invalid input syntax for type date: \"{text}\"");
            let error = server("22007", &message).about_value(text.as_bytes());
            hint(error.of_kind(ErrorKind::Data).at(at.clone()))
        };
        assert!(value("NULL").starts_with("if NULL stands for no value, add null=\"NULL\"; on_error=ignore"));
        assert!(value("ANNULL").starts_with("on_error=ignore"));
    }

    #[test]
    fn an_option_that_the_format_refuses_is_not_recommended() {
        let value = |format| {
            let error =
                server("22007", "invalid input syntax for type date: \"NULL\"").of_kind(ErrorKind::Data);
            let error = error.about_value(b"NULL");
            let error = error.at(Location::of_text("f".into(), 3, None));
            let options = LoadOptions::default().format(format);
            advise(error, &options, "me", "t").hint().unwrap_or_default().to_owned()
        };
        for format in [Format::Json, Format::Ndjson] {
            assert!(value(format).starts_with("if \"NULL\" stands for no value, write null"), "{format:?}");
        }
        assert!(value(Format::Tsv).contains("null=\"NULL\""));
        assert!(value(Format::Parquet).starts_with("on_error=ignore"));
    }

    #[test]
    fn the_servers_own_hint_and_what_is_known_to_be_visible_stay() {
        let error = server("42501", "permission denied for table t")
            .with_hint("ask me")
            .with_visible(Committed::Yes, "all of it");
        let advised = advise(error, &LoadOptions::default(), "me", "t");
        assert_eq!((advised.hint(), advised.visible()), (Some("ask me"), Some("all of it")));
    }
}
