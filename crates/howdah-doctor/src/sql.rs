//! Names and values in statements. They come from catalogs, or from a file of a stranger, so each is quoted here.

use howdah::facts::{CheckFacts, ForeignKeyFacts, IndexFacts, SettingFacts, TableFacts};
use howdah::message::is_hidden;
use howdah::name::{display, quote, quote_literal};

use crate::undo::Undo;

/// Words that SQL does not take for a name.
const RESERVED: &str = " all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate \
    collation column concurrently constraint create cross current_catalog current_date current_role current_schema current_time \
    current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze from full \
    grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit localtime \
    localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references returning right \
    select session_user similar some symmetric system_user table tablesample then to trailing true union unique user using \
    variadic verbose when where window with ";

/// Text between marks, in SQL's form with escapes: `U&"a\+00000Ab"`. A report shows what cannot be seen as an escape, which
/// within plain marks would be another text for SQL.
fn escaped(text: &str, mark: char) -> String {
    let mut out = format!("U&{mark}");
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            c if c == mark => out.extend([c, c]),
            c if is_hidden(c) => out.push_str(&format!("\\+{:06X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push(mark);
    out
}

/// A constraint of rows, for people: one that is not valid may be a NOT NULL.
pub(crate) fn check(check: &CheckFacts) -> String {
    let kind = if check.is_not_valid { "constraint" } else { "CHECK" };
    format!("{kind} {}", name(&check.name))
}

/// A name, quoted where SQL needs it.
pub(crate) fn name(name: &str) -> String {
    if name.contains(is_hidden) {
        return escaped(name, '"');
    }
    if RESERVED.contains(&format!(" {name} ")) { quote(name) } else { display(name) }
}

/// Names in a list.
pub(crate) fn names(list: &[String]) -> String {
    list.iter().map(|each| name(each)).collect::<Vec<_>>().join(", ")
}

/// A name with its schema.
pub(crate) fn qualified(schema: &str, within: &str) -> String {
    format!("{}.{}", name(schema), name(within))
}

/// The table.
pub(crate) fn table(table: &TableFacts) -> String {
    qualified(&table.schema, &table.name)
}

/// A string.
pub(crate) fn literal(text: &str) -> String {
    if text.contains(is_hidden) {
        return escaped(text, '\'');
    }
    quote_literal(text).trim_start().to_owned()
}

/// A relation's name as a string that casts to regclass, which knows no escapes in names: they are the string's.
pub(crate) fn relation(schema: &str, within: &str) -> String {
    let quoted = |text: &str| if text.contains(is_hidden) { quote(text) } else { name(text) };
    literal(&format!("{}.{}", quoted(schema), quoted(within)))
}

/// A setting's value, with its unit.
pub(crate) fn value(setting: &SettingFacts) -> String {
    let unit = setting.unit.as_deref().unwrap_or_default();
    match (unit, setting.number()) {
        // Not a unit that can be written.
        ("8kB", Some(pages)) => literal(&format!("{}kB", pages * 8.0)),
        // -1 and 0 stand for something else than an amount.
        (_, Some(number)) if number <= 0.0 => literal(&setting.value),
        _ => literal(&format!("{}{unit}", setting.value)),
    }
}

/// The statement that makes a foreign key again, without a look at the rows that are there.
pub(crate) fn foreign_key(key: &ForeignKeyFacts) -> String {
    let act = |letter: &str| match letter {
        "r" => Some("RESTRICT"),
        "c" => Some("CASCADE"),
        "n" => Some("SET NULL"),
        "d" => Some("SET DEFAULT"),
        _ => None,
    };
    let mut tail = String::new();
    if key.r#match == "f" {
        tail.push_str(" MATCH FULL");
    }
    if let Some(act) = act(&key.on_delete) {
        tail.push_str(&format!(" ON DELETE {act}"));
    }
    if let Some(act) = act(&key.on_update) {
        tail.push_str(&format!(" ON UPDATE {act}"));
    }
    if key.is_deferrable {
        tail.push_str(if key.is_deferred { " DEFERRABLE INITIALLY DEFERRED" } else { " DEFERRABLE" });
    }
    format!(
        "ALTER TABLE {} ADD CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} ({}){tail} NOT VALID;",
        qualified(&key.schema, &key.table),
        name(&key.name),
        names(&key.columns),
        qualified(&key.parent_schema, &key.parent),
        names(&key.parent_columns),
    )
}

/// What keeps nobody from writing meanwhile, which indexes of partitioned tables cannot have.
pub(crate) fn concurrently(of: &TableFacts) -> &'static str {
    if of.kind == "p" { "" } else { "CONCURRENTLY " }
}

/// How an index is made again. Its definition can hold literals: where there is more to it than columns, the server is asked.
pub(crate) fn index_again(of: &TableFacts, index: &IndexFacts) -> Undo {
    let columns: Option<Vec<String>> = index.columns.iter().cloned().collect();
    match columns {
        Some(columns) if index.is_plain => Undo::sql(format!(
            "CREATE INDEX {}{} ON {} USING {} ({});",
            concurrently(of),
            name(&index.name),
            table(of),
            name(&index.method),
            names(&columns)
        )),
        _ => Undo::Printed(printed_index(index)),
    }
}

/// The query that prints what makes an index again, with its tablespace, the statistics of its expressions and its comment.
fn printed_index(index: &IndexFacts) -> String {
    let named = qualified(&index.schema, &index.name);
    let oid = format!("{}::regclass", relation(&index.schema, &index.name));
    if !index.has_more {
        return format!("SELECT pg_get_indexdef({oid}) || ';';");
    }
    let [tablespace, column, comment] = [
        literal(&format!(" ALTER INDEX {named} SET TABLESPACE ")),
        literal(&format!(" ALTER INDEX {named} ALTER COLUMN ")),
        literal(&format!(" COMMENT ON INDEX {named} IS ")),
    ];
    format!(
        "SELECT pg_get_indexdef({oid}) || ';' \
         || coalesce({tablespace} || (SELECT quote_ident(spcname) FROM pg_tablespace t JOIN pg_class c ON c.reltablespace = t.oid \
         WHERE c.oid = {oid}) || ';', '') \
         || coalesce((SELECT string_agg({column} || attnum || ' SET STATISTICS ' || attstattarget || ';', '' ORDER BY attnum) \
         FROM pg_attribute WHERE attrelid = {oid} AND attstattarget >= 0), '') \
         || coalesce({comment} || quote_literal(obj_description({oid}, 'pg_class')) || ';', '');"
    )
}

/// How the trigger of a partitioned table is switched on again, there and in each partition as it was, by what the server is
/// asked.
pub(crate) fn triggers_again(of: &TableFacts, trigger: &str) -> Undo {
    Undo::Printed(format!(
        "SELECT string_agg(format('ALTER TABLE ONLY %s %s TRIGGER %I;', t.tgrelid::regclass, CASE t.tgenabled WHEN 'O' THEN \
         'ENABLE' WHEN 'A' THEN 'ENABLE ALWAYS' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'DISABLE' END, t.tgname), ' ') FROM \
         pg_trigger t JOIN pg_partition_tree({}::regclass) p ON p.relid = t.tgrelid WHERE t.tgname = {};",
        relation(&of.schema, &of.name),
        literal(trigger),
    ))
}

/// How a constraint is made again, by what the server is asked. Where rows are to be `validated`, that is a statement of its own,
/// during which others can write.
pub(crate) fn constraint_again(of: &TableFacts, constraint: &str, validated: bool) -> Undo {
    let (on, constraint_name) = (table(of), name(constraint));
    let tail = match validated {
        true => format!(" NOT VALID; ALTER TABLE {on} VALIDATE CONSTRAINT {constraint_name};"),
        false => ";".to_owned(),
    };
    Undo::Printed(format!(
        "SELECT {} || pg_get_constraintdef(oid) || {} FROM pg_constraint WHERE conrelid = {}::regclass AND conname = {};",
        literal(&format!("ALTER TABLE {on} ADD CONSTRAINT {constraint_name} ")),
        literal(&tail),
        relation(&of.schema, &of.name),
        literal(constraint),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_of_a_stranger_stay_names_and_values() {
        assert_eq!(name("events"), "events");
        assert_eq!(name("order"), "\"order\"");
        assert_eq!(name("x\"; DROP TABLE t; --"), "\"x\"\"; DROP TABLE t; --\"");
        assert_eq!(qualified("a.b", "Ü"), "\"a.b\".\"Ü\"");
        assert_eq!(literal("it's"), "'it''s'");
        // What a report would show as an escape is one that SQL reads as the same name.
        assert_eq!(name("x\ny\\\"\u{202e}"), "U&\"x\\+00000Ay\\\\\"\"\\+00202E\"");
        assert_eq!(literal("a'\u{1b}"), "U&'a''\\+00001B'");
        assert_eq!(relation("public", "x'\n"), "U&'public.\"x''\\+00000A\"'");
        let setting = |value: &str, unit: &str| SettingFacts {
            value: value.into(),
            unit: Some(unit.into()),
            ..SettingFacts::default()
        };
        assert_eq!(value(&setting("600000", "ms")), "'600000ms'");
        assert_eq!(value(&setting("16384", "8kB")), "'131072kB'");
        assert_eq!(value(&setting("-1", "kB")), "'-1'");
        assert_eq!(value(&setting("'; DROP", "")), "'''; DROP'");
    }

    #[test]
    fn a_foreign_key_is_made_again_as_it_was() {
        let key = ForeignKeyFacts {
            name: "k".into(),
            schema: "public".into(),
            table: "t".into(),
            columns: vec!["a".into(), "b".into()],
            parent_schema: "s".into(),
            parent: "p".into(),
            parent_columns: vec!["x".into(), "y".into()],
            on_delete: "c".into(),
            on_update: "a".into(),
            r#match: "f".into(),
            is_deferrable: true,
            is_deferred: true,
            ..ForeignKeyFacts::default()
        };
        assert_eq!(
            foreign_key(&key),
            "ALTER TABLE public.t ADD CONSTRAINT k FOREIGN KEY (a, b) REFERENCES s.p (x, y) MATCH FULL \
             ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED NOT VALID;"
        );
    }
}
