//! A table that a load makes: its schema, its columns, its key, its comment; and the script that would make it again.

use howdah_message::{Message, setting};
use howdah_source::Input;

use crate::catalog::name::{self, quote, quote_literal};
use crate::catalog::table::Table;
use crate::error::Error;
use crate::options::{LoadOptions, OnError, Unlogged};
use crate::plan::mapping::Mapping;

/// So many inputs are named in the comment; a glob may match thousands.
const NAMED_INPUTS: usize = 5;

/// How comments of ours begin.
pub(crate) const COMMENT_START: &str = "loaded by howdah from ";

/// What is made beside the columns, which [`Table`] has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Creation {
    unlogged: bool,
    /// The schema does not exist and is made too.
    with_schema: bool,
    /// Columns of the primary key; empty for none.
    key: Vec<String>,
    /// The key refuses rows as they come, instead of the whole load at the end.
    key_first: bool,
    /// The types are found while a stream is loaded as text.
    observe: bool,
    comment: String,
    /// How wide values are compressed, where it is not left to the server.
    pub(crate) compression: Option<Compression>,
    /// Said in the script: what the whole input was seen to be.
    pub(crate) findings: Findings,
}

/// How the values of some columns are compressed.
#[derive(Debug, Clone)]
pub(crate) struct Compression {
    pub(crate) method: &'static str,
    pub(crate) columns: Vec<String>,
    /// By what was seen of their values, and not because somebody said so.
    pub(crate) is_guessed: bool,
}

impl Compression {
    /// Which columns, how, and why.
    pub(crate) fn message(&self) -> Message {
        let names: Vec<String> = self.columns.iter().map(|name| name::display(name)).collect();
        let said = format!("{} for {}", self.method, names.join(", "));
        match self.is_guessed {
            false => said.into(),
            true => {
                message![said, ", with values of 2 kB or more (", setting::COLUMN_COMPRESSION, " overrides)"]
            }
        }
    }

    /// What the definition of `column` says of it.
    pub(crate) fn clause(&self, column: &str) -> String {
        let is_named = self.columns.iter().any(|name| name == column);
        if is_named { format!(" COMPRESSION {}", self.method) } else { String::new() }
    }
}

/// What reading the whole input showed beside the types.
#[derive(Debug, Clone, Default)]
pub(crate) struct Findings {
    /// Columns without NULL.
    pub(crate) never_null: Vec<String>,
    /// Columns with values that the server compresses.
    pub(crate) wide: Vec<String>,
    /// A column whose integers grow from record to record: it could be the key.
    pub(crate) ascending: Option<String>,
}

impl Creation {
    /// As the options say.
    ///
    /// # Errors
    /// A usage error: the key names what is no column.
    pub(crate) fn new(
        options: &LoadOptions,
        mapping: &Mapping,
        inputs: &[Input],
        with_schema: bool,
        observe: bool,
    ) -> Result<Creation, Error> {
        let key_first = options.tolerance.on_error == OnError::Ignore && !options.target.key.is_empty();
        if key_first && observe {
            return Err(Error::usage(message![
                setting::KEY,
                " with ",
                setting::ON_ERROR.word("ignore"),
                " needs a file: the types of a stream are known only at its end",
            ])
            .with_hint("make the table first, or save the stream to a file"));
        }
        let targets: Vec<&str> = mapping.pairs.iter().map(|pair| pair.target.as_str()).collect();
        if let Some(stranger) = options.target.key.iter().find(|name| !targets.contains(&name.as_str())) {
            return Err(Error::usage(message![
                setting::KEY,
                " names {stranger:?}, which the new table does not have"
            ])
            .with_detail(format!("its columns: {}", targets.join(", "))));
        }
        Ok(Creation {
            unlogged: options.target.unlogged != Unlogged::No,
            with_schema,
            key: options.target.key.clone(),
            key_first,
            observe,
            compression: None,
            comment: comment(inputs),
            findings: Findings::default(),
        })
    }

    /// Whether the key judges rows as they come.
    pub(crate) fn has_key_first(&self) -> bool {
        self.key_first
    }

    /// Whether `name` is a column of the key.
    pub(crate) fn is_key(&self, name: &str) -> bool {
        self.key.iter().any(|column| column == name)
    }

    /// The schema's statement, when there is no such schema.
    pub(crate) fn schema_sql(&self, table: &Table) -> Option<String> {
        // Somebody else's load may make it in the same moment.
        self.with_schema.then(|| format!("CREATE SCHEMA IF NOT EXISTS {}", quote(&table.schema)))
    }

    /// What takes the schema away again after a failure.
    pub(crate) fn drop_schema_sql(&self, table: &Table) -> Option<String> {
        self.with_schema.then(|| format!("DROP SCHEMA IF EXISTS {} RESTRICT", quote(&table.schema)))
    }

    /// The table under the name that rows are copied to.
    pub(crate) fn create_sql(&self, relation: &str, table: &Table) -> String {
        let mut parts: Vec<String> = table
            .columns
            .iter()
            .map(|column| {
                let type_name = if self.observe && !column.is_declared { "text" } else { &column.type_name };
                format!("{} {type_name}{}", quote(&column.name), self.compression_clause(&column.name))
            })
            .collect();
        if self.key_first {
            parts.push(self.key_clause());
        }
        format!("CREATE {}TABLE {relation} ({})", self.unlogged(), parts.join(", "))
    }

    /// What is added once the rows are there and the table has its name, after which keys are named.
    pub(crate) fn finish_sql(&self, table: &Table) -> Vec<String> {
        let mut statements = Vec::new();
        if !self.key.is_empty() && !self.key_first {
            statements.push(format!("ALTER TABLE {} ADD {}", table.sql(), self.key_clause()));
        }
        statements.push(self.comment_sql(table));
        statements
    }

    /// The statements that make the same table, empty: complete, and with what could be added as comments.
    pub(crate) fn script(&self, table: &Table) -> Message {
        let mut script = Message::default();
        if let Some(schema) = self.schema_sql(table) {
            script.push(format!("{schema};\n"));
        }
        if self.observe {
            script.push("-- types are found at the end of the stream; until then every column is text\n");
        }
        script.push(format!("CREATE {}TABLE {} (\n", self.unlogged(), table.sql()));
        let last = table.columns.len() - usize::from(self.key.is_empty());
        for (at, column) in table.columns.iter().enumerate() {
            let comma = if at < last { "," } else { "" };
            let remark = match self.findings.never_null.contains(&column.name) && !self.is_key(&column.name) {
                true => "  -- no NULL in the input",
                false => "",
            };
            let compression = self.compression_clause(&column.name);
            let name = quote(&column.name);
            script.push(format!("    {name} {}{compression}{comma}{remark}\n", column.type_name));
        }
        if !self.key.is_empty() {
            script.push(format!("    {}\n", self.key_clause()));
        }
        script.push(");\n");
        if let Some(column) = &self.findings.ascending
            && self.key.is_empty()
        {
            script.push(message![
                "-- ",
                crate::catalog::name::display(column),
                " grows from record to record and is never NULL: ",
                setting::KEY.texts(&[column]),
                " makes it the primary key\n"
            ]);
        }
        script.push(format!("{};", self.comment_sql(table)));
        script
    }

    /// How the values of `column` are compressed, where that is said.
    pub(crate) fn compression_of(&self, column: &str) -> Option<&'static str> {
        let compression = self.compression.as_ref()?;
        compression.columns.iter().any(|name| name == column).then_some(compression.method)
    }

    fn compression_clause(&self, column: &str) -> String {
        self.compression.as_ref().map(|of| of.clause(column)).unwrap_or_default()
    }

    fn unlogged(&self) -> &'static str {
        if self.unlogged { "UNLOGGED " } else { "" }
    }

    fn key_clause(&self) -> String {
        let columns: Vec<String> = self.key.iter().map(|name| quote(name)).collect();
        format!("PRIMARY KEY ({})", columns.join(", "))
    }

    fn comment_sql(&self, table: &Table) -> String {
        format!("COMMENT ON TABLE {} IS {}", table.sql(), quote_literal(&self.comment))
    }
}

/// Where the rows came from, for whoever finds the table in a year.
pub(crate) fn comment(inputs: &[Input]) -> String {
    let name = |input: &Input| {
        if &*input.name == "-" { "standard input".to_owned() } else { input.name.to_string() }
    };
    let mut names: Vec<String> = inputs.iter().take(NAMED_INPUTS).map(name).collect();
    if inputs.len() > NAMED_INPUTS {
        names.push(format!("{} more", inputs.len() - NAMED_INPUTS));
    }
    format!("{COMMENT_START}{}", names.join(", "))
}
