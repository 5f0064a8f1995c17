/** Writes the study's rows three ways by generated code, and prints after each what its queries give. */
import pg from "pg";
import { Queries, type SensorReadingsRow } from "./queries.js";

const ROWS = 1000;
const BEGIN = Date.parse("1999-12-31T23:00:00Z");
const PLACES = ["Halle 3", "", "a\tb\\c\n", "Köln ☃ 𝄞", '"quoted", {braces}', "NULL", null] as const;
const TAGS = [[], ["indoor"], ["indoor", null, ""], ["NULL", "a b", "c,d"], ['x"y', "\\"], null];
const LITERALS = ["{}", "{indoor}", '{indoor,NULL,""}', '{"NULL","a b","c,d"}', '{"x\\"y","\\\\"}', null];
const TEMPERATURES = [null, -0, Infinity, 5e-324];

function row(i: number): SensorReadingsRow {
  const special = TEMPERATURES[i % 11];
  return {
    deviceId: `00000000-0000-4000-8000-${((i * 7919) % 100).toString(16).padStart(12, "0")}`,
    timestamp: new Date(BEGIN + i * 10007),
    temperature: special === undefined ? (i * 37) / 7 - 100 : special,
    humidity: i % 13 === 0 ? null : ((i * 53) % 1000) / 8,
    pressure: i % 17 === 0 ? null : ((((i * 7919) % 2000001) - 1000000) / 100).toFixed(2),
    batteryLevel: i % 19 === 0 ? null : (i % 200) - 100,
    isAnomaly: [true, false, null][i % 3] ?? null,
    location: PLACES[i % 7] ?? null,
    tags: TAGS[i % 6] ?? null,
  };
}

async function insert(queries: Queries, rows: SensorReadingsRow[]): Promise<number> {
  let written = 0;
  for (const r of rows) {
    written += await queries.insertReading(
      r.deviceId,
      r.timestamp,
      r.temperature,
      r.humidity,
      r.pressure,
      r.batteryLevel,
      r.isAnomaly,
      r.location,
      r.tags,
    );
  }
  return written;
}

function unnest(queries: Queries, rows: SensorReadingsRow[]): Promise<number> {
  return queries.insertReadingsUnnest(
    rows.map((r) => r.deviceId),
    rows.map((r) => r.timestamp),
    rows.map((r) => r.temperature),
    rows.map((r) => r.humidity),
    rows.map((r) => r.pressure),
    rows.map((r) => r.batteryLevel),
    rows.map((r) => r.isAnomaly),
    rows.map((r) => r.location),
    rows.map((_, i) => LITERALS[i % 6] ?? null),
  );
}

async function verified(queries: Queries): Promise<string> {
  const count = (await queries.countReadings()) ?? 0n;
  const sums = await queries.sums();
  const one = await queries.readingById(count - 499n);
  const newest = await queries.lastReadings();
  const since = Number(newest[0]?.timestamp) - BEGIN;
  const words = [count, sums?.batteries, sums?.pressure, sums?.anomalies, one?.deviceId, one?.pressure];
  return [...words, one?.tags?.length, newest.length, since].join(" ");
}

const pool = new pg.Pool({ connectionString: process.env["HOWDAH_URL"] });
try {
  console.log(String(await Queries.applyMigrations(pool)));
  const rows = Array.from({ length: ROWS }, (_, i) => row(i));
  const append = (queries: Queries): Promise<number> => queries.bulkInsertSensorReadingsRow(rows);
  for (const write of [append, insert, unnest]) {
    const written = await Queries.transaction(pool, (queries) => write(queries, rows));
    console.log(String(written), await verified(new Queries(pool)));
  }
} finally {
  await pool.end();
}
