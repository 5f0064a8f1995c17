// Makes the rows that every language's program makes, and the sum of what was read.

import type { ReadingsFromResult, SensorReadingsRow } from "./sensor.js";

const START = Date.UTC(2025, 0, 1);
const DEVICES = 100;
const PLACES = ["Hall A", "Hall B", "Roof", "Cellar", "Yard", "Office 1", "Office 2", "Lab", "Dock", "Gate"];
const TAGS = [
  [], ["indoor"], ["outdoor"], ["indoor", "calibrated"], ["outdoor", "solar"], ["test"], ["indoor", "critical", "v2"],
];

/** 32 bits that look random and are the same in every language. */
function mixed(number: number, stream: number): number {
  let word = (number + stream * 0x9e3779b9) | 0;
  word ^= word >>> 16;
  word = Math.imul(word, 0x7feb352d);
  word ^= word >>> 15;
  word = Math.imul(word, 0x846ca68b);
  return (word ^ (word >>> 16)) >>> 0;
}

function device(number: number): string {
  const words = [100, 101, 102, 103].map((stream) => mixed(number, stream).toString(16).padStart(8, "0"));
  return words.join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export function makeRows(count: number): SensorReadingsRow[] {
  const devices = Array.from({ length: DEVICES }, (_, number) => device(number));
  return Array.from({ length: count }, (_, n) => {
    const pressure = 98_000 + (mixed(n, 3) % 4_000);
    return {
      deviceId: devices[mixed(n, 0) % DEVICES] ?? "",
      timestamp: new Date(START + 10_000 * n),
      temperature: 18 + (mixed(n, 1) % 1_500_000) / 100_000,
      humidity: 30 + (mixed(n, 2) % 5_000_000) / 100_000,
      pressure: `${Math.floor(pressure / 100)}.${String(pressure % 100).padStart(2, "0")}`,
      batteryLevel: 20 + (mixed(n, 4) % 80),
      isAnomaly: mixed(n, 5) % 20 === 0,
      location: PLACES[mixed(n, 6) % PLACES.length] ?? "",
      tags: [...(TAGS[mixed(n, 7) % TAGS.length] ?? [])],
    };
  });
}

/** Keys of rows that are there. */
export function makeKeys(count: number, rows: number): bigint[] {
  return Array.from({ length: count }, (_, n) => BigInt((mixed(n, 8) % rows) + 1));
}

/** Something of every column, so that no value is left unread. */
export function sum(row: ReadingsFromResult): number {
  return Number(row.id) + (row.batteryLevel ?? 0) + Number(row.isAnomaly) + (row.location?.length ?? 0)
    + (row.tags?.length ?? 0) + row.timestamp.getUTCSeconds() + row.deviceId.length + (row.pressure?.length ?? 0)
    + Math.trunc(row.temperature ?? 0) + Math.trunc(row.humidity ?? 0);
}
