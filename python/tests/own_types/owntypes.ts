/** Rows of types that a program has of its own: they are written and read, and given as parameters. */
import * as check from "./check.js";
import { Cents, UserId } from "./ids.js";
import { Own } from "./own.js";

const client = await check.connect();
const own = new Own(client);
const some = [new Cents(150), null, new Cents(275)];
const rows = [
  { id: new UserId(1n), price: new Cents(150), least: null, prices: null },
  { id: new UserId(2n), price: new Cents(275), least: new Cents(100), prices: some },
];
const last = { id: new UserId(3n), price: new Cents(1), least: new Cents(1), prices: [] };
check.like("appended", await own.bulkInsertUsersRow(rows), 2);
check.like("upserted", await own.upsertUsers([last]), 1);
check.like("rows", await own.allUsers(), [...rows, last]);
check.like("a row", (await own.getUser(new UserId(2n)))?.price, new Cents(275));
check.like("no row", await own.getUser(new UserId(4n)), undefined);
check.like("by null", (await own.atLeast(null)).length, 3);
check.like("by a value", await own.atLeast(new Cents(200)), [new UserId(2n)]);
check.like("by an array", await own.withPrices(some), [new UserId(2n)]);
await check.refused("a value that is none", "half a cent", () => own.atLeast(new Cents(-1)));
await client.end();
