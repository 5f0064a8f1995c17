//! What belongs to a table: everything that goes when the table goes. It is found by the server's own account of that
//! (`pg_depend`), so that no kind of object is forgotten.

/// The objects as `own (classid, objid)`, for WITH RECURSIVE; `$1` is the table.
pub(super) const OWN: &str = "own (classid, objid) as (
        select 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, $1
        union
        select d.classid, d.objid from pg_catalog.pg_depend as d join own as o on d.refclassid = o.classid and d.refobjid = o.objid
         where d.deptype in ('a', 'i', 'P', 'S')
           -- The sequence of a serial column is kept.
           and not (d.deptype = 'a' and d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
                    and exists(select from pg_catalog.pg_class as s where s.oid = d.objid and s.relkind = 'S')))";

/// The catalogs in which such objects are, as far as they can be made again. What is in another is refused.
pub(super) const CATALOGS: [&str; 9] = [
    "pg_class",
    "pg_type",
    "pg_attrdef",
    "pg_constraint",
    "pg_trigger",
    "pg_rewrite",
    "pg_policy",
    "pg_statistic_ext",
    "pg_publication_rel",
];
