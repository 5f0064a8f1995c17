-- Study 2's sensor readings under the name that `howdah bench` and the tests give the table. No constraints, as the
-- contract tells columns without them.

-- MIGRATE 1
CREATE TABLE howdah_bench (
    device_id uuid,
    "timestamp" timestamptz,
    temperature double precision,
    humidity double precision,
    pressure numeric(10, 2),
    battery_level smallint,
    is_anomaly boolean,
    location text,
    tags text[]
);

-- TABLE howdah_bench :appender
