//! The options that messages name, and values for them.

use std::borrow::Cow;

use super::Mention;

/// An option, by the name that it has on the command line and in Python. Most have the same one in Rust: see
/// [`rust_name`](Setting::rust_name).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Setting(&'static str);

/// A value of an option, as far as a spelling has to tell values apart.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// One of the words that the option knows: `append`.
    Word(Cow<'static, str>),
    /// A number.
    Number(u64),
    /// Yes or no.
    Bool(bool),
    /// Text of the input or of the user, such as `;`.
    Text(String),
    /// What a person is to put something in for, such as `FILE`.
    Placeholder(&'static str),
    /// One entry of an option that maps names to names.
    Entry(Box<Value>, Box<Value>),
    /// Several names.
    List(Vec<Value>),
}

impl Setting {
    /// The setting of that name, in snake case.
    pub const fn new(name: &'static str) -> Self {
        Setting(name)
    }

    /// The setting's name, in snake case.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// The name of the method or field that sets it in Rust.
    #[must_use]
    pub fn rust_name(self) -> &'static str {
        match self {
            ALLOW => "allow_loss",
            COLUMNS => "column_list",
            DBNAME => "conninfo",
            DECIMAL => "decimal_comma",
            NAMES => "column_names",
            USERNAME => "user",
            other => other.0,
        }
    }

    /// Mentions the setting with `value`.
    pub fn with(self, value: Value) -> Mention {
        Mention::Setting(self, Some(value))
    }

    /// Mentions the setting with one of the words that it knows.
    pub fn word(self, word: impl Into<Cow<'static, str>>) -> Mention {
        self.with(Value::Word(word.into()))
    }

    /// Mentions the setting with a number.
    pub fn number(self, number: usize) -> Mention {
        self.with(Value::Number(number as u64))
    }

    /// Mentions the setting with yes or no.
    pub fn bool(self, yes: bool) -> Mention {
        self.with(Value::Bool(yes))
    }

    /// Mentions the setting with text of the input or of the user.
    pub fn text(self, text: impl Into<String>) -> Mention {
        self.with(Value::Text(text.into()))
    }

    /// Mentions the setting with something to be filled in, such as `FILE`.
    pub fn placeholder(self, name: &'static str) -> Mention {
        self.with(Value::Placeholder(name))
    }

    /// Mentions the setting with an entry of which both sides are to be filled in: `NAME` and `COLUMN`.
    pub fn entry(self, from: &'static str, to: &'static str) -> Mention {
        self.with(Value::Entry(Box::new(Value::Placeholder(from)), Box::new(Value::Placeholder(to))))
    }

    /// Mentions the setting with an entry that maps the name `from` to something that is to be filled in.
    pub fn entry_of(self, from: impl Into<String>, to: &'static str) -> Mention {
        self.with(Value::Entry(Box::new(Value::Text(from.into())), Box::new(Value::Placeholder(to))))
    }

    /// Mentions the setting with an entry that maps the name `from` to a word.
    pub fn entry_to(self, from: impl Into<String>, to: impl Into<Cow<'static, str>>) -> Mention {
        self.with(Value::Entry(Box::new(Value::Text(from.into())), Box::new(Value::Word(to.into()))))
    }

    /// Mentions the setting with names of the input or of the user.
    pub fn texts(self, names: &[&str]) -> Mention {
        self.with(Value::List(names.iter().map(|name| Value::Text((*name).to_owned())).collect()))
    }

    /// Mentions the setting with names that are to be filled in.
    pub fn list(self, names: &[&'static str]) -> Mention {
        self.with(Value::List(names.iter().map(|name| Value::Placeholder(name)).collect()))
    }
}

macro_rules! settings {
    ($($constant:ident = $name:literal,)*) => {
        $(
            #[doc = concat!("The option `", $name, "`.")]
            pub const $constant: Setting = Setting::new($name);
        )*

        /// Every setting that a message of this crate can name.
        pub const ALL: &[Setting] = &[$($constant),*];
    };
}

settings! {
    AFTER = "after",
    ALLOW = "allow",
    ALLOW_BUSY = "allow_busy",
    ALLOW_EVENT_TRIGGERS = "allow_event_triggers",
    BEFORE = "before",
    BOOLEANS = "booleans",
    COLUMN_COMPRESSION = "column_compression",
    COLUMNS = "columns",
    CONFLICT_KEY = "conflict_key",
    CREATE_SCHEMA = "create_schema",
    DATE_FORMAT = "date_format",
    DBNAME = "dbname",
    DECIMAL = "decimal",
    DEFAULT = "default",
    DELIMITER = "delimiter",
    DISABLE_TRIGGERS = "disable_triggers",
    DRY_RUN = "dry_run",
    ENCODING = "encoding",
    ESCAPE = "escape",
    EVOLVE = "evolve",
    FILE_COLUMN = "file_column",
    FOLLOW = "follow",
    FORCE_NOT_NULL = "force_not_null",
    FORCE_NULL = "force_null",
    FORMAT = "format",
    FREEZE = "freeze",
    HEADER = "header",
    INDEXES = "indexes",
    INFER = "infer",
    JOBS = "jobs",
    KEEP_LANDING = "keep_landing",
    KEY = "key",
    LANDING_TABLE = "landing_table",
    LIMIT = "limit",
    LOAD_ID = "load_id",
    LOCK_TIMEOUT = "lock_timeout",
    MAP = "map",
    MODE = "mode",
    NAMES = "names",
    NULL = "null",
    ON_CONFLICT = "on_conflict",
    ON_ERROR = "on_error",
    ON_NUL = "on_nul",
    OVERWRITE_REJECTS = "overwrite_rejects",
    QUOTE = "quote",
    REJECT_LIMIT = "reject_limit",
    REJECTS = "rejects",
    ROWS_PER_STATEMENT = "rows_per_statement",
    SHARE = "share",
    SKIP_COLUMNS = "skip_columns",
    SKIP_LINES = "skip_lines",
    SORT = "sort",
    STATE = "state",
    STATE_TABLE = "state_table",
    TABLE = "table",
    THOUSANDS = "thousands",
    TYPES = "types",
    UNLOGGED = "unlogged",
    USERNAME = "username",
    WRITE_PATH = "write_path",
}
