/** What the programs of tests share. A program prints what is wrong, a line each. */
import { isDeepStrictEqual } from "node:util";
import pg from "pg";

export function url(): string {
  return process.env["HOWDAH_URL"] ?? "";
}

export async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url() });
  // Parsers of a program are not to change what generated code reads.
  for (let oid = 16; oid < 5000; oid += 1) {
    client.setTypeParser(oid, () => "another's");
    pg.types.setTypeParser(oid, () => "another's");
  }
  await client.connect();
  return client;
}

export function wrong(what: string): void {
  console.log(what.replaceAll("\n", " "));
}

export function that(what: string, holds: boolean): void {
  if (!holds) {
    wrong(what);
  }
}

export function like(what: string, found: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(found, expected)) {
    wrong(`${what}: ${JSON.stringify(found, shown)}`);
  }
}

function shown(_: string, value: unknown): unknown {
  return typeof value === "bigint" || typeof value === "number" ? String(value) : value;
}

/** All of it is told, whatever goes wrong. */
export async function run(what: string, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    wrong(`${what}: ${String(error)}`);
  }
}

/** It must be refused with an error that says why. */
export async function refused(what: string, why: string, give: () => Promise<unknown>): Promise<void> {
  try {
    wrong(`${what} is ${JSON.stringify(await give(), shown)}`);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    that(`${what} says ${said}`, said.includes(why));
  }
}

export async function collect<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const row of rows) {
    all.push(row);
  }
  return all;
}
