/** Everything that ends an appender early. None of its rows is there then, and the client goes on. Argument: binary or text. */
import pg from "pg";
import * as check from "./check.js";
import { FaultsBinary } from "./faults_binary.js";
import { FaultsText } from "./faults_text.js";
import { AppendError, CountError } from "./howdah_copy.js";
import type { Queryable } from "./howdah_pg.js";

interface TRow {
  a: number;
  b: string | null;
  c: null;
}

interface Faults {
  createTAppender(): Promise<{
    append(row: TRow): Promise<void>;
    finish(): Promise<number>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
  }>;
  bulkInsertTRow(rows: Iterable<TRow> | AsyncIterable<TRow>): Promise<number>;
}

const make = (db: Queryable): Faults => (process.argv[2] === "binary" ? new FaultsBinary(db) : new FaultsText(db));
const row = (a: number): TRow => ({ a, b: null, c: null });
const BAD: TRow = { a: 1, b: "2000-02-30", c: null };

function* rows(count: number): Generator<TRow> {
  for (let a = 0; a < count; a += 1) {
    yield row(a);
  }
}

function* failing(): Generator<TRow> {
  yield* rows(20_000);
  throw new Error("row k");
}

async function* slowly(from: Iterable<TRow>): AsyncGenerator<TRow> {
  yield* from;
}

async function left(db: Queryable, expected: number): Promise<void> {
  const { rowCount } = await db.query("SELECT FROM t");
  check.like("rows", rowCount, expected);
}

async function early(db: Queryable, again: () => Promise<unknown>): Promise<void> {
  const faults = make(db);
  const empty = async (): Promise<void> => {
    await again();
    await left(db, 0);
  };
  await check.refused("a producer's error", "row k", () => faults.bulkInsertTRow(failing()));
  await empty();
  await check.refused("an asynchronous producer's error", "row k", () => faults.bulkInsertTRow(slowly(failing())));
  await empty();
  await check.refused("a bad value", "row 2, column b: ", () => faults.bulkInsertTRow([row(1), BAD]));
  await empty();
  const appender = await faults.createTAppender();
  await appender.append(row(1));
  await check.refused("a bad value", "row 2, column b: ", () => appender.append(BAD));
  await check.refused("a row behind a bad one", "row 2, column b: ", () => appender.append(row(3)));
  await check.refused("the end behind a bad row", "row 2, column b: ", () => appender.finish());
  await appender.close();
  await empty();
  const closed = await faults.createTAppender();
  for (const each of rows(20_000)) {
    await closed.append(each);
  }
  await closed.close();
  await closed.close();
  await check.refused("a row behind the end", "closed", () => closed.append(row(1)));
  await empty();
  const twice = (function* () {
    yield* rows(20_000);
    yield row(5);
  })();
  await check.refused("a key that is there", "duplicate key", () => faults.bulkInsertTRow(twice));
  await empty();
  await check.refused("a key, early", "duplicate key", () => faults.bulkInsertTRow((function* () {
    yield row(-1);
    yield row(-1);
    yield* rows(50_000);
  })()));
  await empty();
  await check.run("the end of a block", async () => {
    await using appender = await faults.createTAppender();
    await appender.append(row(1));
  });
  await empty();
  await forget(faults);
  let waiting = true;
  const cleared = again().then(() => {
    waiting = false;
  });
  while (waiting) {
    global.gc?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await cleared;
  await left(db, 0);
}

async function forget(faults: Faults): Promise<void> {
  const appender = await faults.createTAppender();
  await appender.append(row(1));
}

async function lost(client: pg.Client): Promise<void> {
  client.on("error", () => undefined);
  const appender = await make(client).createTAppender();
  await check.refused("an appender without a connection", "", async () => {
    const other = await check.connect();
    await other.query(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE 'COPY%' AND state = 'active'`);
    await other.end();
    for (const each of rows(300_000)) {
      await appender.append(each);
    }
    return appender.finish();
  });
  await appender.close();
}

async function cancelled(): Promise<void> {
  const deadline = Date.now() + 60_000;
  const running = `SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'COPY%' AND state = 'active'`;
  while ((await client.query(running)).rowCount !== 0) {
    if (Date.now() > deadline) {
      check.wrong("the COPY goes on");
      return;
    }
  }
}

async function whole(db: Queryable): Promise<void> {
  const appender = await make(db).createTAppender();
  // Rows whose end is not awaited keep their order.
  const sent = [...rows(20_000)].map((each) => appender.append(each));
  await Promise.all(sent);
  check.like("the count", await appender.finish(), 20_000);
  await check.refused("a second end", "finished", () => appender.finish());
  await left(db, 20_000);
  await db.query("TRUNCATE t");
  check.like("no rows", await make(db).bulkInsertTRow([]), 0);
  check.like("rows of an asynchronous producer", await make(db).bulkInsertTRow(slowly(rows(3))), 3);
}

async function dropped(db: Queryable): Promise<void> {
  await db.query(`
    TRUNCATE t;
    CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER drop_it BEFORE INSERT ON t FOR EACH ROW WHEN (new.a = 1) EXECUTE FUNCTION nothing()`);
  const told = await make(db).bulkInsertTRow(rows(3)).catch((error: unknown) => error);
  check.that(`dropped rows: ${String(told)}`, told instanceof CountError && told.message.includes("2 of 3 rows"));
  const bad = await make(db).bulkInsertTRow([BAD]).catch((error: unknown) => error);
  check.that("the place of a bad value", bad instanceof AppendError && bad.row === 1 && bad.column === "b");
}

const client = await check.connect();
await check.run("a client", () => early(client, () => client.query("SELECT 1")));
await client.query("BEGIN");
await check.run("a transaction", () => early(client, async () => {
  await client.query("ROLLBACK");
  await client.query("BEGIN");
}));
await client.query("ROLLBACK");
const pool = new pg.Pool({ connectionString: check.url(), max: 1 });
await check.run("a pool", () => early(pool, () => pool.query("SELECT 1")));
await check.run("a lost connection", async () => lost(await check.connect()));
await check.run("all rows", () => whole(pool));
await check.run("dropped rows", () => dropped(pool));
const impatient = new pg.Client({ connectionString: check.url(), query_timeout: 200 });
await impatient.connect();
await check.refused("a slow producer", "timeout", () => make(impatient).bulkInsertTRow((async function* () {
  yield row(7);
  // No COPY is left once it was cancelled.
  await cancelled();
  yield row(8);
})()));
const patient = { text: "SELECT FROM t", query_timeout: 60_000 };
check.like("rows behind a timeout", (await impatient.query(patient)).rowCount, 2);
await impatient.end();
check.that("clients came back", pool.idleCount === pool.totalCount && pool.waitingCount === 0);
await pool.end();
await client.end();
