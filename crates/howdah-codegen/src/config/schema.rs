//! `schema:` of a configuration: whose files make the tables, or that they are there.

use super::NamedPath;
use crate::diagnostic::nearest;
use crate::yaml::{YamlNode, YamlReader, YamlValue};

/// Where tables come from, beside the blocks of SQL files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaConfig {
    /// Folders and files of other tools, in order; there may be none.
    Files(Vec<SchemaFiles>),
    /// They are in the database that `-d` names.
    Database,
}

/// A folder or file of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFiles {
    /// What is read.
    pub path: NamedPath,
    /// Whose it is, if that is said.
    pub tool: Option<Tool>,
}

/// Writes the enum and its names from one list, so that neither lacks what the other has.
macro_rules! tools {
    ($($variant:ident $name:literal $doc:literal,)*) => {
        /// Who keeps the files.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Tool {
            $(#[doc = $doc] $variant,)*
        }

        impl Tool {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name in configurations and messages.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

tools! {
    Flyway "flyway" "`V1__x.sql`, `R__x.sql`.",
    Goose "goose" "`-- +goose Up`.",
    Dbmate "dbmate" "`-- migrate:up`.",
    GolangMigrate "golang-migrate" "`1_x.up.sql` and `1_x.down.sql`.",
    SqlMigrate "sql-migrate" "`-- +migrate Up`.",
    Tern "tern" "`---- create above / drop below ----`.",
    Atlas "atlas" "Plain SQL beside `atlas.sum`.",
    Sqlx "sqlx" "`1_x.sql` in the order of the numbers, or `1_x.up.sql`.",
    Liquibase "liquibase" "`--liquibase formatted sql`.",
    PgDump "pg_dump" "A dump in plain format.",
    Plain "plain" "SQL in the order of the names.",
}

impl Tool {
    /// All names, for messages.
    #[must_use]
    pub fn names() -> String {
        Self::ALL.iter().map(|tool| tool.name()).collect::<Vec<_>>().join(", ")
    }
}

/// Reads `schema:`.
pub(super) fn schema(node: Option<YamlNode>, reader: &mut YamlReader<'_>) -> SchemaConfig {
    match node {
        None => SchemaConfig::Files(Vec::new()),
        Some(YamlNode { value: YamlValue::Scalar(text, false), .. }) if text == "database" => {
            SchemaConfig::Database
        }
        Some(YamlNode { value: YamlValue::List(list), .. }) if !list.is_empty() => {
            SchemaConfig::Files(list.into_iter().filter_map(|node| files(node, reader)).collect())
        }
        Some(node) => {
            reader.wrong(&node.place, "`schema` is a list of folders and files, or `database`").suggestion =
                Some("write `schema: [db/migrations/]`".to_owned());
            SchemaConfig::Files(Vec::new())
        }
    }
}

fn files(node: YamlNode, reader: &mut YamlReader<'_>) -> Option<SchemaFiles> {
    if !matches!(node.value, YamlValue::Mapping(_)) {
        let (path, place) = reader.text(node, "an entry of `schema`")?;
        return Some(SchemaFiles { path: NamedPath { path, place: Some(place) }, tool: None });
    }
    let whole = node.place.clone();
    let [path, tool] = reader.keys(node, "an entry of `schema`", ["path", "tool"]);
    let tool = tool.and_then(|node| reader.text(node, "`tool`")).and_then(|(name, place)| {
        let found = Tool::ALL.iter().copied().find(|tool| tool.name() == name);
        if found.is_none() {
            let near = nearest(&name, Tool::ALL.iter().map(|tool| tool.name()));
            let help = near.map_or_else(
                || format!("there are {}", Tool::names()),
                |near| format!("perhaps you meant `{near}`"),
            );
            reader.wrong(&place, format!("there is no tool `{name}`")).suggestion = Some(help);
        }
        found
    });
    let Some(path) = path else {
        reader.wrong(&whole, "`path` is missing");
        return None;
    };
    let (path, place) = reader.text(path, "`path`")?;
    Some(SchemaFiles { path: NamedPath { path, place: Some(place) }, tool })
}
