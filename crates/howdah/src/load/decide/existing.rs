//! The table that is there: what the mode does with it, and what it refuses.

use howdah_connect::Connection;
use howdah_message::{Message, setting};
use howdah_source::Input;

use crate::catalog::name::{self, TableName};
use crate::catalog::session::SessionSettings;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::load::{DisabledTriggers, Load};
use crate::options::{ColumnCompression, LoadOptions, Mode, Unlogged, WritePath};

/// What a load does with the table that it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It is not there, and is made.
    Make,
    /// It is not there, and would have to be.
    Missing,
    /// It is there, and must not be.
    InTheWay,
    /// Rows are added to it.
    Add,
    /// Its rows are matched with those of the input.
    Match,
    /// It is emptied first.
    Empty,
    /// Another takes its place.
    Exchange,
}

impl Use {
    /// By the mode, and whether the table `exists`.
    fn of(mode: Mode, exists: bool) -> Use {
        match (mode, exists) {
            (Mode::Create | Mode::CreateAppend | Mode::Replace, false) => Use::Make,
            (Mode::Append | Mode::Truncate, false) => Use::Missing,
            (Mode::Upsert | Mode::Ignore | Mode::Update | Mode::Delete, false) => Use::Missing,
            (Mode::Create, true) => Use::InTheWay,
            (Mode::Append | Mode::CreateAppend, true) => Use::Add,
            (Mode::Upsert | Mode::Ignore | Mode::Update | Mode::Delete, true) => Use::Match,
            (Mode::Truncate, true) => Use::Empty,
            (Mode::Replace, true) => Use::Exchange,
        }
    }

    /// Refuses options for tables that this load makes or empties, where it does not.
    ///
    /// # Errors
    /// A usage error that names the option.
    fn check(self, table: &Table, options: &LoadOptions) -> Result<(), Error> {
        let keeps_rows = matches!(self, Use::Add | Use::Match);
        let lands = options.writing.write_path == WritePath::Landing;
        // A landing table is new.
        if options.target.unlogged == Unlogged::Yes && (keeps_rows && !lands || self == Use::Empty) {
            return Err(only_for_new(message![setting::UNLOGGED], table));
        }
        if options.writing.freeze && keeps_rows {
            return Err(Error::usage(message![
                setting::FREEZE,
                " needs a table that this load makes or empties"
            ])
            .with_hint(message![
                "add ",
                setting::MODE.word("truncate"),
                " or ",
                setting::MODE.word("replace")
            ]));
        }
        Ok(())
    }
}

impl Load<'_> {
    /// The existing table that rows go to or take the place of, by the mode, and its triggers that do not fire for them.
    ///
    /// # Errors
    /// A usage error: the mode needs a table that is not there, or none where one is; an option is for new tables.
    pub(in crate::load) async fn existing(
        &self,
        connection: &Connection,
        name: &TableName,
        session: &SessionSettings,
    ) -> Result<(Option<Table>, Option<DisabledTriggers>), Error> {
        let mut found = Table::lookup(connection, name, &session.rules).await?;
        self.check_existing(connection, name, found.as_ref()).await?;
        self.check_evolving(found.as_ref())?;
        let triggers = self.without_triggers(connection, found.as_mut()).await?;
        Ok((found, triggers))
    }

    /// Whether the mode and the options suit the table that was `found`.
    async fn check_existing(
        &self,
        connection: &Connection,
        name: &TableName,
        found: Option<&Table>,
    ) -> Result<(), Error> {
        let options = self.options;
        // Of several that make a table at once, one would have to wait for the types that another finds.
        let mode = if options.target.share { Mode::Append } else { options.target.mode };
        let used = Use::of(mode, found.is_some());
        let Some(table) = found else {
            let lacks_typed = used == Use::Make && options.writing.write_path == WritePath::Landing;
            return if used == Use::Missing || lacks_typed { Err(missing(name, options)) } else { Ok(()) };
        };
        let lands = options.writing.write_path == WritePath::Landing;
        if !options.target.key.is_empty() && !mode.matches_rows() && (used != Use::Exchange || lands) {
            return Err(only_for_new(message![setting::KEY], table)
                .with_hint(key_an_existing(table, &options.target.key)));
        }
        if used == Use::InTheWay {
            return Err(in_the_way(table));
        }
        if options.target.column_compression != ColumnCompression::Auto {
            let alter = format!("ALTER TABLE {} ALTER COLUMN … SET COMPRESSION …", table.display());
            return Err(only_for_new(message![setting::COLUMN_COMPRESSION], table)
                .with_hint(format!("{alter} changes how values that come are compressed")));
        }
        used.check(table, options)?;
        // Of a shared load the rows may be its own: its ledger says which are in.
        let may_say = used == Use::Add && !options.target.share;
        if may_say && table.holds_rows(connection).await? == Some(true) {
            let again = self.inputs.iter().any(Input::is_rejects) && !table.hazards.keys;
            let again = if again {
                ", a second time if this reject file was loaded before: no key refuses them"
            } else {
                ""
            };
            self.control
                .notice(format!("{} holds rows already; the new ones are added{again}", table.display()));
        }
        Ok(())
    }
}

/// What to type so that a table that exists gets a key.
fn key_an_existing(table: &Table, key: &[String]) -> Message {
    let columns: Vec<String> = key.iter().map(|name| name::display(name)).collect();
    message![
        format!(
            "ALTER TABLE {} ADD PRIMARY KEY ({}) gives it one, the load then needs none; ",
            table.display(),
            columns.join(", ")
        ),
        setting::MODE.word("replace"),
        " makes the table anew with the key, and with the rows of this load alone"
    ]
}

fn only_for_new(option: Message, table: &Table) -> Error {
    Error::usage(message![option, " is for new tables, and ", table.display(), " exists"])
}

fn in_the_way(table: &Table) -> Error {
    Error::usage(format!("table {} exists already", table.display())).with_sqlstate("42P07").with_hint(
        message![
            setting::MODE.word("append"),
            " adds to it, replace exchanges its rows, truncate empties it first"
        ],
    )
}

/// There is no table `name`, and what makes one.
fn missing(name: &TableName, options: &LoadOptions) -> Error {
    let mode = options.target.mode;
    let hint = if mode.matches_rows() {
        message![
            setting::MODE.word(mode.name()),
            " needs rows to match; ",
            setting::MODE.word("create"),
            " makes the table"
        ]
    } else if options.writing.write_path == WritePath::Landing {
        message![
            "landed rows are promoted into a typed table: make it first; a load with another ",
            setting::WRITE_PATH,
            " makes one, and ",
            setting::DRY_RUN,
            " shows its script"
        ]
    } else if options.target.share {
        message![
            "a shared load adds to a table that is there: make it first; ",
            setting::DRY_RUN,
            " without ",
            setting::SHARE,
            " shows its script"
        ]
    } else {
        message![setting::MODE.word("create_append"), " (the default) makes it"]
    };
    Error::no_relation("table", name).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::table::Hazards;

    #[test]
    fn each_mode_has_one_use_for_a_table_that_is_there_and_one_for_none() {
        for (mode, there, not_there) in [
            (Mode::Append, Use::Add, Use::Missing),
            (Mode::Create, Use::InTheWay, Use::Make),
            (Mode::CreateAppend, Use::Add, Use::Make),
            (Mode::Replace, Use::Exchange, Use::Make),
            (Mode::Truncate, Use::Empty, Use::Missing),
            (Mode::Upsert, Use::Match, Use::Missing),
            (Mode::Ignore, Use::Match, Use::Missing),
            (Mode::Update, Use::Match, Use::Missing),
            (Mode::Delete, Use::Match, Use::Missing),
        ] {
            assert_eq!((Use::of(mode, true), Use::of(mode, false)), (there, not_there), "{mode:?}");
        }
    }

    #[test]
    fn options_for_new_tables_are_refused_where_rows_stay_and_nowhere_else() {
        let table = Table::with_hazards(Hazards::default());
        let unlogged = LoadOptions::default().unlogged(Unlogged::Yes);
        let landing = unlogged.clone().write_path(WritePath::Landing);
        let freeze = LoadOptions::default().freeze(true);
        for (used, refuses_unlogged, refuses_landing, refuses_freeze) in [
            (Use::Add, true, false, true),
            (Use::Match, true, false, true),
            (Use::Empty, true, true, false),
            (Use::Exchange, false, false, false),
        ] {
            let refuses = |options| used.check(&table, options).is_err();
            assert_eq!(
                (refuses(&unlogged), refuses(&landing), refuses(&freeze)),
                (refuses_unlogged, refuses_landing, refuses_freeze),
                "{used:?}"
            );
            assert!(!refuses(&LoadOptions::default()), "{used:?}");
        }
    }
}
