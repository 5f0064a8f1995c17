/**
 * Applies migrations and prints their number, or what is wrong. Arguments: on what and how, the project's name, and SQL that
 * comes before.
 */
import pg from "pg";
import * as check from "./check.js";
import { MigrationError, type Migration } from "./howdah_migrate.js";
import type { Queryable } from "./howdah_pg.js";
import { Shop } from "./shop.js";

const [way = "client", project, before] = process.argv.slice(2);

async function migrate(db: Queryable): Promise<void> {
  try {
    console.log(String(await Shop.applyMigrations(db, project, { allowNewer: way === "newer" })));
  } catch (error) {
    if (!(error instanceof MigrationError)) {
      throw error;
    }
    const code = error.cause instanceof pg.DatabaseError ? `${error.cause.code} ` : "";
    check.wrong(`${error.name} ${code}${error.message}`);
  }
}

const LOCKS = `SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
  WHERE locktype = 'advisory' AND datname = current_database()`;

async function byClient(): Promise<void> {
  const client = await check.connect();
  if (way === "begun") {
    await client.query("BEGIN");
  }
  if (before !== undefined) {
    await client.query(before);
  }
  await migrate(client);
  check.like("the transaction", client.getTransactionStatus(), way === "begun" ? "T" : "I");
  check.like("locks", (await client.query(LOCKS)).rowCount, 0);
  await client.end();
}

async function byPool(): Promise<void> {
  const pool = new pg.Pool({ connectionString: check.url(), max: 1 });
  await migrate(pool);
  const { rows } = await pool.query({ text: "SELECT current_setting('lock_timeout'), current_user = session_user", rowMode: "array" });
  check.like("the settings of the pool", rows, [["0", true]]);
  check.that("clients came back", pool.idleCount === pool.totalCount && pool.waitingCount === 0);
  await pool.end();
}

const steps: readonly Migration[] = Shop.getMigrations();
check.that("steps", steps.length > 0 && steps.every((step) => step.statements.length > 0));
if (way === "pool") {
  await byPool();
} else if (way === "together") {
  const clients = await Promise.all([1, 2, 3, 4].map(() => check.connect()));
  await Promise.all(clients.map(migrate));
  await Promise.all(clients.map((client) => client.end()));
} else {
  await byClient();
}
