// Writes three tasks and reads them again, by the code that `howdah codegen generate` made of queries.sql.
import { Pool } from "pg";

import { Queries, type TasksRow } from "./generated/queries.js";

const tasks: TasksRow[] = [
  { title: "Water the plants", priority: 1, note: null },
  { title: "Pay the rent", priority: 3, note: "by Friday" },
  { title: "Call Ada", priority: 2, note: null },
];

const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
try {
  const queries = new Queries(pool);
  console.log(String(await queries.bulkInsertTasksRow(tasks)), "tasks written");
  console.log("first:", await queries.taskById(1n));
  console.log("all:", (await queries.findTasks(null)).length);
  for (const task of await queries.findTasks(2)) {
    console.log("urgent:", task.title);
  }
} finally {
  await pool.end();
}
