/** Names, labels and texts that want to be code, written and read. */
import * as check from "./check.js";
import { Hostile, type TRow } from "./hostile.js";

const HOSTILE = "a\"b'$$\\c%s*/ \"\"\" ${x} `\u202e\r\n class";
/** The property that `HOSTILE` becomes, as the golden file shows. */
const NAME = "ax22bx27x24x24x5ccx25sx2ax2fX22x22x22X24x7bxx7dX60x202exdxaClass";
const LABELS = ["happy", "Happy", "", HOSTILE, "class", "None", "mro"];

const client = await check.connect();
await check.run("hostile names", async () => {
  const q = new Hostile(client);
  const written = LABELS.map((label) => {
    const pair = { [NAME]: label, class: 1 };
    return { [NAME]: label, self: pair, int: 2, pg: HOSTILE, aB: null, aB_2: [3, null] } as unknown as TRow;
  });
  check.like("appended", await q.bulkInsertTRow(written), written.length);
  check.like("import", await q.import(HOSTILE), written);
  check.like("get", await q.get(HOSTILE), written[0]);
  check.like("get_2", await q.get_2(HOSTILE), written);
  check.like("getBatch", await q.getBatch([{ self: HOSTILE }, { self: null }]), [written[0], written[0]]);
  check.like("one", await q.one(HOSTILE), { x3fcolumnx3f: HOSTILE });
  check.like("doBatch", await q.doBatch([{ self: "a" }, { self: "b" }]), [0, 0]);
});
await client.end();
