//! Whether the indexes of the table are dropped and built again around the rows.

use howdah_connect::Connection;
use howdah_message::{Message, setting};
use tokio_postgres::types::Type;

use crate::catalog::table::Table;
use crate::error::Error;
use crate::facts::IndexUpkeep;
use crate::load::decide::straight::{detour, refused};
use crate::load::{Circumstances, Load};
use crate::options::{Indexes, Mode, OnError, WritePath};
use crate::publish::rebuild::{Needs, Rebuild};

/// Bytes of input below which no load is long enough for its indexes to matter.
const LITTLE: u64 = 1 << 20;

/// Bytes of input from which on somebody who did not ask is told that it would be faster.
const MUCH: u64 = 16 << 20;

/// Bytes of a row in a table that has not been analysed.
const USUAL_ROW: f64 = 80.0;

/// Bytes of a row that are not its values: its header and its pointer.
const ROW_HEADER: f64 = 28.0;

/// The least bytes that a row's values take in an input.
const LEAST_VALUES: f64 = 8.0;

impl Load<'_> {
    /// What is rebuilt of `table`, which exists; `None`: nothing. What stays although it was asked for is said; so is what
    /// nobody asked for and would be much faster.
    ///
    /// # Errors
    /// A usage error: rows do not come in one transaction, or not straight into the table; the server's.
    pub(in crate::load) async fn rebuild(
        &mut self,
        found: Circumstances<'_>,
        table: &Table,
        connections: usize,
    ) -> Result<Option<Rebuild>, Error> {
        let options = self.options;
        let (asked, mode) = (options.writing.indexes, options.target.mode);
        // A replacement's indexes are built after its rows anyway.
        if mode == Mode::Replace {
            return Ok(None);
        }
        let matches =
            mode.matches_rows().then(|| message![setting::MODE.word(mode.name()), " finds rows by them"]);
        let impossible = matches.or_else(|| detour(options.writing.write_path));
        match (asked, impossible) {
            (Indexes::Rebuild, Some(why)) => {
                return Err(refused("indexes cannot be rebuilt", why, setting::INDEXES));
            }
            (Indexes::Auto, Some(why)) => return Ok(self.kept(why)),
            (Indexes::Keep, Some(_)) => return Ok(None),
            (_, None) => {}
        }
        if asked == Indexes::Keep && found.bytes.is_none_or(|bytes| bytes < MUCH) {
            return Ok(None);
        }
        let needs = Needs {
            finds_bad_records: options.tolerance.on_error == OnError::Ignore,
            runs: table.hazards.code.first().copied(),
        };
        let rebuild = Rebuild::read(found.connection, table, mode == Mode::Truncate, &needs).await?;
        if asked != Indexes::Rebuild {
            match (self.weigh(found, table, &rebuild, connections).await?, asked) {
                (Ok(gain), Indexes::Auto) => self
                    .control
                    .notice(format!("indexes are built again: estimated to be {gain:.1} times as fast")),
                (Ok(gain), _) => {
                    self.control.notice(message![
                        setting::INDEXES.word(Indexes::Rebuild.name()),
                        format!(" was estimated to be {gain:.1} times as fast; until the commit "),
                        format!("nobody else could read {}", table.display())
                    ]);
                    return Ok(None);
                }
                (Err(why), Indexes::Auto) => return Ok(self.kept(why)),
                (Err(_), _) => return Ok(None),
            }
        }
        for (name, why) in &rebuild.kept {
            self.control.notice(format!("{name} is not rebuilt: {why}"));
        }
        if rebuild.is_empty() {
            if rebuild.kept.is_empty() {
                self.control.notice(format!("{} has no index that could be rebuilt", table.display()));
            }
            return Ok(None);
        }
        Ok(Some(rebuild))
    }

    /// Says why `auto` keeps the indexes.
    pub(in crate::load) fn say_kept(&self, why: Message) {
        self.control.notice(message!["indexes are kept: ", why]);
    }

    fn kept(&self, why: Message) -> Option<Rebuild> {
        self.say_kept(why);
        None
    }

    /// How many times as fast the load is estimated to be that builds indexes again, or why that is not to be.
    async fn weigh(
        &mut self,
        found: Circumstances<'_>,
        table: &Table,
        rebuild: &Rebuild,
        connections: usize,
    ) -> Result<Result<f64, Message>, Error> {
        let options = self.options;
        if rebuild.is_empty() {
            return Ok(Err(format!("{} has none that could be built again", table.display()).into()));
        }
        if let Some(jobs) = options.writing.jobs.filter(|jobs| *jobs > 1) {
            let asks = setting::JOBS.number(jobs);
            return Ok(Err(message![asks, " asks for more connections than the one that could"]));
        }
        let path = options.writing.write_path;
        if !matches!(path, WritePath::CopyBinary | WritePath::CopyText | WritePath::CopyCsv) {
            return Ok(Err(message![
                "with ",
                setting::WRITE_PATH.word(path.name()),
                " rows take longer than indexes"
            ]));
        }
        let Some(bytes) = found.bytes else {
            return Ok(Err("how many rows come is not known before they are there".into()));
        };
        if bytes < LITTLE {
            return Ok(Err("the input is small".into()));
        }
        let size = Size::of(found.connection, table).await?;
        let row = (size.bytes_of_row - ROW_HEADER).max(LEAST_VALUES);
        let most = options.input.limit.unwrap_or(u64::MAX) as f64;
        let is_emptied = options.target.mode == Mode::Truncate;
        let (indexes, foreign_keys) = rebuild.counts();
        let gain = IndexUpkeep {
            held: if is_emptied { 0.0 } else { size.rows },
            brought: (bytes as f64 / row).min(most),
            keys: rebuild.keys(),
            indexes: indexes - rebuild.keys(),
            staying: size.indexes.saturating_sub(indexes),
            foreign_keys,
            connections,
        }
        .gain();
        self.rebuild_gain = Some(gain);
        Ok(if gain < 1.0 {
            Err(format!("to build them again was estimated to take {:.1} times as long", 1.0 / gain).into())
        } else if gain < IndexUpkeep::WORTH {
            let little = "too little to keep others from the table";
            Err(format!("to build them again was estimated to be {gain:.1} times as fast, {little}").into())
        } else if size.is_used {
            Err(format!("somebody else uses {}", table.display()).into())
        } else if size.is_bounded {
            Err("session_replication_role or temp_file_limit of the session could make the building fail"
                .into())
        } else {
            Ok(gain)
        })
    }
}

/// How large a table is, and whether somebody uses it or a table that it refers to.
struct Size {
    rows: f64,
    bytes_of_row: f64,
    indexes: usize,
    is_used: bool,
    /// Building could fail where rows do not: foreign keys are not looked at while rows come, or files are limited.
    is_bounded: bool,
}

impl Size {
    /// As the last ANALYZE or VACUUM saw it, and as large as it is now.
    async fn of(connection: &Connection, table: &Table) -> Result<Size, Error> {
        let sql = "select c.reltuples::float8, c.relpages::float8,
                          pg_catalog.pg_relation_size(c.oid)::float8,
                          pg_catalog.current_setting('block_size')::float8,
                          (select count(*) from pg_catalog.pg_index i where i.indrelid = c.oid and i.indisready),
                          exists (select from pg_catalog.pg_locks l
                                   where l.relation in
                                             (select c.oid
                                               union all select indexrelid from pg_catalog.pg_index where indrelid = c.oid
                                               union all select confrelid from pg_catalog.pg_constraint
                                                          where conrelid = c.oid and contype = 'f')
                                     and l.pid <> pg_catalog.pg_backend_pid()
                                     and l.database = (select oid from pg_catalog.pg_database
                                                        where datname = pg_catalog.current_database())),
                          pg_catalog.current_setting('session_replication_role') = 'replica'
                              or pg_catalog.current_setting('temp_file_limit') <> '-1'
                     from pg_catalog.pg_class c where c.oid = $1";
        let row = connection.client().query_typed_one(sql, &[(&table.oid, Type::OID)]).await?;
        let [analysed_rows, analysed_pages, bytes, page]: [f64; 4] =
            std::array::from_fn(|column| row.get::<_, f64>(column));
        let bytes_of_row = if analysed_rows > 0.0 && analysed_pages > 0.0 {
            analysed_pages * page / analysed_rows
        } else {
            USUAL_ROW
        };
        Ok(Size {
            rows: bytes / bytes_of_row,
            bytes_of_row,
            indexes: usize::try_from(row.get::<_, i64>(4)).unwrap_or(0),
            is_used: row.get(5),
            is_bounded: row.get(6),
        })
    }
}
