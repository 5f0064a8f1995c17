//! The SQL by which a database remembers its migrations: one text for the command and for the runners of all languages.
//!
//! What is changed here changes for all of them, and [`FORMAT`] with it. `{relation}` stands for the table, `{sqg}` for SQG's.
//! Each parameter stands once and in order, since not every driver has numbers for them.

/// The number of the table's format, in each row.
pub const FORMAT: i32 = 1;

/// What the name of a project's lock begins with.
pub(crate) const LOCK: &str = "howdah migrations ";

/// The key of a lock's name.
pub(crate) const KEY: &str = "select pg_catalog.hashtextextended($1::text, 0)";

/// What is read behind the lock is what its last holder left.
pub(crate) const ISOLATION: &str = "ISOLATION LEVEL READ COMMITTED READ WRITE";

/// Takes the lock for a transaction, if it is free. Nobody waits for it: a transaction that waits would hold up the CREATE INDEX
/// CONCURRENTLY of the one that has it, for ever.
pub(crate) const TRY_LOCK: &str = "select pg_catalog.pg_try_advisory_xact_lock($1::int8)";

/// Holds the lock beyond the transaction that has it.
pub(crate) const KEEP_LOCK: &str = "select pg_catalog.pg_advisory_lock($1::int8) is not null";

/// Lets go of a lock that was kept.
pub(crate) const LET_GO: &str = "select pg_catalog.pg_advisory_unlock($1::int8)";

/// Where the tables are: the schema of ours, of one that is made now, and the name of SQG's.
pub(crate) const FIND: &str = "\
select (select pg_catalog.quote_ident(n.nspname) from pg_catalog.pg_class c
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where c.oid = pg_catalog.to_regclass('howdah_migrations')),
    pg_catalog.quote_ident(pg_catalog.current_schema()),
    pg_catalog.to_regclass('_sqg_migrations')::text";

/// Two projects may make the table at the same time.
pub(crate) const MAKING: &str =
    "select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('howdah migrations', 0)) is null";

/// Makes the table.
pub(crate) const CREATE: &str = "\
create table if not exists {relation} (
    project text not null,
    id text not null,
    position int4 not null,
    checksum text not null,
    state text not null check (state in ('started', 'done')),
    applied_at timestamptz not null,
    applied_by text not null,
    duration_ms int8,
    format int4 not null,
    primary key (project, id))";

/// The newest format of a row.
pub(crate) const NEWEST: &str = "select coalesce(max(format), 0) from {relation}";

/// The columns of a history.
macro_rules! columns {
    () => {
        "id, position, checksum, state = 'done',
    pg_catalog.to_char(applied_at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), applied_by, duration_ms"
    };
}

/// SQG's rows of a project in our columns, with the checksums of today's steps.
macro_rules! of_sqg {
    () => {
        "(
    with steps as (
        select * from unnest($1::text[], $2::text[]) with ordinality as s (id, checksum, position))
    select m.project, m.migration_id as id,
        coalesce(s.position, (select count(*) from steps) + row_number() over (
            partition by s.position is null order by m.applied_at, m.migration_id))::int4 as position,
        coalesce(s.checksum, '') as checksum, 'done' as state, m.applied_at::timestamptz as applied_at,
        'sqg' as applied_by, null::int8 as duration_ms
    from {sqg} m left join steps s on s.id = m.migration_id
    where m.project = $3::text) as q"
    };
}

/// What is remembered of a project.
pub(crate) const HISTORY: &str =
    concat!("select ", columns!(), " from {relation} where project = $1::text order by position, id");

/// What SQG remembers of a project.
pub(crate) const HISTORY_OF_SQG: &str =
    concat!("select ", columns!(), " from ", of_sqg!(), " order by position");

/// Takes over what SQG remembers of a project.
pub(crate) const ADOPT: &str = concat!(
    "insert into {relation} (project, id, position, checksum, state, applied_at, applied_by, duration_ms, format)
select q.*, 1 from ",
    of_sqg!()
);

/// Remembers a step: `started`, or `done` in a time.
pub(crate) const RECORD: &str = "\
insert into {relation} (project, id, position, checksum, state, duration_ms, applied_at, applied_by, format)
values ($1::text, $2::text, $3::int4, $4::text, $5::text, $6::int8, pg_catalog.clock_timestamp(), session_user, 1)
on conflict (project, id) do update set position = excluded.position, checksum = excluded.checksum,
    state = excluded.state, duration_ms = excluded.duration_ms, applied_at = excluded.applied_at,
    applied_by = excluded.applied_by, format = excluded.format";

/// What statements of a step may not change for the steps behind it.
pub(crate) const REMEMBER: &str =
    "select pg_catalog.current_setting('role'), pg_catalog.current_setting('search_path')";

/// Puts it back.
pub(crate) const RESTORE: &str = "\
select pg_catalog.set_config('role', $1::text, false), pg_catalog.set_config('search_path', $2::text, false)";
