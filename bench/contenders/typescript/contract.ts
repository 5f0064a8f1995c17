// What the TypeScript contenders share: their task, the words READY, GO, DONE and FAILED, and the values of a CSV file.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { parse } from "csv-parse";
import pg from "pg";

const ELEMENT = /"((?:[^"\\]|\\.)*)"|([^,{}]+)/gs;

function environment(name: string): string {
  const value = process.env[name];
  if (value === undefined) {
    throw new Error(`there is no ${name}`);
  }
  return value;
}

/** What to load, and where: the environment that README.md lists. */
export class Task {
  readonly table = environment("CONTENDER_TABLE");
  /** Names and types. */
  readonly columns = environment("CONTENDER_COLUMNS").split("\n").map((line): [string, string] => {
    const space = line.indexOf(" ");
    return [line.slice(0, space), line.slice(space + 1)];
  });

  async connect(): Promise<pg.Client> {
    const client = new pg.Client(environment("CONTENDER_URL"));
    await client.connect();
    return client;
  }

  /** The records of the CSV file, after its header. */
  records(): AsyncIterable<string[]> {
    const parser = parse({ from_line: 2 });
    const file = createReadStream(environment("CONTENDER_INPUT"), { highWaterMark: 1 << 18 });
    file.on("error", (error) => parser.destroy(error));
    return file.pipe(parser);
  }
}

export function number(field: string): number {
  const value = Number(field);
  if (Number.isNaN(value)) {
    throw new Error(`${field} is no number`);
  }
  return value;
}

export function boolean(field: string): boolean {
  return field.startsWith("t");
}

/** The elements of an array's literal, {a,"b c",NULL}. */
export function texts(literal: string): (string | null)[] {
  return Array.from(literal.matchAll(ELEMENT), ([, quoted, bare]) => {
    if (bare !== undefined) {
      return bare === "NULL" ? null : bare;
    }
    return quoted?.replace(/\\(.)/gs, "$1") ?? "";
  });
}

/** Says that everything before the load is done, and waits until the clock runs. */
export async function go(): Promise<void> {
  console.log("READY");
  const lines = createInterface({ input: process.stdin });
  const said = await new Promise<string>((resolve) => {
    lines.once("line", resolve);
    lines.once("close", () => resolve(""));
  });
  lines.close();
  if (said !== "GO") {
    throw new Error("no GO on standard input");
  }
}

/** `load` calls `go`, loads, commits and gives how many rows the server acknowledged. */
export async function run(load: (task: Task, client: pg.Client) => Promise<number>): Promise<void> {
  try {
    const task = new Task();
    const client = await task.connect();
    console.log(`DONE ${await load(task, client)}`);
    await client.end();
  } catch (error) {
    console.log(`FAILED ${String(error).replace(/\s+/g, " ")}`);
    // What is left of a COPY is not waited for.
    process.exit(1);
  }
}
