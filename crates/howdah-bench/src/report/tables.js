// The tables below the charts, and the Markdown of the environment.

// Cells are strings or nodes; a column whose heading begins with "#" holds figures.
function table(headings, body) {
  const numeric = headings.map((heading) => heading.startsWith("#"));
  const cell = (tag, content, column, extra) => element(tag, { class: [numeric[column] ? "num" : "", extra || ""].join(" ").trim() }, content);
  const head = element("tr", {}, headings.map((heading, column) => cell("th", heading.replace(/^#/, ""), column)));
  const lines = body.map(({ cells, classes, void: empty }) =>
    element("tr", empty ? { class: "void" } : {}, cells.map((content, column) => cell("td", content, column, (classes || {})[column]))));
  return element("div", { class: "table" }, element("table", {}, element("thead", {}, head), element("tbody", {}, lines)));
}

function marksOf(cell) {
  const marks = [];
  if (cell.prefix) marks.push(`first ${Format.share(cell.rows / cell.conditions.rows_asked)} of the rows`);
  for (const { outcome, reason, runs } of cell.troubles) marks.push(`${outcome === "wrong" ? "WRONG" : outcome}${runs > 1 ? ` ${runs} times` : ""}: ${reason}`);
  if (!cell.runs && !cell.troubles.length) marks.push("only the warm-up ran");
  if (cell.near_ceiling) marks.push(cell.control_times ? `the control, which writes nothing, reaches only ${Format.times(cell.control_times)}` : "within 20 % of the harness's own ceiling");
  if (!cell.same_conditions) marks.push("its runs were not done alike");
  if (cell.control) marks.push(CONTROL);
  return marks.join("; ");
}

// The axis down, the series across.
function overview(section) {
  // What was never measured is said below.
  const measured = section.cells.filter((cell) => cell.rate);
  const names = [...new Set(measured.map((cell) => cell.series))];
  const places = [...new Set(measured.map((cell) => cell.x))].sort((a, b) => a - b);
  const find = (name, x) => section.cells.find((cell) => cell.series === name && cell.x === x);
  const lines = places.map((x) => {
    const found = names.map((name) => find(name, x));
    const classes = Object.fromEntries(found.map((cell, index) => [index + 1, cell && cell.of_best === 1 ? "best" : ""]));
    return { cells: [x === null ? "—" : Format.number(x), ...found.map((cell) => (cell && cell.rate ? Format.stepped(cell.rate.median, cell.rounded_to) + (inPlace(cell) ? (cell.prefix ? " *" : "") : ` (first ${Format.number(cell.rows)})`) : "—"))], classes };
  });
  const made = table([section.axis || "", ...names.map((name) => `#${name}`)], lines);
  const starred = section.cells.some((cell) => cell.prefix && inPlace(cell)) ? " * a first part of the rows: all of them would have taken longer than allowed." : "";
  return [made, element("p", { class: "caption" }, `Rows/s, medians; the best of each line is bold.${starred}`)];
}

// Cells of which nothing else is to be said stand in one line; a series of which all places are among them by its name alone.
function namesOf(section, cells) {
  const count = (all, series) => all.filter((cell) => cell.series === series).length;
  const isWhole = (cell) => cells.length > 1 && count(cells, cell.series) === count(section.cells, cell.series);
  return [...new Set(cells.map((cell) => (isWhole(cell) ? cell.series : nameOf(section, cell))))].join("; ");
}

// Each cell that was measured, and those that were not by what is said of them.
function inLines(cells) {
  const lines = new Map();
  for (const cell of cells) {
    const key = cell.rate ? cell : `${marksOf(cell)} ${cell.conditions.durability}`;
    lines.set(key, [...(lines.get(key) || []), cell]);
  }
  return [...lines.values()];
}

function rates(section) {
  const waterfall = section.chart === "waterfall";
  const headings = ["", "#rows/s", "#min to max", "#runs", "#× slowest", "#of best", ...(waterfall ? ["#step", "what changed"] : []), "after a crash", ""];
  return table(headings, inLines(section.cells).map((alike) => {
    const [cell] = alike;
    const marks = marksOf(cell);
    // With few runs the interval is from the least to the greatest, and once is enough.
    const narrower = cell.interval && (cell.interval.low > cell.rate.min || cell.interval.high < cell.rate.max);
    const interval = narrower ? element("span", { class: "sub" }, `median ${Format.share(cell.interval.confidence)}: ${Format.stepped(cell.interval.low, cell.rounded_to)} to ${Format.stepped(cell.interval.high, cell.rounded_to)}`) : "";
    const cells = [
      namesOf(section, alike),
      cell.rate ? Format.stepped(cell.rate.median, cell.rounded_to) : "—",
      cell.runs > 1 ? [`${Format.stepped(cell.rate.min, cell.rounded_to)} to ${Format.stepped(cell.rate.max, cell.rounded_to)}`, interval].filter(Boolean) : cell.runs ? "one run" : "—",
      `${cell.runs}`,
      cell.to_slowest ? Format.times(cell.to_slowest) : "—",
      cell.of_best === null ? "—" : Format.share(cell.of_best),
    ];
    if (waterfall) cells.push(cell.step ? Format.gain(cell.step) + (cell.step_in_doubt ? ", runs overlap" : "") : "—", cell.changes.join("; "));
    cells.push(cell.conditions.durability, marks);
    const wide = waterfall ? { [cells.length - 3]: "wide" } : {};
    return { cells, void: !cell.rate, classes: { 1: cell.of_best === 1 ? "best" : "", [cells.length - 2]: "tight", ...wide, [cells.length - 1]: marks ? `wide ${cell.control || cell.prefix && !cell.troubles.length ? "" : "flag"}` : "" } };
  }));
}

function publishedTable(section) {
  const made = table(["", "#published rows/s", "#here", "#here ÷ published"], section.published.map((figure) => ({
    cells: [
      figure.x === null ? figure.series : `${figure.series}, ${Format.number(figure.x)} ${section.axis || ""}`,
      Format.number(figure.rows_per_s),
      Format.stepped(figure.measured, figure.rounded_to),
      Format.times(figure.measured / figure.rows_per_s),
    ],
  })));
  const buts = new Map();
  for (const { but, series } of section.published) if (but) buts.set(but, new Set([...(buts.get(but) || []), series]));
  return [made, buts.size ? element("ul", { class: "caption" }, [...buts].map(([but, series]) => element("li", {}, `${[...series].join("; ")}: ${but}`))) : ""];
}

// That a study printed figures of what was not measured.
function notMeasured(section) {
  const number = section.published_elsewhere;
  return number ? element("p", { class: "caption" }, `${number} more published ${number === 1 ? "figure was" : "figures were"} not measured here.`) : "";
}

function promisesTable(section) {
  return table(["promise", "#measured", "#target", ""], section.promises.map(({ promise, measured, target, holds }) => ({
    cells: [promise, measured, target, holds ? "kept" : "MISSED"],
    classes: { 3: holds ? "" : "flag" },
  })));
}

// What was seen beside the clock, and how it was done.
function evidence(section) {
  const or = (value, format) => (value === null ? "—" : format(value));
  const settings = (cell) => Object.entries(cell.conditions.settings).map(([name, value]) => `${name} = ${value}`).join(", ");
  const how = (cell) => {
    const { conditions: c } = cell;
    const parts = [c.dataset, c.table, c.connections > 1 ? `${c.connections} connections` : "", c.rows_per_statement ? `${Format.number(c.rows_per_statement)} rows a statement` : "", c.latency_ms ? `${c.latency_ms} ms added latency` : "", settings(cell), c.fresh, c.version ? `version ${c.version}` : ""];
    const phases = cell.phases.map(([name, seconds]) => `${name} ${Format.seconds(seconds)}`).join(", ");
    return [element("code", {}, c.command), element("span", { class: "sub" }, parts.filter(Boolean).join("; ")), element("span", { class: "sub" }, phases)];
  };
  return table(["", "#rows", "#seconds", "#client CPU", "#server CPU", "#peak memory", "#WAL", "#WAL a row", "#checkpoints", "how"], section.cells.filter((cell) => cell.rate).map((cell) => ({
    cells: [
      nameOf(section, cell),
      or(cell.rows, Format.number),
      cell.seconds ? Format.seconds(cell.seconds.median) : "—",
      or(cell.client_cpu_s, Format.seconds),
      or(cell.server_cpu_s, Format.seconds),
      or(cell.peak_rss_bytes, Format.bytes),
      or(cell.wal_bytes, Format.bytes),
      cell.wal_bytes !== null && cell.rows ? Format.bytes(cell.wal_bytes / cell.rows) : "—",
      or(cell.checkpoints, Format.number),
      how(cell),
    ],
    classes: { 9: "wide" },
    void: !cell.rate,
  })));
}

// As much Markdown as environment.md has: headings, tables, lists, code, paragraphs.
function markdown(text) {
  const inline = (words) => words.split(/`([^`]*)`/).map((part, index) => (index % 2 ? element("code", {}, part) : part.replace(/\*\*/g, "")));
  const split = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
  const blocks = [];
  let fence = null;
  for (const line of text.split("\n")) {
    const last = blocks.at(-1);
    if (fence) {
      if (line.startsWith("```")) fence = null;
      else fence.push(line);
    } else if (line.startsWith("```")) blocks.push({ kind: "code", lines: (fence = []) });
    else if (/^#{1,4} /.test(line)) blocks.push({ kind: `h${Math.min(4, line.indexOf(" ") + 1)}`, lines: [line.replace(/^#+ /, "")] });
    else {
      const kind = !line.trim() ? "gap" : line.startsWith("|") ? "table" : /^\s*[-*] /.test(line) ? "list" : "p";
      if (last && last.kind === kind) last.lines.push(line);
      else blocks.push({ kind, lines: [line] });
    }
  }
  return blocks.filter(({ kind }) => kind !== "gap").map(({ kind, lines }) => {
    if (kind === "code") return element("pre", {}, element("code", {}, lines.join("\n")));
    if (kind === "list") return element("ul", {}, lines.map((line) => element("li", {}, inline(line.replace(/^\s*[-*] /, "")))));
    if (kind !== "table") return element(kind, {}, inline(lines.join(" ")));
    const [head, ...body] = lines.filter((line) => !/^[|\s:-]+$/.test(line)).map(split);
    return table(head || [], body.map((cells) => ({ cells: cells.map((cell) => element("span", {}, inline(cell))) })));
  });
}
