//! What options say of the table that is there beyond its rows: where another takes its place, types and key can be otherwise.

use howdah_message::setting;

use crate::catalog::name;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::load::{Circumstances, Load};
use crate::options::{ColumnNames, Mode};
use crate::plan::columns::find_column;
use crate::plan::declared::{self, Standing};
use crate::publish::replace::redefinition::Redefinition;

impl Load<'_> {
    /// Makes of `table`, which exists, what it is when the rows are there; what is otherwise by then.
    ///
    /// # Errors
    /// A usage error: a type or the key names no column; a type that a table that stays has otherwise.
    pub(super) async fn redefine(
        &self,
        found: Circumstances<'_>,
        table: &mut Table,
    ) -> Result<Redefinition, Error> {
        let options = self.options;
        let replaces = options.target.mode == Mode::Replace;
        let standing = if replaces { Standing::Replaced } else { Standing::Kept };
        let (types, rules) = (&options.columns.types, &found.session.rules);
        let types = declared::apply(found.connection, table, standing, types, rules).await?;
        let key = if replaces { key(table, &options.target.key)? } else { Vec::new() };
        for column in table.columns.iter_mut().filter(|column| key.contains(&column.name)) {
            column.not_null = true;
        }
        table.can_refuse_rows |= !key.is_empty();
        Ok(Redefinition { types, key, added: None })
    }
}

/// The columns as the table calls them.
fn key(table: &Table, named: &[String]) -> Result<Vec<String>, Error> {
    let column = |named: &String| match find_column(table, named, ColumnNames::Keep) {
        Some(column) => Ok(column.name.clone()),
        None => {
            let names: Vec<String> = table.columns.iter().map(|column| name::display(&column.name)).collect();
            let stranger =
                message![setting::KEY, " names {named:?}, which ", table.display(), " does not have"];
            Err(Error::usage(stranger).with_detail(format!("its columns: {}", names.join(", "))))
        }
    };
    named.iter().map(column).collect()
}
