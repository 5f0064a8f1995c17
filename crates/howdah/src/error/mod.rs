//! What went wrong: where (input, line, column), what the server said (SQLSTATE, detail, hint), what is visible now.

mod hidden_names;
mod reported;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

pub(crate) use hidden_names::HiddenNames;
pub use howdah_source::Location;
pub use reported::{ReportedError, ReportedLocation};

use howdah_connect::{LastWords, sqlstate};
use howdah_encode::Loss;
use howdah_message::{Mention, Message, Part, Respell, Setting, Spelling, setting};

/// A failure, with everything a person needs to act on it. Built with `with_*` setters, read with questions.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: Message,
    location: Option<Location>,
    column: Option<String>,
    sqlstate: Option<String>,
    constraint: Option<String>,
    detail: Option<Message>,
    hint: Option<Message>,
    visible: Option<String>,
    committed: Option<Committed>,
    loss: Option<Loss>,
    null_marker: Option<&'static str>,
    cause: Option<Cause>,
    report: Option<Arc<dyn Any + Send + Sync>>,
}

type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// What programs write for NULL.
const NULL_MARKERS: [&str; 9] = ["NULL", "null", "\\N", "NA", "N/A", "NaN", "nan", "None", "-"];

/// Whether the rows of a call that failed are in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Committed {
    /// None of them is.
    No,
    /// All of them are.
    Yes,
    /// Some certainly are and some are not, or may not be.
    Partly,
    /// It could not be found out.
    Unknown,
}

/// What to do when an open connection broke.
const LOST: &str = "the server stopped or somebody ended the session: try again when it answers";

/// What to do where a server ended the session and said so by this SQLSTATE.
pub(crate) fn why_ended(sqlstate: &str) -> Option<&'static str> {
    Some(match sqlstate {
        "57P01" | "57P02" => LOST,
        "25P03" => {
            "the server's idle_in_transaction_session_timeout ended it: PGOPTIONS='-c idle_in_transaction_session_timeout=0' \
             lifts the limit"
        }
        "25P04" => {
            "the server's transaction_timeout ended it: PGOPTIONS='-c transaction_timeout=0' lifts the limit"
        }
        "57P05" => {
            "the server's idle_session_timeout ended it: PGOPTIONS='-c idle_session_timeout=0' lifts the limit"
        }
        _ => return None,
    })
}

/// The classes of failure; they decide the exit code (2 usage or connection, 4 too many rejects, 5 partly committed, else 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request itself cannot be carried out: options, names, a mapping that does not fit.
    Usage,
    /// No connection to the server.
    Connect,
    /// The server asks for a password and none is known: a front end may ask for one and try again.
    PasswordRequired,
    /// An input could not be opened or read.
    Source,
    /// A value or record of the input is wrong.
    Data,
    /// More records were rejected than the caller allows.
    TooManyRejects,
    /// The server refused or failed.
    Server,
    /// A writer's queue has no room for the row.
    QueueFull,
    /// A writer is closed, or was before the row was sent.
    Closed,
    /// Somebody asked us to stop.
    Cancelled,
    /// Some transactions are committed and some are not, or nobody knows.
    PartlyCommitted,
    /// howdah itself is wrong.
    Internal,
}

impl Error {
    /// A failure of `kind`; `message` is lower case, without a full stop.
    pub fn new(kind: ErrorKind, message: impl Into<Message>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            location: None,
            column: None,
            sqlstate: None,
            constraint: None,
            detail: None,
            hint: None,
            visible: None,
            committed: None,
            loss: None,
            null_marker: None,
            cause: None,
            report: None,
        }))
    }

    /// A panic: the fault of howdah itself, wherever it happened.
    pub fn bug() -> Self {
        Error::new(ErrorKind::Internal, "howdah has failed in a way it should not: this is a bug")
            .with_visible(Committed::Unknown, "transactions that were open are rolled back")
    }

    /// The server's own words, as fields.
    pub(crate) fn from_db(db: &tokio_postgres::error::DbError) -> Self {
        let mut out = Error::new(ErrorKind::Server, db.message()).with_sqlstate(db.code().code());
        // The server has no field for the value; in every language it ends the sentence.
        if let Some((_, value)) = db.message().strip_suffix('"').and_then(|said| said.rsplit_once(": \"")) {
            out = out.about_value(value.as_bytes());
        }
        if let Some(detail) = db.detail() {
            out = out.with_detail(detail);
        }
        if let Some(hint) = db.hint() {
            out = out.with_hint(hint);
        }
        if let Some(column) = db.column() {
            out = out.in_column(column);
        }
        out.0.constraint = db.constraint().map(str::to_owned);
        out
    }

    /// The message behind `prefix: `.
    #[must_use]
    pub(crate) fn prefixed(mut self, prefix: impl Part) -> Self {
        self.0.message = message![prefix, ": ", std::mem::take(&mut self.0.message)];
        self
    }

    /// Whether the message is [`prefixed`](Error::prefixed) with `option`.
    pub(crate) fn begins_with(&self, option: Setting) -> bool {
        let first = self.0.message.mentions().next();
        self.0.message.as_str().starts_with(option.rust_name())
            && matches!(first, Some(Mention::Setting(first, _)) if *first == option)
    }

    /// The system gives no thread, or what a runtime needs.
    pub(crate) fn cannot_start(what: &str, error: std::io::Error) -> Self {
        Error::new(ErrorKind::Internal, format!("cannot start {what}: {error}")).caused_by(error)
    }

    /// Shorthand for [`ErrorKind::Usage`].
    pub fn usage(message: impl Into<Message>) -> Self {
        Error::new(ErrorKind::Usage, message)
    }

    /// The relation `name` is not there; `kind` says what it would be.
    pub(crate) fn no_relation(kind: &str, name: impl fmt::Display) -> Self {
        Error::usage(format!("{kind} {name} does not exist")).with_sqlstate("42P01")
    }

    /// The place in the input.
    #[must_use]
    pub fn at(mut self, location: Location) -> Self {
        self.0.location = Some(location);
        self
    }

    /// The column's name.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> Self {
        self.0.column = Some(column.into());
        self
    }

    /// The five-character SQLSTATE.
    #[must_use]
    pub fn with_sqlstate(mut self, sqlstate: impl Into<String>) -> Self {
        self.0.sqlstate = Some(sqlstate.into());
        self
    }

    /// The constraint or unique index that a row violates.
    #[must_use]
    pub(crate) fn with_constraint(mut self, constraint: &str) -> Self {
        self.0.constraint = Some(constraint.to_owned());
        self
    }

    /// The server's DETAIL, or ours.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<Message>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Message>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// What other sessions see now, in short and as a sentence ("the row is not in the table").
    #[must_use]
    pub fn with_visible(mut self, committed: Committed, visible: impl Into<String>) -> Self {
        self.0.committed = Some(committed);
        self.0.visible = Some(visible.into());
        self
    }

    /// The failure of a connection that was lost, with what the server said when it ended the session, if that was heard. Any
    /// other failure stays as it is.
    #[must_use]
    pub(crate) fn told(mut self, words: Option<LastWords>) -> Self {
        let is_lost = self.0.sqlstate.is_none() && self.hint() == Some(LOST);
        if let Some(words) = words.filter(|_| is_lost && self.0.kind == ErrorKind::Server) {
            self.0.message = words.message.into();
            self.0.detail = words.detail.map(Message::from);
            let hint = words.hint.map(Message::from);
            self.0.hint = hint.or_else(|| why_ended(&words.sqlstate).map(Message::from));
            self.0.sqlstate = Some(words.sqlstate);
        }
        self
    }

    /// Nothing was changed.
    #[must_use]
    pub fn nothing_changed(self) -> Self {
        self.with_visible(Committed::No, "nothing was changed")
    }

    /// Nothing was changed, unless it is said already what is visible.
    #[must_use]
    pub fn or_nothing_changed(self) -> Self {
        if self.0.visible.is_some() { self } else { self.nothing_changed() }
    }

    /// The error behind this one.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.cause = Some(Arc::from(cause.into()));
        self
    }

    /// What was done until the failure.
    #[must_use]
    pub(crate) fn with_report<R: Any + Send + Sync>(mut self, report: R) -> Self {
        self.0.report = Some(Arc::new(report));
        self
    }

    /// The loss that would let the value pass if it were allowed.
    #[must_use]
    pub(crate) fn for_want_of(mut self, loss: Option<Loss>) -> Self {
        self.0.loss = loss;
        self
    }

    /// The literal that was refused, of which only matters whether programs write it for NULL.
    #[must_use]
    pub(crate) fn about_value(mut self, value: &[u8]) -> Self {
        self.0.null_marker = NULL_MARKERS.into_iter().find(|marker| marker.as_bytes() == value);
        self
    }

    /// Puts the failure into another class.
    #[must_use]
    pub fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// The class of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }
    /// One line, without location, in the spelling of the [library](howdah_message::Library).
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// The message, the detail and the hint.
    pub(crate) fn messages(&self) -> [Option<&Message>; 3] {
        [Some(&self.0.message), self.0.detail.as_ref(), self.0.hint.as_ref()]
    }
    /// Where in the input, when known.
    pub fn location(&self) -> Option<&Location> {
        self.0.location.as_ref()
    }
    /// Which column, when known.
    pub fn column(&self) -> Option<&str> {
        self.0.column.as_deref()
    }
    /// SQLSTATE: the server's, or the one it would have given.
    pub fn sqlstate(&self) -> Option<&str> {
        self.0.sqlstate.as_deref()
    }
    /// The constraint that the server named.
    pub fn constraint(&self) -> Option<&str> {
        self.0.constraint.as_deref()
    }
    /// More about the cause.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }
    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
    /// What is visible now, as a sentence.
    pub fn visible(&self) -> Option<&str> {
        self.0.visible.as_deref()
    }
    /// Whether rows are in the table. Unless the place that failed knows better, a connection that was lost, a session
    /// that the server ended and a fault of howdah itself leave that open; any other failure, one from before anything was
    /// sent among them, says no.
    pub fn committed(&self) -> Committed {
        self.0.committed.unwrap_or(match (self.0.kind, self.sqlstate()) {
            (ErrorKind::PartlyCommitted | ErrorKind::Internal, _) | (ErrorKind::Server, None) => {
                Committed::Unknown
            }
            (_, Some(code)) if sqlstate::ends_the_session(code) => Committed::Unknown,
            _ => Committed::No,
        })
    }

    /// What was done until the failure. Which report that is, the call that failed knows: its module has the question for
    /// users.
    pub(crate) fn report_of<R: Any>(&self) -> Option<&R> {
        self.0.report.as_deref()?.downcast_ref()
    }

    /// The loss whose permission would let the refused value pass.
    pub fn loss(&self) -> Option<Loss> {
        self.0.loss
    }

    /// The refused value, where it is one that programs write for NULL.
    pub(crate) fn null_marker(&self) -> Option<&'static str> {
        self.0.null_marker
    }

    /// Whether the cause is likely to pass, so that the same call may succeed later. Whether it would then write rows a
    /// second time is for [`Error::committed`] to say.
    ///
    /// These are the failures without a SQLSTATE that have to do with the connection, a full queue, and the codes that
    /// [`sqlstate::is_transient`] names.
    pub fn is_retryable(&self) -> bool {
        match self.sqlstate() {
            None => matches!(self.kind(), ErrorKind::Server | ErrorKind::Connect | ErrorKind::QueueFull),
            Some(code) => sqlstate::is_transient(code),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = &self.0.location {
            write!(f, "{location}: ")?;
        }
        if let Some(column) = &self.0.column {
            write!(f, "column {column:?}: ")?;
        }
        f.write_str(&self.0.message)?;
        if let Some(sqlstate) = &self.0.sqlstate {
            write!(f, " (SQLSTATE {sqlstate})")?;
        }
        Ok(())
    }
}

/// The failure of a connection, which stays its [source](std::error::Error::source).
impl From<howdah_connect::Error> for Error {
    fn from(error: howdah_connect::Error) -> Self {
        use howdah_connect::ErrorKind as Kind;
        let hint = error.hint().map(Message::from);
        let (kind, hint) = match error.kind() {
            Kind::PasswordRequired => (ErrorKind::PasswordRequired, hint),
            Kind::NoUser => (ErrorKind::Connect, Some(message![setting::USERNAME, " names one"])),
            Kind::Server => (ErrorKind::Server, hint),
            Kind::Lost if hint.is_some() => (ErrorKind::Server, hint),
            Kind::Lost => (ErrorKind::Server, error.sqlstate().and_then(why_ended).map(Message::from)),
            Kind::Busy | Kind::Unsendable | Kind::Protocol => (ErrorKind::Internal, hint),
            _ => (ErrorKind::Connect, hint),
        };
        let mut out = match error.as_db_error() {
            Some(db) => Error::from_db(db).of_kind(kind),
            None => Error::new(kind, error.message()),
        };
        out.0.sqlstate = error.sqlstate().map(str::to_owned);
        out.0.message = error.message().into();
        out.0.detail = error.detail().map(Message::from);
        out.0.hint = hint;
        out.caused_by(error)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)?;
        for (label, part) in [("detail", self.detail()), ("hint", self.hint()), ("visible", self.visible())] {
            if let Some(text) = part {
                write!(f, "\n{label}: {text}")?;
            }
        }
        Ok(())
    }
}

impl Respell for Error {
    fn respell(&mut self, spelling: &dyn Spelling) {
        self.0.message.respell(spelling);
        self.0.detail.respell(spelling);
        self.0.hint.respell(spelling);
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let cause = self.0.cause.as_deref()?;
        Some(cause)
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let out = match error.as_db_error() {
            Some(db) => Error::from_db(db),
            None => lost(&error),
        };
        out.caused_by(error)
    }
}

fn lost(error: &tokio_postgres::Error) -> Error {
    let mut message = error.to_string();
    if let Some(cause) = std::error::Error::source(error) {
        let cause = cause.to_string();
        if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    Error::new(ErrorKind::Server, format!("the connection to the server was lost: {message}")).with_hint(LOST)
}

impl From<howdah_source::Error> for Error {
    fn from(error: howdah_source::Error) -> Self {
        use howdah_source::ErrorKind as Kind;
        let kind = match error.kind() {
            Kind::Usage => ErrorKind::Usage,
            Kind::Source => ErrorKind::Source,
            Kind::Data => ErrorKind::Data,
            Kind::Cancelled => ErrorKind::Cancelled,
            _ => ErrorKind::Internal,
        };
        let [message, detail, hint] = error.messages().map(|message| message.cloned());
        let mut out = Error::new(kind, message.unwrap_or_default());
        out.0.location = error.location().cloned();
        out.0.column = error.column().map(str::to_owned);
        out.0.sqlstate = error.sqlstate().map(str::to_owned);
        out.0.detail = detail;
        out.0.hint = hint;
        out.caused_by(error)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn the_cause_stays_within_reach_of_a_program() {
        let io = std::io::Error::other("the disk is gone");
        let error = Error::new(ErrorKind::Source, "cannot read it").caused_by(io).clone();
        let cause = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
        assert_eq!(cause.map(ToString::to_string).as_deref(), Some("the disk is gone"));
        assert!(Error::usage("no").source().is_none());
    }

    #[test]
    fn what_may_pass_is_told_from_what_will_not() {
        let server = |code: &str| Error::new(ErrorKind::Server, "no").with_sqlstate(code).is_retryable();
        for code in ["08006", "40001", "40P01", "53300", "57P01", "25006", "55006", "55P03"] {
            assert!(server(code), "{code}");
        }
        for code in ["22P02", "23505", "25P02", "42501", "55000", "XX000"] {
            assert!(!server(code), "{code}");
        }
        assert!(Error::new(ErrorKind::Connect, "refused").is_retryable());
        assert!(!Error::usage("no").is_retryable() && !Error::new(ErrorKind::Data, "no").is_retryable());
    }

    #[test]
    fn what_nobody_knows_is_not_called_not_committed() {
        let of = |kind| Error::new(kind, "no");
        // A connection that was lost, and faults of howdah's own.
        assert_eq!(of(ErrorKind::Server).committed(), Committed::Unknown);
        assert_eq!(of(ErrorKind::Internal).committed(), Committed::Unknown);
        assert_eq!(of(ErrorKind::Server).with_sqlstate("57P01").committed(), Committed::Unknown);
        assert_eq!(of(ErrorKind::Server).with_sqlstate("23505").committed(), Committed::No);
        assert_eq!(of(ErrorKind::Internal).nothing_changed().committed(), Committed::No);
        assert_eq!(Error::usage("no").committed(), Committed::No);
    }

    #[test]
    fn doubt_about_a_commit_is_not_taken_for_a_part_of_it() {
        let of = |kind| Error::new(kind, "no");
        assert_eq!(of(ErrorKind::PartlyCommitted).committed(), Committed::Unknown);
        let some = of(ErrorKind::PartlyCommitted).with_visible(Committed::Partly, "5 rows are in");
        assert_eq!((some.committed(), some.visible()), (Committed::Partly, Some("5 rows are in")));
        assert_eq!(some.or_nothing_changed().visible(), Some("5 rows are in"));
    }
}
