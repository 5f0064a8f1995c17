//! Which way a row goes: rows of one key go one way, one batch after the other, so that the last one written is the last in
//! the table.

use std::hash::{DefaultHasher, Hasher};

use howdah_connect::Connection;
use howdah_encode::binary_row::BinaryRow;
use tokio_postgres::types::Type;

use crate::catalog::table::Table;
use crate::error::Error;
use crate::rows::{OpenField, RowShape};

/// Types of which two values are the same where their bytes are, in binary.
const SAME_BY_BYTES: [Type; 18] = [
    Type::BOOL,
    Type::BYTEA,
    Type::CHAR,
    Type::NAME,
    Type::INT2,
    Type::INT4,
    Type::INT8,
    Type::OID,
    Type::TEXT,
    Type::VARCHAR,
    Type::UUID,
    Type::DATE,
    Type::TIME,
    Type::TIMESTAMP,
    Type::TIMESTAMPTZ,
    Type::MONEY,
    Type::MACADDR,
    Type::MACADDR8,
];

/// The lanes of a writer: each has one batch under way at the most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lanes {
    count: usize,
    /// The columns of the key that tell rows apart by their bytes, by their places in a row.
    key: Vec<usize>,
}

/// Where a row belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Number(usize),
    /// Its key is a literal that only the server can read: it may be equal to any other.
    Unknown,
}

impl Lanes {
    /// One lane, for rows of which no two are about the same thing.
    pub(super) fn one() -> Lanes {
        Lanes { count: 1, key: Vec::new() }
    }

    /// As many as `most`, if the key allows to tell rows apart without the server.
    ///
    /// # Errors
    /// The server could not be asked.
    pub(super) async fn by_key(
        connection: &Connection,
        table: &Table,
        shape: &RowShape,
        key: &[String],
        most: usize,
    ) -> Result<Lanes, Error> {
        // Under such a collation different texts are equal; an index may have another one than its column.
        let sql = "select exists (select from pg_catalog.pg_index i, pg_catalog.unnest(i.indcollation::oid[]) as used(collation_oid)
                                    join pg_catalog.pg_collation c on c.oid = used.collation_oid
                                   where i.indrelid = $1 and i.indisunique and not c.collisdeterministic)";
        let asked = connection.client().query_typed(sql, &[(&table.oid, Type::OID)]).await?;
        let has_loose_texts = asked.first().is_some_and(|row| row.get(0));
        let tells = |oid: u32| {
            let is_text = [Type::TEXT.oid(), Type::VARCHAR.oid()].contains(&oid);
            SAME_BY_BYTES.iter().any(|known| known.oid() == oid) && !(is_text && has_loose_texts)
        };
        let columns = shape.columns().iter().enumerate();
        let in_key = columns.filter(|(_, column)| key.contains(&column.name));
        let key: Vec<usize> = in_key
            .filter(|(_, column)| !column.as_text && tells(column.base_type.0))
            .map(|(at, _)| at)
            .collect();
        Ok(Lanes { count: if key.is_empty() { 1 } else { most }, key })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The lane of a binary row.
    pub(super) fn of(&self, row: &[u8], open: &[OpenField]) -> Lane {
        if self.count == 1 {
            return Lane::Number(0);
        }
        let is_key = |field: &OpenField| self.key.contains(&(field.column as usize));
        if open.iter().any(is_key) {
            return Lane::Unknown;
        }
        let mut hasher = DefaultHasher::new();
        // Whoever sends a broken row finds that out; here it only belongs nowhere.
        let Ok(mut fields) = BinaryRow::new(row) else { return Lane::Unknown };
        let mut next = 0;
        for column in &self.key {
            let Some(Ok(value)) = fields.nth(column - next) else { return Lane::Unknown };
            next = column + 1;
            let value = value.unwrap_or_default();
            hasher.write_usize(value.len());
            hasher.write(value);
        }
        // A remainder is less than the count.
        Lane::Number(usize::try_from(hasher.finish() % self.count as u64).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fields: &[&[u8]]) -> Vec<u8> {
        let mut row = u16::try_from(fields.len()).unwrap().to_be_bytes().to_vec();
        for field in fields {
            row.extend(u32::try_from(field.len()).unwrap().to_be_bytes());
            row.extend_from_slice(field);
        }
        row
    }

    #[test]
    fn rows_of_one_key_go_one_way_and_others_spread() {
        let lanes = Lanes { count: 4, key: vec![0, 2] };
        let mut used = std::collections::BTreeSet::new();
        for key in 0..50_u8 {
            let lane = lanes.of(&row(&[&[key], b"old", b"k"]), &[]);
            assert_eq!(lane, lanes.of(&row(&[&[key], b"something new", b"k"]), &[]));
            let Lane::Number(number) = lane else { panic!("{lane:?}") };
            used.insert(number);
        }
        assert_eq!(used.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(Lanes::one().of(&row(&[b"x"]), &[]), Lane::Number(0));
    }

    #[test]
    fn a_key_that_only_the_server_can_read_may_be_equal_to_any_other() {
        let lanes = Lanes { count: 2, key: vec![0] };
        let open = |column| [OpenField { column, at: 2 }];
        assert_eq!(lanes.of(&row(&[b"tomorrow"]), &open(0)), Lane::Unknown);
        assert_ne!(lanes.of(&row(&[b"a", b"tomorrow"]), &open(1)), Lane::Unknown);
    }
}
