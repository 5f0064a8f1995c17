//! Values in, PostgreSQL COPY bytes out. No I/O, no async, no connection.
