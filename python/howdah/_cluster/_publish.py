"""The statements that make the rows of a stage visible, by mode: all in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howdah._cluster import _ledger, _refusals, _sql, _stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howdah._cluster._job import Epoch, Job, Receipt

# A task that is not counted is told to stop, and is gone by then.
_STRAGGLERS_HAVE = "5s"


def statement(job: Job, receipts: Sequence[Receipt], epoch: Epoch | None = None) -> str:
    """Publish the attempts of these receipts, and no others, once."""
    rows = sum(receipt.rows for receipt in receipts)
    body = once_whole(job, receipts)
    if epoch is None:
        return _ledger.publish(job, rows, body)
    before, after = _stream.unless_published(job, epoch), _stream.published(job, epoch, rows)
    return _ledger.publish(job, rows, body, before, after)


def once_whole(job: Job, receipts: Sequence[Receipt]) -> str:
    """Give the statements for these attempts, which fail where the stage lacks some of their rows."""
    named = _ledger.of_attempts(job, [receipt.attempt for receipt in receipts if receipt.rows])
    rows = sum(receipt.rows for receipt in receipts)
    found = f"FROM {job.stage} WHERE {named}"
    if job.becomes_table:
        return _renaming(job, receipts, named, otherwise=added(job, found, rows))
    if job.spec.mode in {"upsert", "ignore", "update", "delete"}:
        return f"{_counted(found, rows)}\n{_body(job, found)}"
    return added(job, found, rows)


def added(job: Job, found: str, rows: int) -> str:
    """Give the statements for all rows that are found; there must be so many."""
    # Counted only where the table did not get them all: triggers may have dropped some.
    return f"{_body(job, found)}\nIF landed <> {rows} THEN\n{_counted(found, rows)}\nEND IF;"


def unlogged_where_sent(job: Job) -> str:
    """Keep a stage from subscribers, who know no table of its name, if all tables of its schema are sent."""
    stage = f"pg_catalog.to_regclass({_sql.literal(job.stage)})"
    sent = f"""SELECT FROM pg_catalog.pg_publication AS p,
    LATERAL pg_catalog.pg_get_publication_tables(p.pubname) AS t WHERE t.relid = {stage}"""
    return _sql.block("", f"IF EXISTS ({sent}) THEN ALTER TABLE {job.stage} SET UNLOGGED; END IF;")


def _counted(found: str, rows: int) -> str:
    return f"SELECT count(*) INTO staged {found};\n{_whole(rows)}"


def _whole(rows: int) -> str:
    """Refuse to publish a part: a crash of the server empties the stage, which is not logged."""
    message = f"'the stage has ' || staged || ' rows of {rows}'"
    return f"IF staged <> {rows} THEN {_sql.refusal(_refusals.LOST_ROWS, message)} END IF;"


def _body(job: Job, rows: str) -> str:
    """Give the statements; where all rows must land, these say how many did."""
    table, names = job.table, _sql.names(job.targets)
    landed = "\nGET DIAGNOSTICS landed = ROW_COUNT;"
    key = f"\nALTER TABLE {table} ADD PRIMARY KEY ({_sql.names(job.key)});" if job.key else ""
    # As COPY does, it takes what it is given for identity columns.
    unchanged = f"\n{_unchanged(job)}"
    insert = (
        f"INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE SELECT {names} {rows};{landed}{unchanged}"
    )
    create = f"CREATE TABLE {table} AS SELECT {names} {rows};{landed}{key}"
    truncate = f"TRUNCATE {table};\n" if job.spec.mode == "truncate" else ""
    match job.spec.mode:
        case "replace":
            body = f"DROP TABLE IF EXISTS {table};\n{create}"
        case "create":
            body = create
        case "create_append" | "truncate":
            there = f"{truncate}{insert}"
            missing = f"pg_catalog.to_regclass({_sql.literal(table)}) IS NULL"
            body = f"IF {missing} THEN\n{create}\nELSE\n{there}\nEND IF;" if job.is_new else there
        case "upsert" | "ignore":
            body = f"{_conflicting(job, rows)};{unchanged}"
        case "update" | "delete":
            body = f"{_matching(job, rows)}{unchanged}"
        case _:
            body = insert
    return body


def _unchanged(job: Job) -> str:
    """Refuse columns that changed since, whose values SQL would cast and round; the insert locks them."""
    kept = "t.atttypid = s.atttypid AND t.atttypmod = s.atttypmod AND NOT t.attisdropped"
    others = f"""SELECT string_agg(s.attname, ', ') INTO others FROM pg_catalog.pg_attribute AS s
    WHERE s.attrelid = pg_catalog.to_regclass({_sql.literal(job.stage)}) AND s.attnum > 0
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute AS t WHERE t.attname = s.attname AND {kept}
        AND t.attrelid = pg_catalog.to_regclass({_sql.literal(job.table)}));"""
    told = f"{_sql.literal(f'{job.name} has other columns now: ')} || others"
    return f"{others}\nIF others IS NOT NULL THEN {_sql.refusal(_refusals.CHANGED, told)} END IF;"


def _renaming(job: Job, receipts: Sequence[Receipt], named: str, otherwise: str) -> str:
    """Make the stage the table; ``otherwise`` where that is there by now, or an attempt still writes.

    A stage that is logged has the rows of the attempts that are noted, as rows and note are one transaction.
    So it is looked at only where others are noted than those that count, and their rows have to go.
    """
    rows = sum(receipt.rows for receipt in receipts)
    attempts = [receipt.attempt for receipt in receipts if receipt.rows]
    table = _sql.literal(job.table)
    makes = f"pg_catalog.to_regclass({table}) IS NULL" if job.spec.mode != "replace" else "true"
    schema, name = _sql.schema_of(job.table), _sql.last_of(job.table)
    moves = f"{schema}.{_sql.last_of(job.stage)}"
    key = f"ALTER TABLE {job.table} ADD PRIMARY KEY ({_sql.names(job.key)});" if job.key else ""
    drop = f"DROP TABLE IF EXISTS {job.table};" if job.spec.mode == "replace" else ""
    move = f"ALTER TABLE {job.stage} SET SCHEMA {schema};" if job.spec.ledger else ""
    # With a snapshot from before the lock, what a straggler committed meanwhile would not be seen, and stay.
    return f"""patience := pg_catalog.current_setting('lock_timeout');
is_alone := pg_catalog.current_setting('transaction_isolation') = 'read committed' AND EXISTS (
    SELECT FROM pg_catalog.pg_class AS k
    WHERE k.oid = pg_catalog.to_regclass({_sql.literal(job.stage)}) AND k.relpersistence = 'p');
IF is_alone THEN
    BEGIN
        PERFORM pg_catalog.set_config('lock_timeout', '{_STRAGGLERS_HAVE}', true);
        LOCK TABLE {job.stage} IN ACCESS EXCLUSIVE MODE;
    EXCEPTION WHEN lock_not_available THEN
        is_alone := false;
    END;
    PERFORM pg_catalog.set_config('lock_timeout', patience, true);
END IF;
IF is_alone AND NOT ({_ledger.are_all(job, attempts)}) THEN
    SELECT count(*) FILTER (WHERE {named}), count(*) INTO staged, landed FROM {job.stage};
    {_whole(rows)}
    IF landed <> staged THEN DELETE FROM {job.stage} WHERE NOT {named}; END IF;
END IF;
is_alone := is_alone AND {makes};
IF is_alone THEN
    BEGIN
        {drop}
        {move}
        ALTER TABLE {moves} RENAME TO {name};
    EXCEPTION WHEN duplicate_table OR unique_violation THEN
        -- Somebody made it at the same moment.
        is_alone := false;
    END;
END IF;
IF is_alone THEN
    {key}
ELSE
{otherwise}
END IF;"""


def _conflicting(job: Job, rows: str) -> str:
    names, key = _sql.names(job.targets), job.key
    # In the order of the key, so that two jobs do not wait for each other in a circle.
    order = f" ORDER BY {_sql.names(key)}" if key else ""
    on = f" ({_sql.names(key)})" if key else ""
    others = [_sql.name(column) for column in job.targets if column not in key]
    done = "DO NOTHING"
    if job.spec.mode == "upsert" and others:
        done = "DO UPDATE SET " + ", ".join(f"{column} = excluded.{column}" for column in others)
    return (
        f"INSERT INTO {job.table} ({names}) OVERRIDING SYSTEM VALUE"
        f" SELECT {names} {rows}{order} ON CONFLICT{on} {done}"
    )


def _matching(job: Job, rows: str) -> str:
    key = job.key
    source = f"(SELECT {_sql.names(job.targets)} {rows}) AS s"
    matched = " AND ".join(f"t.{column} = s.{column}" for column in map(_sql.name, key))
    if job.spec.mode == "delete":
        return f"DELETE FROM {job.table} AS t USING {source} WHERE {matched};"
    others = [_sql.name(column) for column in job.targets if column not in key]
    values = ", ".join(f"{column} = s.{column}" for column in others)
    twice = f"SELECT FROM {source} GROUP BY {_sql.names(key)} HAVING count(*) > 1"
    refused = _sql.refusal(
        _refusals.TWICE, "'several rows have one key, and nobody says which of them counts'"
    )
    update = f"UPDATE {job.table} AS t SET {values} FROM {source} WHERE {matched};"
    return f"IF EXISTS ({twice}) THEN {refused} END IF;\n{update}"
