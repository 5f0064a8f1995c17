// Measures generated TypeScript and what one writes by hand with node-postgres: an action a line, an answer a line.

import { createRequire } from "node:module";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import pg from "pg";
import * as hand from "./hand.js";
import { makeKeys, makeRows, sum } from "./rows.js";
import { type ReadingsFromResult, Sensor } from "./sensor.js";

const CALLS = 2_000;
const PAGES = 50;
const PAGE = 1_000;

const count = Number(process.argv[2]);
// The place is in the environment.
const client = new pg.Client({ types: hand.types });
await client.connect();
const rows = makeRows(count);
const keys = makeKeys(CALLS, count);
const pages = makeKeys(PAGES, Math.max(1, count - PAGE));
const sensor = new Sensor(client);

async function committed(work: () => Promise<number>): Promise<number> {
  await client.query("BEGIN");
  const appended = await work();
  await client.query("COMMIT");
  return appended;
}

async function eachKey(read: (key: bigint) => Promise<ReadingsFromResult | undefined>): Promise<number> {
  let total = 0;
  for (const key of keys) {
    const row = await read(key);
    total += row === undefined ? 0 : sum(row);
  }
  return total;
}

async function eachPage(read: (key: bigint) => Promise<ReadingsFromResult[]>): Promise<number> {
  let total = 0;
  for (const key of pages) {
    for (const row of await read(key)) {
      total += sum(row);
    }
  }
  return total;
}

const actions: Record<string, () => Promise<number>> = {
  "append generated": () => committed(() => sensor.bulkInsertSensorReadingsRow(rows)),
  "append pg-copy-streams": () => committed(() => hand.append(client, rows)),
  "one generated": () => eachKey((key) => sensor.readingById(key)),
  "one hand": () => eachKey((key) => hand.one(client, key)),
  "one hand prepared": () => eachKey((key) => hand.onePrepared(client, key)),
  "all generated": () => eachPage((key) => sensor.readingsFrom(key, BigInt(PAGE))),
  "all hand": () => eachPage((key) => hand.all(client, key, PAGE)),
  "all hand prepared": () => eachPage((key) => hand.allPrepared(client, key, PAGE)),
};

function say(line: unknown): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const driver: { version: string } = createRequire(import.meta.url)("pg/package.json");
say({ version: `Node.js ${process.versions.node}, pg ${driver.version}`, actions: Object.keys(actions) });
for await (const line of createInterface({ input: process.stdin })) {
  const action = actions[line];
  if (action === undefined) {
    throw new Error(`there is no action ${line}`);
  }
  // What one way left is not to be collected while the other is measured.
  globalThis.gc?.();
  const before = process.cpuUsage();
  const start = performance.now();
  const check = await action();
  const wall = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(before);
  say({ wall, cpu: (user + system) / 1e6, check });
}
await client.end();
