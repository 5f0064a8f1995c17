"""What could refuse a job only when all its tasks have run, asked when it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howdah._cluster import _refusals, _sql

if TYPE_CHECKING:
    from howdah._cluster._job import Job


def may_replace(job: Job) -> str:
    """Refuse to replace what others own, what others depend on, or what is more than one table."""
    table = _table(job)
    uses = f"""SELECT 'the view ' || r.ev_class::regclass FROM pg_catalog.pg_depend AS d
    JOIN pg_catalog.pg_rewrite AS r ON r.oid = d.objid
    WHERE d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass
        AND d.refobjid = {table} AND r.ev_class <> d.refobjid
UNION ALL {_foreign_keys(table)}
UNION ALL {_others(table)}
UNION ALL SELECT 'its place among other tables' FROM pg_catalog.pg_inherits AS i
    WHERE {table} IN (i.inhrelid, i.inhparent)
UNION ALL SELECT 'that it is no ordinary table' FROM pg_catalog.pg_class AS k
    WHERE k.oid = {table} AND k.relkind <> 'r'
LIMIT 1"""
    owns = f"""EXISTS (SELECT FROM pg_catalog.pg_class AS k WHERE k.oid = {table}
    AND pg_catalog.pg_has_role(k.relowner, 'USAGE'))"""
    return _sql.block(
        "obstacle text;",
        f"""IF NOT {owns} THEN {_denied(f"must be owner of {job.name} to replace it")} END IF;
{_unless_used(job, uses, "replaced", _refusals.IN_USE)}""",
    )


def may_truncate(job: Job) -> str:
    """Refuse to truncate without the right to, or what a foreign key of another table needs."""
    table = _table(job)
    may = f"pg_catalog.has_table_privilege({table}, 'TRUNCATE')"
    return _sql.block(
        "obstacle text;",
        f"""IF NOT {may} THEN {_denied(f"permission denied to truncate {job.name}")} END IF;
{_unless_used(job, f"{_foreign_keys(table)} LIMIT 1", "truncated", _refusals.REFERENCED)}""",
    )


def has_key(job: Job) -> str:
    """Refuse a key that a new table would get, and this one does not have."""
    key = f"ARRAY[{', '.join(map(_sql.literal, sorted(job.key)))}]"
    columns = """SELECT array_agg(a.attname::text ORDER BY a.attname) FROM pg_catalog.pg_attribute AS a
    WHERE a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])"""
    is_there = f"""EXISTS (SELECT FROM pg_catalog.pg_index AS i WHERE i.indrelid = {_table(job)}
    AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
    AND ({columns}) = {key})"""
    told = _sql.literal(f"{job.name} exists, and {', '.join(job.key)} is no key of it")
    return _sql.block("", f"IF NOT {is_there} THEN {_sql.refusal(_refusals.NO_KEY, told)} END IF;")


def _table(job: Job) -> str:
    return f"pg_catalog.to_regclass({_sql.literal(job.table)})"


def _foreign_keys(table: str) -> str:
    return f"""SELECT 'the foreign key ' || c.conname || ' of ' || c.conrelid::regclass
    FROM pg_catalog.pg_constraint AS c WHERE c.confrelid = {table}
        AND c.conrelid <> c.confrelid AND c.conparentid = 0"""


def _others(table: str) -> str:
    """Give what else keeps a table from being dropped: functions, policies, and uses of its type of rows."""
    of_its_own = "o.deptype IN ('a', 'i') AND o.refclassid = d.refclassid AND o.refobjid = d.refobjid"
    row_types = (
        f"SELECT unnest(ARRAY[y.oid, y.typarray]) FROM pg_catalog.pg_type AS y WHERE y.typrelid = {table}"
    )
    return f"""SELECT 'the ' || pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid)
    FROM pg_catalog.pg_depend AS d WHERE d.deptype = 'n' AND CASE d.refclassid
        WHEN 'pg_catalog.pg_class'::regclass THEN d.refobjid = {table}
            AND d.classid IN ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_policy'::regclass)
        WHEN 'pg_catalog.pg_type'::regclass THEN d.refobjid IN ({row_types})
        ELSE false END
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend AS o
        WHERE o.classid = d.classid AND o.objid = d.objid AND {of_its_own})"""


def _denied(message: str) -> str:
    return _sql.refusal("42501", _sql.literal(message))


def _unless_used(job: Job, uses: str, done: str, code: str) -> str:
    told = _sql.literal(f"{job.name} cannot be {done}: ")
    refused = _sql.refusal(code, f"{told} || obstacle || ' stands in the way'")
    return f"""SELECT u.what INTO obstacle FROM ({uses}) AS u (what);
IF obstacle IS NOT NULL THEN {refused} END IF;"""
