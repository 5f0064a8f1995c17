/** Rows written by their key. Arguments: what to do, and on what: client, transaction or pool. */
import pg from "pg";
import * as check from "./check.js";
import { Hostile } from "./hostile.js";
import type { Queryable } from "./howdah_pg.js";
import { type OneBinaryRow, Upserts } from "./upserts.js";

const [, , task, mode] = process.argv;
const client = await check.connect();
const pool = new pg.Pool({ connectionString: check.url(), max: 1 });
const db: Queryable = mode === "pool" ? pool : client;
const row = (a: number, b: string | null, c: number): OneBinaryRow => ({ a, b, p: null, c });

async function* slowly<T>(from: Iterable<T>): AsyncGenerator<T> {
  yield* from;
}

function* failing(): Generator<OneBinaryRow> {
  for (let a = 0; a < 20_000; a += 1) {
    yield row(a, "x".repeat(100), 1);
  }
  throw new Error("row k");
}

async function* cut(): AsyncGenerator<OneBinaryRow> {
  yield row(1, null, 1);
  const { rows } = await pool.query("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE query LIKE 'COPY%'");
  check.like("cut", rows.length, 1);
  for (let a = 0; a < 1_000_000; a += 1) {
    yield row(a, "x", 1);
  }
}

async function step(write: () => Promise<number>): Promise<void> {
  if (mode === "transaction") {
    await client.query("BEGIN");
  }
  console.log(await write());
  if (mode === "transaction") {
    await client.query("COMMIT");
  }
}

async function steps(shop: Upserts): Promise<void> {
  // STEPS
}

async function faults(shop: Upserts): Promise<void> {
  if (mode === "transaction") {
    await client.query("BEGIN");
  }
  const good = row(1, "a", 1);
  const given: [string, () => Promise<number>][] = [
    ["row 2, column b", () => shop.upsertOneBinary([good, row(2, "\0", 1)])],
    ["row 2, column ?", () => shop.upsertOneBinary([good, null as unknown as OneBinaryRow])],
    ["check", () => shop.upsertOneBinary([good, row(2, "a", 100)])],
    ["type point", () => shop.upsertOneText([{ a: 1, b: "a", p: "none", c: 1 }])],
    ["row k", () => shop.upsertOneBinary(failing())],
    ["row k", () => shop.upsertOneBinary(slowly(failing()))],
  ];
  for (const [at, [why, give]] of given.entries()) {
    await db.query("INSERT INTO log VALUES ($1)", [at]);
    await check.refused(why, why, give);
    // The statement before is there, the client goes on, and no table is left.
    const { rowCount } = await db.query("SELECT FROM log WHERE (LEFT) = 0");
    check.like(why, rowCount, at + 1);
  }
  check.like("last", await shop.upsertOneBinary(slowly([good, row(1, "b", 2)])), 1);
  if (mode === "transaction") {
    await client.query("COMMIT");
  }
}

async function hostile(shop: Hostile): Promise<void> {
  const rows = await shop.import("HOSTILE");
  check.like("one", rows.length, 1);
  check.like("ignored", await shop.ignoreT(rows), 0);
  check.like("upserted", await shop.upsertT([...rows, ...rows]), 1);
  check.like("same", await shop.import("HOSTILE"), rows);
}

client.on("error", () => undefined);
await check.run(`${task}`, async () => {
  switch (task) {
    case "steps":
      return steps(new Upserts(db));
    case "faults":
      return faults(new Upserts(db));
    case "lost":
      return check.refused("lost", "", () => new Upserts(client).upsertOneBinary(cut()));
    default:
      return hostile(new Hostile(db));
  }
});
await pool.end();
await client.end().catch(() => undefined);
