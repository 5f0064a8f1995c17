// Lays out the report: scenarios, sections, charts with their legends and switches.

const DATA = JSON.parse(document.getElementById("data").textContent);

// A name keeps its colour throughout the report, unless two in one section would share it.
const slots = new Map();
function stylesOf(section) {
  const taken = new Set();
  const styles = {};
  for (const { series, control } of section.cells) {
    if (styles[series]) continue;
    if (control) {
      styles[series] = { colour: "var(--c7)", kind: 0, dash: "2 4" };
      continue;
    }
    if (!slots.has(series)) slots.set(series, slots.size % (COLOURS - 1));
    let slot = slots.get(series);
    const used = taken.size;
    for (let tries = 0; used < COLOURS - 1 && taken.has(slot) && tries < COLOURS; tries++) slot = (slot + 1) % (COLOURS - 1);
    taken.add(slot);
    styles[series] = { colour: `var(--c${slot})`, kind: slot + (used >= COLOURS - 1 ? 1 : 0), dash: used >= COLOURS - 1 ? "7 4" : "none" };
  }
  return styles;
}

function switchOf(label, choices, chosen, choose) {
  const group = element("div", { class: "switch", role: "group", "aria-label": label });
  for (const [value, text] of choices) {
    const button = element("button", { type: "button", "aria-pressed": value === chosen, "data-value": value }, text);
    button.onclick = () => {
      for (const other of group.children) other.setAttribute("aria-pressed", other === button);
      choose(value);
    };
    group.append(button);
  }
  return group;
}

// On paper every chart is drawn as on a wide screen and scaled down.
const PAPER = 900;
let printing = false;
const redraws = [];

// A chart with its legend; `make` gives the classes and the drawing, anew after each choice of the switch.
function figure(name, make, choices, chosen) {
  const plot = element("div", { class: "plot" });
  const legend = element("div", { class: "legend", role: "group", "aria-label": "Series" });
  const tip = element("div", { class: "tip", hidden: "", role: "status" });
  const controls = element("div", { class: "controls" }, legend);
  const whole = element("figure", { "data-chart": name }, controls, plot, tip);
  let chart;
  let width = 0;
  const view = { hidden: new Set(), log: false, tip: showTip };

  function choose(value) {
    chart = make(value);
    view.log = value === "log";
    const known = new Set(chart.classes.map((it) => it.name));
    view.hidden = new Set([...view.hidden].filter((name) => known.has(name)));
    legend.replaceChildren(...chart.classes.map(entry));
  }
  function entry({ name, colour, kind, hollow, dash }) {
    const sample = document.createElementNS(SVG, "svg");
    sample.setAttribute("width", dash ? 24 : 12);
    sample.setAttribute("height", 12);
    if (dash) shape(sample, "line", { x1: 0, x2: 24, y1: 6, y2: 6, stroke: colour, "stroke-width": 2, "stroke-dasharray": dash });
    marker(sample, kind, dash ? 12 : 6, 6, 4, colour, hollow);
    const button = element("button", { type: "button", "aria-pressed": !view.hidden.has(name), "data-class": name }, sample, element("span", {}, name));
    button.onclick = () => {
      if (!view.hidden.delete(name)) view.hidden.add(name);
      button.setAttribute("aria-pressed", !view.hidden.has(name));
      redraw();
    };
    return button;
  }
  function redraw() {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", name);
    width = plot.clientWidth;
    chart.draw(svg, printing ? PAPER : Math.max(300, width), view);
    plot.replaceChildren(svg);
  }
  function showTip(event, title, rows) {
    tip.hidden = !event;
    if (!event) return;
    const list = element("dl", {}, rows.map(([label, value, colour]) => [element("dt", colour ? { style: `color:${colour}` } : {}, label), element("dd", {}, value)]));
    tip.replaceChildren(element("b", {}, title), list);
    const box = whole.getBoundingClientRect();
    const left = event.clientX - box.left + 18;
    const flip = left + tip.offsetWidth > box.width;
    tip.style.left = `${Math.max(0, flip ? left - tip.offsetWidth - 36 : left)}px`;
    tip.style.top = `${event.clientY - box.top + 14}px`;
  }

  const first = make(chosen);
  view.hidden = new Set(first.off || []);
  if (choices.length > 1) controls.append(switchOf("What is shown", choices, chosen, (value) => {
    choose(value);
    redraw();
  }));
  // Drawn once it stands in the page, and again when its width changes.
  new ResizeObserver(() => {
    if (printing || !plot.clientWidth || plot.clientWidth === width) return;
    requestAnimationFrame(redraw);
  }).observe(plot);
  choose(chosen);
  redraws.push(redraw);
  return whole;
}

function timeFigure(section) {
  const last = (cell) => section.axis === null || !section.cells.some((other) => other.rate && other.series === cell.series && other.x > cell.x);
  const cells = section.cells.filter((cell) => cell.rate && last(cell));
  const cpu = (cell) => [["client", cell.client_cpu_s], ["server", cell.server_cpu_s]].filter(([, value]) => value !== null);
  const perMillion = (parts) => (cell) => parts(cell).map(([name, value]) => [name, (value * 1e6) / (cell.rows || 1)]);
  const kinds = [
    ["phases", "phases", perMillion((cell) => cell.time), Format.seconds, "Shares of the method's own phases; at the end of each bar, the seconds for a million rows, at the rate of the rows that were loaded."],
    ["cpu", "CPU time", perMillion(cpu), Format.seconds, "CPU time of client and server; at the end of each bar, CPU seconds for a million rows, at the rate of the rows that were loaded."],
    ["waits", "backends", (cell) => cell.waits, Format.share, "What the writing backends were doing when looked at, in shares of the samples."],
  ].filter(([, , parts]) => cells.some((cell) => parts(cell).length));
  if (!kinds.length) return null;
  const caption = element("p", { class: "caption" });
  const make = (value) => {
    const [, , parts, format, text] = kinds.find(([kind]) => kind === value);
    caption.textContent = text + (section.axis !== null ? " Each series at its largest place on the axis." : "");
    return stacks(section, cells, parts, format);
  };
  const made = figure(`${section.title}: where the time went`, make, kinds.map(([value, text]) => [value, text]), kinds[0][0]);
  return [element("h4", {}, "Where the time went"), caption, made];
}

function sectionOf(section, id) {
  const styles = stylesOf(section);
  const scales = [["log", "log"], ["linear", "linear"]];
  const [make, choices, chosen] = {
    curves: [() => curves(section, styles), scales, "log"],
    bars: [() => bars(section), scales, "linear"],
    waterfall: [() => ladder(section), scales, "log"],
    tradeoff: [(percentile) => tradeoff(section, styles, percentile), [["mean_ms", "mean"], ["p50_ms", "p50"], ["p99_ms", "p99"]], "mean_ms"],
    latencies: [(percentile) => latencies(section, styles, percentile), PERCENTILES, "p99_ms"],
    course: [(percentile) => course(section, styles, percentile), PERCENTILES, "p99_ms"],
  }[section.chart];
  const measured = section.cells.some((cell) => cell.rate);
  const drawable = section.cells.some(["tradeoff", "latencies", "course"].includes(section.chart) ? timed : (cell) => cell.rate);
  const whole = distribution(section, styles);
  const all = element("details", {}, element("summary", {}, "Memory, write-ahead log, how each was done"), evidence(section));
  const every = element("details", { class: "figures", ...(section.chart === "curves" ? {} : { open: "" }) }, element("summary", {}, "Every figure with its spread"), rates(section));
  return element("section", { class: "section", id },
    element("h3", {}, section.title),
    element("p", { class: "headline" }, section.headline),
    section.note && element("p", { class: "note" }, section.note),
    drawable ? figure(section.title, make, choices, chosen) : "",
    section.chart === "curves" ? overview(section) : "",
    section.cells.some((cell) => cell.latency) ? [element("h4", {}, "Latency"), latencyTable(section)] : "",
    whole ? [
      element("p", { class: "caption" }, "All rows of all runs, the longest on the right."),
      figure(`${section.title}: latency, whole`, () => whole, [], ""),
    ] : "",
    section.promises.length ? [element("h4", {}, "Promised, and measured here"), promisesTable(section)] : "",
    section.elsewhere && element("p", { class: "note" }, section.elsewhere.replaceAll("**", "")),
    section.published.length ? [element("h4", {}, "Published, and measured here"), publishedTable(section)] : "",
    notMeasured(section),
    every,
    measured ? timeFigure(section) || "" : "",
    all);
}

function build() {
  const { scenarios } = DATA.summary;
  const anchor = (...parts) => parts.join("-").replace(/[^A-Za-z0-9-]+/g, "-");
  const single = scenarios.length === 1;
  const title = single ? scenarios[0].title : "Ways into PostgreSQL, measured";
  document.title = `${title} · howdah bench`;
  const page = [
    element("h1", {}, title),
    single && scenarios[0].question ? element("p", { class: "lede" }, scenarios[0].question) : "",
    element("p", single ? { class: "caption" } : { class: "lede" }, DATA.counts),
    element("p", { class: "caption" }, DATA.reading),
  ];
  if (!single)
    page.push(element("nav", { "aria-label": "Scenarios" }, element("ol", {}, scenarios.map((scenario) =>
      element("li", {}, element("a", { href: `#${anchor(scenario.name)}` }, scenario.title), element("span", {}, scenario.question))))));
  for (const scenario of scenarios)
    page.push(element("article", { class: single ? "" : "scenario", id: anchor(scenario.name) },
      single ? "" : [element("h2", {}, scenario.title), scenario.question && element("p", { class: "lede" }, scenario.question)],
      scenario.sections.map((section) => sectionOf(section, anchor(scenario.name, section.name))),
      scenario.caveats.length ? element("aside", { class: "caveats" }, element("h3", {}, "What these figures do not say"), element("ul", {}, scenario.caveats.map((text) => element("li", {}, text)))) : ""));
  if (DATA.environment.trim()) page.push(element("section", { class: "environment", id: "environment" }, markdown(DATA.environment)));
  document.getElementById("report").replaceChildren(...page);
  for (const redraw of redraws) redraw();
}

// Light or dark as the system says, until the button says otherwise.
function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const set = (name) => {
    document.documentElement.dataset.theme = name;
    button.textContent = name === "dark" ? "Light" : "Dark";
  };
  set(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => set(dark.matches ? "dark" : "light"));
  button.onclick = () => set(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  // Paper is white and cannot unfold.
  let screen;
  let unfolded = [];
  const print = (paper) => {
    printing = paper;
    for (const redraw of redraws) redraw();
  };
  addEventListener("beforeprint", () => {
    screen = document.documentElement.dataset.theme;
    set("light");
    unfolded = [...document.querySelectorAll("details.figures:not([open])")];
    for (const folded of unfolded) folded.open = true;
    print(true);
  });
  addEventListener("afterprint", () => {
    set(screen);
    for (const folded of unfolded) folded.open = false;
    print(false);
  });
}

theme();
build();
