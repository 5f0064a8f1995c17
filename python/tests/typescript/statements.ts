/** Statements of every form, on a client, in its transaction and on a pool. */
import pg from "pg";
import * as check from "./check.js";
import { Queries, type Item, type NoRowResult } from "./queries.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** A method as programs call it. The compiler refuses another one. */
type Method<P extends unknown[], R> = (...parameters: P) => Promise<R>;
const TWICE: Same<Queries["twice"], Method<[a: number, b: string | null], Item | undefined>> = true;
const NO_ROW: Same<Queries["noRow"], Method<[], NoRowResult | undefined>> = true;
const ALL_B: Same<Queries["allB"], Method<[], (string | null)[]>> = true;
const ADD: Same<Queries["add"], Method<[a: number, b: string | null], number>> = true;
check.that("parameters by position, and undefined for no row", TWICE && NO_ROW && ALL_B && ADD);

async function statements(q: Queries): Promise<void> {
  check.like("operators", await q.operators("a"), ["?'?"]);
  check.like("operators of null", await q.operators(null), []);
  check.like("add", await q.add(1, "x"), 1);
  check.like("addBatch", await q.addBatch([{ a: 2, b: null }, { a: 3, b: "?" }]), [1, 1]);
  check.like("addReturning", await q.addReturning(4, "\u20ac"), { a: 4, b: "\u20ac" });
  const added = await q.addReturningBatch([{ a: 5, b: null }, { a: 6, b: "\n" }]);
  check.like("addReturningBatch", added, [{ a: 5, b: null }, { a: 6, b: "\n" }]);
  check.like("touch", await q.touch(1), 0);
  check.like("touchBatch", await q.touchBatch([{ a: 1 }]), [0]);
  check.like("twice", await q.twice(4, "c"), { a: 8, b: "c" });
  const items = await q.allItems();
  check.that("allItems", items.length === 6 && items[1]?.b === null);
  check.like("count", await q.count(), 6n);
  check.like("allB", await q.allB(), ["x", null, "?", "\u20ac", null, "\n"]);
  check.like("longest", await q.long(), 70_000);
  check.like("no row", await q.noRow(), undefined);
  const none = null as unknown as string;
  await check.refused("not null", "parameter class_: it cannot be null", () => q.notNull(none));
  await check.refused("half a batch", "", () => q.addBatch([{ a: 7, b: null }, { a: 2 ** 31, b: null }]));
}

async function streams(q: Queries): Promise<void> {
  let seen = 0;
  for await (const number of q.numbersStream(2499, { fetchSize: 7 })) {
    check.that("a number", number === 0 || seen > 1000);
    seen += 1;
    if (seen === 10) {
      break;
    }
  }
  check.that("half of a stream", seen === 10);
  check.that("a whole stream", (await check.collect(q.numbersStream(2499))).length === 2499);
  check.that("an exact stream", (await check.collect(q.numbersStream(2000))).length === 2000);
  await check.refused("no fetch size", "fetchSize", () => check.collect(q.numbersStream(1, { fetchSize: 0 })));
}

async function failing(q: Queries): Promise<void> {
  await check.refused("a division by zero", "division by zero", () => check.collect(q.numbersStream(2500)));
}

async function transactions(pool: pg.Pool): Promise<void> {
  const q = new Queries(pool);
  await check.refused("a transaction", "no", () => Queries.transaction(pool, async (inside) => {
    check.like("inside", await inside.add(100, null), 1);
    check.like("counted", await inside.count(), 7n);
    throw new Error("no");
  }));
  check.like("rolled back", await q.count(), 6n);
  await check.refused("a swallowed error", "rolled back", () => Queries.transaction(pool, async (inside) => {
    await inside.add(100, null);
    await inside.numbers(2500).catch(() => undefined);
  }));
  check.like("rolled back again", await q.count(), 6n);
  check.like("committed", await Queries.transaction(pool, (inside) => inside.add(7, "y")), 1);
  check.like("there", await q.count(), 7n);
}

const client = await check.connect();
await check.run("statements", () => statements(new Queries(client)));
await check.run("streams", () => streams(new Queries(client)));
await check.run("a failing stream", () => failing(new Queries(client)));
check.that("no transaction is left", client.getTransactionStatus() === "I");
await client.query("BEGIN");
await check.run("streams in a transaction", () => streams(new Queries(client)));
check.that("the transaction goes on", client.getTransactionStatus() === "T");
await check.run("a failing stream in a transaction", () => failing(new Queries(client)));
await client.query("ROLLBACK");
await client.end();
const pool = new pg.Pool({ connectionString: check.url(), max: 1 });
await check.run("streams of a pool", () => streams(new Queries(pool)));
await check.run("a failing stream of a pool", () => failing(new Queries(pool)));
await check.run("transactions", () => transactions(pool));
check.that("clients came back", pool.idleCount === pool.totalCount && pool.waitingCount === 0);
await pool.end();
