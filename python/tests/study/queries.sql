-- The parts that the study's annotated file has: a table of sensors' readings, three ways to write it, and what verifies it.

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

-- Rows by binary COPY.
-- TABLE sensor_readings :appender

-- One row a statement.
-- EXEC insert_reading
@set device_id = '00000000-0000-4000-8000-000000000001'
@set timestamp = '2000-01-01T00:00:00Z'
@set temperature = 20.5
@set humidity = 55.25
@set pressure = 1013.25
@set battery_level = 85
@set is_anomaly = false
@set location = 'Halle 3'
@set tags = '{indoor,calibrated}'
INSERT INTO sensor_readings
  (device_id, "timestamp", temperature, humidity, pressure, battery_level, is_anomaly, location, tags)
VALUES (
  ${device_id}, ${timestamp}, ${temperature}, ${humidity}, ${pressure}, ${battery_level}, ${is_anomaly},
  ${location}, ${tags}
);

-- All rows in one statement: an array a column. unnest() takes arrays in arrays apart, so tags are literals.
-- EXEC insert_readings_unnest
@set device_ids = '{00000000-0000-4000-8000-000000000001}'
@set timestamps = '{2000-01-01T00:00:00Z}'
@set temperatures = '{20.5}'
@set humidities = '{55.25}'
@set pressures = '{1013.25}'
@set battery_levels = '{85}'
@set anomalies = '{false}'
@set locations = '{Halle 3}'
@set tag_literals = '{"{indoor,calibrated}"}'
INSERT INTO sensor_readings
  (device_id, "timestamp", temperature, humidity, pressure, battery_level, is_anomaly, location, tags)
SELECT device, at, temperature, humidity, pressure, battery, anomaly, place, tags::text[]
FROM unnest(
  ${device_ids}::uuid[], ${timestamps}::timestamptz[], ${temperatures}::float8[], ${humidities}::float8[],
  ${pressures}::numeric[], ${battery_levels}::int2[], ${anomalies}::bool[], ${locations}::text[],
  ${tag_literals}::text[]
) AS given (device, at, temperature, humidity, pressure, battery, anomaly, place, tags);

-- How many there are.
-- QUERY count_readings :one :pluck
SELECT count(*) FROM sensor_readings;

-- What they add up to.
-- QUERY sums :one
SELECT sum(battery_level) AS batteries, sum(pressure) AS pressure, count(*) FILTER (WHERE is_anomaly) AS anomalies
FROM sensor_readings;

-- One by its key.
-- QUERY reading_by_id :one
@set id = 1
SELECT id, device_id, "timestamp", pressure, location, tags FROM sensor_readings WHERE id = ${id};

-- The newest ones.
-- QUERY last_readings
SELECT device_id, "timestamp", temperature, location FROM sensor_readings ORDER BY "timestamp" DESC LIMIT 10;
