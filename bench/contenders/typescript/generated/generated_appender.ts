// Loads sensor readings with the appender that howdah generated: rows of its interface, written as binary COPY.

import { type Task, boolean, go, number, run, texts } from "./contract.js";
import { type HowdahBenchRow, Readings } from "./readings.js";

/** Reads a field; an empty one, or one that is not there, is null. */
function value<T>(field: string | undefined, parse: (field: string) => T): T | null {
  return field === undefined || field === "" ? null : parse(field);
}

function same(field: string): string {
  return field;
}

async function* rows(task: Task): AsyncGenerator<HowdahBenchRow> {
  for await (const record of task.records()) {
    yield {
      deviceId: value(record[0], same),
      timestamp: value(record[1], same),
      temperature: value(record[2], number),
      humidity: value(record[3], number),
      pressure: value(record[4], same),
      batteryLevel: value(record[5], number),
      isAnomaly: value(record[6], boolean),
      location: value(record[7], same),
      tags: value(record[8], texts),
    };
  }
}

// It needs no transaction: it is one statement.
await run(async (task, client) => {
  await go();
  return new Readings(client).bulkInsertHowdahBenchRow(rows(task));
});
