// Says which Node.js runs, and the versions of the libraries that the arguments name.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

if (Number.parseInt(process.versions.node, 10) < 20) {
  console.error(`Node.js is ${process.versions.node}, not 20`);
  process.exit(1);
}
console.log(`Node.js ${process.versions.node}`);
for (const name of process.argv.slice(2)) {
  const { version }: { version: string } = require(`${name}/package.json`);
  console.log(`${name} ${version}`);
}
