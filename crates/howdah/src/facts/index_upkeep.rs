//! What indexes cost a load: to be kept up to date row by row, or to be dropped and built again. An estimate from sizes alone,
//! with the times of two shared cores that `make bench-load ARGS='--only grid'` measured; `--only second-grid` tries it on others.

/// Seconds that any load takes.
const START: f64 = 0.17;
/// Microseconds of a row by itself: read, encoded, sent, stored and logged.
const ROW: f64 = 1.6;
/// Microseconds of a row's entry in an index that is kept ...
const ENTRY: f64 = 7.1;
/// ... and in one of a key: keys often come in order, and have no doubles.
const KEY_ENTRY: f64 = 3.6;
/// Microseconds of a row's look for the one that it refers to, while it comes.
const LOOK: f64 = 3.0;
/// Microseconds of an entry in an index that is built from all rows: they are read, sorted and written ...
const BUILT: f64 = 0.59;
/// ... and in one of a key.
const KEY_BUILT: f64 = 0.37;
/// Microseconds of a row's look where all rows are compared at once with those that they refer to.
const COMPARED: f64 = 0.1;
/// Seconds that dropping and making an index or a foreign key takes, however few rows there are.
const FIXED: f64 = 0.01;

/// The sizes that decide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IndexUpkeep {
    /// Rows that the table holds.
    pub held: f64,
    /// Rows that come.
    pub brought: f64,
    /// Indexes of keys, which refuse doubles, that can be dropped and built again.
    pub keys: usize,
    /// Other indexes that can be.
    pub indexes: usize,
    /// Indexes that stay in any case.
    pub staying: usize,
    /// Foreign keys of the table that can be taken out and checked again.
    pub foreign_keys: usize,
    /// Connections that rows come over while indexes are kept; where they are built again it is one.
    pub connections: usize,
}

impl IndexUpkeep {
    /// How many times as fast a load must get before everybody else is kept from the table for it.
    pub const WORTH: f64 = 2.0;

    /// Seconds of a load that keeps all of them.
    #[must_use]
    pub fn kept_s(&self) -> f64 {
        let keys = (self.keys + self.staying) as f64;
        let row = ROW + keys * KEY_ENTRY + self.indexes as f64 * ENTRY + self.foreign_keys as f64 * LOOK;
        START + self.brought * row / self.connections.max(1) as f64 / 1e6
    }

    /// Seconds of a load that drops them and builds them again.
    #[must_use]
    pub fn rebuilt_s(&self) -> f64 {
        START + self.brought * (ROW + self.staying as f64 * KEY_ENTRY) / 1e6 + self.building_s()
    }

    /// Seconds of them in which they are built again.
    #[must_use]
    pub fn building_s(&self) -> f64 {
        let [keys, indexes, foreign_keys] =
            [self.keys, self.indexes, self.foreign_keys].map(|count| count as f64);
        let row = keys * KEY_BUILT + indexes * BUILT + foreign_keys * COMPARED;
        (self.held + self.brought) * row / 1e6 + (keys + indexes + foreign_keys) * FIXED
    }

    /// How many times as fast the load is that builds them again; below 1 where it is slower.
    #[must_use]
    pub fn gain(&self) -> f64 {
        self.kept_s() / self.rebuilt_s()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: IndexUpkeep = IndexUpkeep {
        held: 3e6,
        brought: 2e6,
        keys: 1,
        indexes: 2,
        staying: 0,
        foreign_keys: 0,
        connections: 2,
    };

    #[test]
    fn it_pays_where_many_rows_come_and_not_where_few_do() {
        assert!(TABLE.gain() > 1.5, "{}", TABLE.gain());
        assert!(IndexUpkeep { brought: 3e4, ..TABLE }.gain() < 0.5);
        assert!(IndexUpkeep { held: 0.0, ..TABLE }.gain() > TABLE.gain());
        assert!(IndexUpkeep { held: 0.0, brought: 10.0, ..TABLE }.gain() < 1.0, "a few rows");
    }

    #[test]
    fn what_stays_and_more_connections_take_from_the_gain() {
        for less in [
            IndexUpkeep { keys: 0, staying: 1, ..TABLE },
            IndexUpkeep { connections: 4, ..TABLE },
            IndexUpkeep { held: 3e7, ..TABLE },
        ] {
            assert!(less.gain() < TABLE.gain(), "{less:?}");
        }
        assert!(IndexUpkeep { foreign_keys: 1, ..TABLE }.gain() > TABLE.gain());
    }
}
