//! The data sets: their names, tables and columns.

use super::{github_events, instest, readings, sensor_readings, tasks};

/// The data sets that howdah can make. Rows 0..n of a data set are the same whatever number of rows is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dataset {
    /// Study 1: GitHub's public events; nine columns, the last a JSON document; about 250 bytes a row.
    GithubEvents,
    /// Study 2: a device's measurements, with a column of nearly every common type; about 140 bytes a row.
    SensorReadings,
    /// Study 3: a number and its text; about 15 bytes a row.
    Instest,
    /// Study 4: what a fleet of trucks reports, out of order, some values NULL; about 60 bytes a row.
    Readings,
    /// Readings with what is known of the truck as JSON; about 250 bytes a row.
    TaggedReadings,
    /// Study 5: a queue's JSON documents with a unique key; about 750 bytes a row.
    Tasks,
}

impl Dataset {
    /// Every data set, in the order in which they are listed.
    pub const ALL: [Dataset; 6] = [
        Dataset::GithubEvents,
        Dataset::SensorReadings,
        Dataset::Instest,
        Dataset::Readings,
        Dataset::TaggedReadings,
        Dataset::Tasks,
    ];

    /// The data set of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Dataset::ALL.into_iter().find(|dataset| dataset.name() == name)
    }

    /// The names of all data sets.
    #[must_use]
    pub fn names() -> [&'static str; 6] {
        Dataset::ALL.map(Dataset::name)
    }

    /// The name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Dataset::GithubEvents => "github-events",
            Dataset::SensorReadings => "sensor-readings",
            Dataset::Instest => "instest",
            Dataset::Readings => "readings",
            Dataset::TaggedReadings => "tagged-readings",
            Dataset::Tasks => "tasks",
        }
    }

    /// One line about it.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Dataset::GithubEvents => {
                "public events of a code host with a JSON payload, about 250 bytes a row"
            }
            Dataset::SensorReadings => {
                "measurements with a uuid, a numeric and an array, about 140 bytes a row"
            }
            Dataset::Instest => "a number and its text, about 15 bytes a row",
            Dataset::Readings => {
                "positions and gauges of a truck fleet, out of order and with gaps, about 60 bytes a row"
            }
            Dataset::TaggedReadings => "readings with the truck as JSON (readings --with-tags)",
            Dataset::Tasks => "a queue's JSON documents with a unique key each, about 750 bytes a row",
        }
    }

    /// The study whose table it is, 1 to 5; `docs/datasets.md` says what differs.
    #[must_use]
    pub fn study(self) -> u8 {
        match self {
            Dataset::GithubEvents => 1,
            Dataset::SensorReadings => 2,
            Dataset::Instest => 3,
            Dataset::Readings | Dataset::TaggedReadings => 4,
            Dataset::Tasks => 5,
        }
    }

    /// The data set of the same rows with a JSON column behind them, where there is such a data set.
    #[must_use]
    pub fn with_tags(self) -> Option<Self> {
        matches!(self, Dataset::Readings | Dataset::TaggedReadings).then_some(Dataset::TaggedReadings)
    }

    /// Which of the columns has a key of its own.
    pub(super) fn unique_column(self) -> Option<usize> {
        match self {
            Dataset::Instest => Some(0),
            Dataset::Tasks => Some(1),
            _ => None,
        }
    }

    /// Names and types, with constraints, of the columns that files hold, in order. `instest` and `tasks` have keys, and
    /// `sensor-readings` and `tasks` columns that the server fills.
    #[must_use]
    pub fn columns(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Dataset::GithubEvents => &github_events::COLUMNS,
            Dataset::SensorReadings => &sensor_readings::COLUMNS,
            Dataset::Instest => &instest::COLUMNS,
            Dataset::Readings => &readings::COLUMNS,
            Dataset::TaggedReadings => &readings::TAGGED_COLUMNS,
            Dataset::Tasks => &tasks::COLUMNS,
        }
    }

    /// Names and types of the same columns without constraints and defaults.
    pub fn types(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let end = |full: &str| [" NOT NULL", " DEFAULT"].iter().filter_map(|word| full.find(word)).min();
        self.columns().iter().map(move |(name, full)| (*name, &full[..end(full).unwrap_or(full.len())]))
    }

    /// The columns that the server fills; they stand before the others.
    pub(super) fn filled_columns(self) -> &'static [(&'static str, &'static str)] {
        const ID: (&str, &str) = ("id", "bigint GENERATED ALWAYS AS IDENTITY");
        match self {
            Dataset::SensorReadings => &[ID],
            Dataset::Tasks => &[ID, ("created_at", "timestamptz DEFAULT CURRENT_TIMESTAMP")],
            _ => &[],
        }
    }

    /// The header line of the CSV file, without its newline: what a COPY takes as its list of columns.
    #[must_use]
    pub fn header(self) -> String {
        self.columns().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",")
    }

    /// The statement that makes the typed table, without its keys. `table` goes into the statement as it is.
    #[must_use]
    pub fn create_table_sql(self, table: &str) -> String {
        self.create_narrow_table_sql(table, self.columns().len())
    }

    /// Returns the statement of [`Dataset::create_table_sql`] for only the first `width` of the columns that files
    /// hold.
    #[must_use]
    pub fn create_narrow_table_sql(self, table: &str, width: usize) -> String {
        let columns = self.filled_columns().iter().chain(self.columns().iter().take(width));
        let columns = columns.map(|(name, r#type)| format!("{name} {type}"));
        format!("CREATE TABLE {table} ({})", columns.collect::<Vec<_>>().join(", "))
    }

    /// The statements that add the table's keys, before or after the rows: the primary key, if there is one, comes first.
    #[must_use]
    pub fn keys_sql(self, table: &str) -> Vec<String> {
        let primary = format!("ALTER TABLE {table} ADD PRIMARY KEY (id)");
        match self {
            Dataset::SensorReadings | Dataset::Instest => vec![primary],
            Dataset::Tasks => vec![primary, format!("ALTER TABLE {table} ADD UNIQUE (idempotency_key)")],
            Dataset::GithubEvents | Dataset::Readings | Dataset::TaggedReadings => Vec::new(),
        }
    }

    /// The table with every type replaced by text: the shape in which raw data is landed. It has the files' columns.
    #[must_use]
    pub fn all_text_table_sql(self, table: &str) -> String {
        let columns = self.columns().iter().map(|(name, r#type)| {
            let not_null = if r#type.ends_with(" NOT NULL") { " NOT NULL" } else { "" };
            format!("{name} text{not_null}")
        });
        format!("CREATE TABLE {table} ({})", columns.collect::<Vec<_>>().join(", "))
    }
}
