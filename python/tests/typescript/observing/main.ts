/** Prints what an observer hears of every form of call. */
import * as check from "./check.js";
import { Seen, type TRow } from "./seen.js";

const client = await check.connect();
const heard: string[] = [];
const seen = new Seen(client, (name) => (rows, error) => {
  heard.push(`${name} ${rows}${error instanceof Error ? ` ${error.message}` : ""}`);
});
const rows = (first: number, last: number): TRow[] =>
  Array.from({ length: last - first + 1 }, (_, i) => ({ a: first + i }));

async function refused(work: Promise<unknown>): Promise<void> {
  await work.then(() => console.log("it is not refused"), () => undefined);
}

async function counted(stream: AsyncGenerator<number>): Promise<number> {
  let rows = 0;
  for await (const _ of stream) {
    rows += 1;
  }
  return rows;
}

check.like("all", await seen.numbers(), [1, 2, 3, 4, 5]);
check.like("a stream", await counted(seen.numbersStream()), 5);
let left = 2;
for await (const _ of seen.numbersStream()) {
  left -= 1;
  if (left === 0) {
    break;
  }
}
check.like("a row", await seen.first(1), 1);
check.like("no row", await seen.first(0), undefined);
check.like("one more", await seen.add(7), 1);
await refused(seen.add(7));
check.like("a batch", await seen.addBatch([{ a: 8 }, { a: 9 }]), [1, 1]);
check.like("a batch of rows", await seen.firstBatch([{ n: 1 }, { n: 0 }, { n: 1 }]), [1, undefined, 1]);
check.like("a batch of several", await seen.untilBatch([{ n: 2 }, { n: 3 }]), [[1, 2], [1, 2, 3]]);
check.like("a text that varies", await seen.varied(true), [1, 2]);
check.like("appended", await seen.bulkInsertTRow(rows(10, 12)), 3);
await refused(seen.bulkInsertTRow(rows(10, 12)));
check.like("by key", await seen.upsertT(rows(10, 13)), 1);
await refused(counted(seen.brokenStream()));
check.like("nobody hears", (await new Seen(client).numbers()).length, 5);
await client.end();
heard.forEach((line) => console.log(line));
