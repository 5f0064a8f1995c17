-- Study 2's table of sensor readings, with what the measurement of generated code asks of it.

-- MIGRATE 1
CREATE TABLE sensor_readings (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    device_id uuid NOT NULL,
    "timestamp" timestamptz NOT NULL,
    temperature double precision,
    humidity double precision,
    pressure numeric(10, 2),
    battery_level smallint,
    is_anomaly boolean DEFAULT false,
    location text,
    tags text[]
);

-- TABLE sensor_readings :appender

-- One reading by key.
-- QUERY reading_by_id :one
@set id = 1
SELECT id, device_id, "timestamp", temperature, humidity, pressure, battery_level, is_anomaly, location, tags
FROM sensor_readings WHERE id = ${id};

-- The readings from a key on, so many of them.
-- QUERY readings_from :all
@set id = 1
@set count = 1000
SELECT id, device_id, "timestamp", temperature, humidity, pressure, battery_level, is_anomaly, location, tags
FROM sensor_readings WHERE id >= ${id} ORDER BY id LIMIT ${count};
