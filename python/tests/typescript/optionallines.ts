/** Statements of optional lines, in all their combinations. It prints what they find. */
import * as check from "./check.js";
import { Lines } from "./lines.js";
import type { FindItemsOp, FindItemsParameters, FindItemsSort, HostileRows } from "./lines.js";

/** The texts of the choices, as the caller has them. */
interface Texts {
  readonly ops: FindItemsOp[];
  readonly sorts: FindItemsSort[];
  readonly rows: HostileRows[];
}

function combinations(texts: Texts): FindItemsParameters[] {
  const all: FindItemsParameters[] = [];
  for (const kind of ["a", null]) {
    for (const least of [3, null]) {
      for (const present of [true, false]) {
        for (const op of texts.ops) {
          for (const sort of [null, ...texts.sorts]) {
            all.push({ kind, least, span: 4, present, op, sort });
          }
        }
      }
    }
  }
  return all;
}

function print(way: string, ids: number[]): void {
  console.log(`${way}: ${ids.join(" ")}`);
}

function printText(text: string | null | undefined): void {
  console.log(`text: ${[...(text ?? "")].map((c) => c.codePointAt(0)).join(" ")}`);
}

async function find(lines: Lines, all: FindItemsParameters[]): Promise<void> {
  for (const { kind, least, span, present, op, sort } of all) {
    print("all", await lines.findItems(kind, least, span, present, op, sort));
    print("stream", await check.collect(lines.findItemsStream(kind, least, span, present, op, sort)));
  }
  for (const ids of await lines.findItemsBatch(all)) {
    print("batch", ids);
  }
}

async function move(lines: Lines, all: FindItemsParameters[]): Promise<void> {
  const moves = all.map(({ kind, least, span, present }, by) => ({ kind, least, span, present, by }));
  const counts: number[] = [];
  for (const { kind, least, span, present, by } of moves.slice(0, 20)) {
    counts.push(await lines.moveItems(kind, least, span, present, by));
  }
  counts.push(...(await lines.moveItemsBatch(moves.slice(20))));
  console.log(`moved: [${counts.join(", ")}]`);
}

async function hostile(lines: Lines, value: string, rows: HostileRows[]): Promise<void> {
  for (const sql of [null, value]) {
    for (const text of rows) {
      printText(await lines.hostile(sql, text));
    }
  }
  (await lines.hostileBatch(rows.map((text) => ({ sql: null, rows_: text })))).forEach(printText);
}

const client = await check.connect();
const [value = "", told = "{}"] = process.argv.slice(2);
const texts = JSON.parse(told) as Texts;
const lines = new Lines(client);
const all = combinations(texts);
await find(lines, all);
await move(lines, all);
await hostile(lines, value, texts.rows);
check.like("operators", await lines.operators("?"), true);
check.like("twice", [...(await lines.twice(7, true)), ...(await lines.twice(8, false))], [7, 8]);
check.like("nobody", [await lines.nobody(false, false), await lines.nobody(true, true)], [1, 4]);
check.like("moved", await lines.movedItem(4, 2, false), 4);
check.like("not moved", await lines.movedItem(4, 2, true), undefined);
for (const sort of ["id; DROP TABLE items", "", "ID"]) {
  const given = sort as FindItemsSort;
  await check.refused("a text of a caller", "sort", () => lines.findItems(null, null, 1, false, "<", given));
}
const none = null as unknown as FindItemsOp;
await check.refused("no operator", "op", () => lines.findItems(null, null, 1, false, none, null));
await client.end();
