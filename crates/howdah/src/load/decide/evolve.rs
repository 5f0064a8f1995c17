//! Columns that the input has and the table has not: whether the table can get them, and of which types they are.

use howdah_connect::Connection;
use howdah_message::setting;
use howdah_source::{Input, MorselSource};
use tokio_postgres::types::Type;

use super::arrow::created_types;
use super::new_table::{TypesFrom, text_column};
use super::rules;
use super::straight::{detour, refused};
use crate::catalog::name;
use crate::catalog::table::{self, RelationKind, Table};
use crate::error::{Error, ErrorKind};
use crate::load::{Circumstances, Load};
use crate::options::Mode;
use crate::plan::declared::{self, Standing};
use crate::publish::added_columns::AddedColumns;
use crate::publish::creation::Compression;

/// Table `$1` and the partitions and tables that get its columns too: names, owner, whether the role has the owner's rights,
/// and what keeps columns from being added.
const FAMILY: &str = "
    with recursive family(oid) as (
        select $1::oid
         union select i.inhrelid from pg_catalog.pg_inherits i join family f on i.inhparent = f.oid)
    select n.nspname::text, c.relname::text, pg_catalog.pg_get_userbyid(c.relowner)::text,
           pg_catalog.pg_has_role(c.relowner, 'usage'),
           case when c.relkind = 'f' then 'is a foreign table'
                when c.oid = $1 and c.relispartition then 'is a partition, whose columns are those of the whole table'
                when c.oid = $1 and c.reloftype <> 0 then 'has the columns of its type' end
      from family join pg_catalog.pg_class c using (oid) join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     order by c.oid <> $1, 1, 2";

impl Load<'_> {
    /// Refuses to evolve where no column could ever be added.
    ///
    /// # Errors
    /// A usage error that says why.
    pub(super) fn check_evolving(&self, table: Option<&Table>) -> Result<(), Error> {
        let (target, path) = (&self.options.target, self.options.writing.write_path);
        let mode = setting::MODE.word(target.mode.name());
        let why = match target.mode {
            _ if !target.evolve => None,
            Mode::Create => Some(message![mode, " makes a new table, with all columns of the input"]),
            Mode::Delete => Some(message![mode, " looks at the columns of the key and at nothing else"]),
            _ => table.and_then(|_| detour(path)),
        };
        why.map_or(Ok(()), |why| Err(refused("columns cannot be added", why, setting::EVOLVE)))
    }

    /// Gives `table` the columns that the mapping says it is to get, with the types that a new table's would have; the whole
    /// input may be read for that. `None`: it has all. Nothing is changed in the database yet.
    ///
    /// # Errors
    /// A usage error: the relation gets no columns, or their types cannot be known; it is not the role's; the server's.
    pub(in crate::load) async fn evolve(
        &mut self,
        table: Option<&mut Table>,
        found: Circumstances<'_>,
        morsels: &MorselSource,
    ) -> Result<Option<AddedColumns>, Error> {
        let names = &found.mapping.added;
        let Some(table) = table.filter(|_| !names.is_empty()) else { return Ok(None) };
        if table.kind == RelationKind::View {
            return Err(cannot_be_added(table, "it is a view"));
        }
        self.check_key_of(table, names)?;
        let mut mapping = found.mapping.clone();
        mapping.pairs.retain(|pair| names.contains(&pair.target));
        let found = Circumstances { mapping: &mapping, ..found };
        let (new, compression) = self.typed(table, found, morsels).await?;
        let added = AddedColumns::new(&new.columns, compression.as_ref());
        self.check_family(found.connection, table, &added).await?;
        table.columns.extend(new.columns);
        table.can_refuse_rows |= new.can_refuse_rows || table.columns.len() > table::WIDE;
        let (name, sql) = (table.display(), added.sql(&table.sql()));
        let others = match self.options.target.mode {
            Mode::Replace => String::new(),
            _ => format!("; from then until the load commits, nobody else reads {name} or writes to it"),
        };
        self.control.notice(format!("{name} gets columns that the input has: {sql}{others}"));
        Ok(Some(added))
    }

    /// Refuses a key that has columns which no row has a value in.
    fn check_key_of(&self, table: &Table, names: &[String]) -> Result<(), Error> {
        let target = &self.options.target;
        let is_new = |key: &&String| names.iter().any(|name| name.to_lowercase() == key.to_lowercase());
        match target.key.iter().find(is_new).filter(|_| target.mode.matches_rows()) {
            None => Ok(()),
            Some(key) => Err(Error::usage(message![
                setting::KEY,
                " names {key:?}, which ",
                table.display(),
                " does not have yet: no row can be found by it"
            ])),
        }
    }

    /// The columns of the mapping as a table of their own, and how they are compressed.
    async fn typed(
        &mut self,
        table: &Table,
        found: Circumstances<'_>,
        morsels: &MorselSource,
    ) -> Result<(Table, Option<Compression>), Error> {
        let Circumstances { connection, session, mapping, inputs, .. } = found;
        let options = self.options;
        let columns = mapping.pairs.iter().map(|pair| text_column(pair, false)).collect();
        let mut new = Table { columns, can_refuse_rows: false, ..table.clone() };
        let mut types = declared::of_new_table(options, mapping);
        let is_new =
            |named: &str| mapping.added.iter().any(|name| name.to_lowercase() == named.to_lowercase());
        types.retain(|(named, _)| is_new(named));
        if let MorselSource::Rows(batches) = morsels {
            types.extend(created_types(batches, mapping, &types)?);
        }
        declared::apply(connection, &mut new, Standing::New, &types, &session.rules).await?;
        let mut wide = Vec::new();
        let open: Vec<&str> =
            new.columns.iter().filter(|column| !column.is_declared).map(|column| &*column.name).collect();
        if !open.is_empty() {
            if !matches!(morsels, MorselSource::Text(_)) {
                return Err(unknown_types(&open, "binary COPY does not say them"));
            }
            if !inputs.iter().all(Input::is_rewindable) {
                return Err(unknown_types(&open, "those of a stream are known only at its end"));
            }
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let threads = options.writing.jobs.unwrap_or(cores).clamp(1, cores);
            let rules = rules(options, found, TypesFrom::Values, None, None);
            wide = self.infer(&mut new, found, &rules, threads).await?.wide;
        }
        let compression = self.compression(found, &new, &wide).await?;
        Ok((new, compression))
    }

    /// Whether the role may give `table`, and what gets its columns too, the columns that are `added`.
    async fn check_family(
        &self,
        connection: &Connection,
        table: &Table,
        added: &AddedColumns,
    ) -> Result<(), Error> {
        let rows = connection.client().query_typed(FAMILY, &[(&table.oid, Type::OID)]).await?;
        // SQL that runs before the first row may take another role.
        let may_change = !self.options.target.before.is_empty();
        for row in &rows {
            let relation = format!("{}.{}", name::display(row.get(0)), name::display(row.get(1)));
            let it = if relation == table.display() { "it" } else { &relation };
            if let Some(why) = row.get::<_, Option<&str>>(4) {
                return Err(cannot_be_added(table, &format!("{it} {why}")));
            }
            if !row.get::<_, bool>(3) && !may_change {
                let owner = name::display(row.get(2));
                let message =
                    format!("columns cannot be added to {}: {it} belongs to {owner}", table.display());
                return Err(Error::new(ErrorKind::Server, message).with_sqlstate("42501").with_hint(
                    message![
                        format!("{owner} can add them: {}; ", added.sql(&table.sql())),
                        setting::SKIP_COLUMNS.placeholder("NAME"),
                        " leaves a column out"
                    ],
                ));
            }
        }
        Ok(())
    }
}

fn cannot_be_added(table: &Table, why: &str) -> Error {
    Error::usage(format!("columns cannot be added to {}: {why}", table.display()))
        .with_hint(message![setting::SKIP_COLUMNS.placeholder("NAME"), " leaves a column out"])
}

/// The error of columns whose types are needed before the first row.
fn unknown_types(columns: &[&str], why: &str) -> Error {
    let columns: Vec<String> = columns.iter().map(|name| name::display(name)).collect();
    Error::usage(format!("the types of the columns to add ({}) are not known: {why}", columns.join(", ")))
        .with_hint(message![setting::TYPES.entry("COLUMN", "TYPE"), " says one"])
}
