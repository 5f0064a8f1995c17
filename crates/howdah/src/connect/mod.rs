//! Connections with libpq's meanings: conninfo, `PG*`, `.pgpass`, sslmode.
