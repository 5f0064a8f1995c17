// Appends and reads as one writes it by hand with node-postgres and pg-copy-streams.

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from } from "pg-copy-streams";
import type { ReadingsFromResult, SensorReadingsRow } from "./sensor.js";

const COPY = `COPY sensor_readings (device_id, timestamp, temperature, humidity, pressure, battery_level, is_anomaly,
  location, tags) FROM STDIN`;
const COLUMNS = `id, device_id AS "deviceId", timestamp, temperature, humidity, pressure,
  battery_level AS "batteryLevel", is_anomaly AS "isAnomaly", location, tags`;
const ONE = `SELECT ${COLUMNS} FROM sensor_readings WHERE id = $1`;
const ALL = `SELECT ${COLUMNS} FROM sensor_readings WHERE id >= $1 ORDER BY id LIMIT $2`;
/** What is sent at once. */
const PART = 1 << 16;
const INT8 = 20;
const ESCAPES: Record<string, string> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** The parsers of pg, but int8 as the bigint that generated code has. */
export const types = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === INT8 ? BigInt : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

function escaped(text: string): string {
  return /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? character) : text;
}

function array(values: readonly (string | null)[]): string {
  const quoted = values.map((value) => (value === null ? "NULL" : `"${value.replace(/["\\]/g, "\\$&")}"`));
  return `{${quoted.join(",")}}`;
}

function line(row: SensorReadingsRow): string {
  const location = row.location === null ? "\\N" : escaped(row.location);
  const tags = row.tags === null ? "\\N" : escaped(array(row.tags));
  return `${row.deviceId}\t${row.timestamp.toISOString()}\t${row.temperature ?? "\\N"}\t${row.humidity ?? "\\N"}\t${
    row.pressure ?? "\\N"}\t${row.batteryLevel ?? "\\N"}\t${row.isAnomaly ?? "\\N"}\t${location}\t${tags}\n`;
}

function* parts(rows: readonly SensorReadingsRow[]): Generator<string> {
  let part = "";
  for (const row of rows) {
    part += line(row);
    if (part.length >= PART) {
      yield part;
      part = "";
    }
  }
  yield part;
}

export async function append(client: pg.Client, rows: readonly SensorReadingsRow[]): Promise<number> {
  const copy = client.query(from(COPY));
  await pipeline(Readable.from(parts(rows)), copy);
  return copy.rowCount;
}

export async function one(client: pg.Client, id: bigint): Promise<ReadingsFromResult | undefined> {
  const { rows } = await client.query<ReadingsFromResult>(ONE, [id]);
  return rows[0];
}

export async function all(client: pg.Client, id: bigint, count: number): Promise<ReadingsFromResult[]> {
  const { rows } = await client.query<ReadingsFromResult>(ALL, [id, count]);
  return rows;
}

/** A statement with a name is prepared once on a connection. */
export async function onePrepared(client: pg.Client, id: bigint): Promise<ReadingsFromResult | undefined> {
  const { rows } = await client.query<ReadingsFromResult>({ name: "one", text: ONE, values: [id] });
  return rows[0];
}

export async function allPrepared(client: pg.Client, id: bigint, count: number): Promise<ReadingsFromResult[]> {
  const { rows } = await client.query<ReadingsFromResult>({ name: "all", text: ALL, values: [id, count] });
  return rows;
}
