// pg-copy-streams: rows of JavaScript's values, written as COPY's text.

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { from } from "pg-copy-streams";
import { type Task, boolean, go, number, run, texts } from "./contract.js";

/** Numbers that JavaScript's have no room for, moments and documents stay text, as pg gives them or can. */
type Value = string | number | boolean | null | (string | null)[];

/** What is sent at once. */
const PART = 1 << 16;
const ESCAPES: Record<string, string> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };
const PARSERS: Record<string, (field: string) => Value> = {
  smallint: number,
  integer: number,
  "double precision": number,
  boolean,
  "text[]": texts,
};

function array(values: readonly (string | null)[]): string {
  const quoted = values.map((value) => (value === null ? "NULL" : `"${value.replace(/["\\]/g, "\\$&")}"`));
  return `{${quoted.join(",")}}`;
}

function escaped(text: string): string {
  return /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? character) : text;
}

function literal(value: Value): string {
  if (value === null) {
    return "\\N";
  }
  if (typeof value === "string") {
    return escaped(value);
  }
  return typeof value === "object" ? escaped(array(value)) : Object.is(value, -0) ? "-0" : String(value);
}

async function* rows(task: Task): AsyncGenerator<Value[]> {
  const parsers = task.columns.map(([, type]) => PARSERS[type] ?? ((field: string) => field));
  for await (const record of task.records()) {
    yield record.map((field, place) => (field === "" ? null : (parsers[place]?.(field) ?? field)));
  }
}

async function* parts(task: Task): AsyncGenerator<string> {
  let part = "";
  for await (const row of rows(task)) {
    part += `${row.map(literal).join("\t")}\n`;
    if (part.length >= PART) {
      yield part;
      part = "";
    }
  }
  yield part;
}

// COPY is one statement, so it is one transaction.
await run(async (task, client) => {
  const names = task.columns.map(([name]) => name).join(", ");
  await go();
  const copy = client.query(from(`COPY ${task.table} (${names}) FROM STDIN`));
  await pipeline(Readable.from(parts(task)), copy);
  return copy.rowCount;
});
