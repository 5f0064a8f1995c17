//! The formats of inputs.

/// The families of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Comma-separated values with COPY's CSV rules.
    #[default]
    Csv,
    /// CSV rules with a tab between fields.
    Tsv,
    /// COPY's text format: tabs, backslash escapes, `\N`.
    Text,
    /// JSON: an array of objects, objects one after the other, or one a line; the first bytes tell.
    Json,
    /// JSON, an object a line.
    Ndjson,
    /// A corrected reject file of an earlier load: it knows the format of its records and where they were meant to go.
    Rejects,
    /// COPY's binary format.
    Binary,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow's IPC formats, file and stream.
    Arrow,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 9] = [
        Format::Csv,
        Format::Tsv,
        Format::Text,
        Format::Binary,
        Format::Ndjson,
        Format::Json,
        Format::Parquet,
        Format::Arrow,
        Format::Rejects,
    ];

    /// The format's name, as options spell it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Text => "text",
            Format::Rejects => "rejects",
            Format::Json => "json",
            Format::Ndjson => "ndjson",
            Format::Binary => "binary",
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether values are something else than text.
    pub fn has_types(self) -> bool {
        matches!(self, Format::Binary | Format::Parquet | Format::Arrow)
    }
}
