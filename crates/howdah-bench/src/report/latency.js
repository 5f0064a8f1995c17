// Charts of latencies: against rows a second, along an axis, over time, and whole.

const PERCENTILES = [["p50_ms", "p50"], ["p90_ms", "p90"], ["p99_ms", "p99"], ["p99_9_ms", "p99.9"]];

const timed = (cell) => cell.rate && cell.latency;

// Old records lack some percentiles.
const millisecondsOf = (cell, key) => (cell.latency[key] === null ? "—" : Format.milliseconds(cell.latency[key]));

function latencyRows(cell) {
  const figures = [["p50", "p50_ms"], ["p90", "p90_ms"], ["p95", "p95_ms"], ["p99", "p99_ms"], ["p99.9", "p99_9_ms"], ["longest", "max_ms"], ["mean", "mean_ms"]];
  const rows = figures.map(([label, key]) => [label, millisecondsOf(cell, key)]);
  if (cell.batch_rows) rows.push(["rows a batch", Format.number(cell.batch_rows)]);
  return rows;
}

// The frame of a chart with points: grid, both axes, and what they count. Latencies are logarithmic, throughout.
function plane(svg, width, { xs, ys, logX, ticks, xName, yName, formatX, formatY, labels, rules }) {
  const height = Math.round(Math.min(470, Math.max(300, width * 0.5)));
  const [left, right, top, bottom] = [64, width - labels, 26, height - 42];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const around = (values, log, room) => {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return log ? [least / room, most * room] : [0, most * 1.06 || 1];
  };
  const x = scale(logX ? "log" : "linear", around(xs, logX, 1.15), [left, right]);
  const y = scale(ys.log ? "log" : "linear", around(ys.values.concat((rules || []).map((rule) => rule.y)), ys.log, 1.25), [bottom, top]);
  for (const tick of y.ticks(6)) {
    shape(svg, "line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "grid" });
    shape(svg, "text", { x: left - 10, y: y(tick) + 4, "text-anchor": "end", class: "axis" }, formatY(tick));
  }
  shape(svg, "line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "base" });
  let free = -Infinity;
  const inside = ticks && ticks.filter((tick) => tick >= Math.min(...xs) && tick <= Math.max(...xs));
  for (const tick of inside || x.ticks(width > 620 ? 7 : 4)) {
    const text = formatX(tick);
    if (x(tick) - widthOf(text) / 2 < free) continue;
    shape(svg, "text", { x: x(tick), y: bottom + 20, "text-anchor": "middle", class: "axis" }, text);
    free = x(tick) + widthOf(text) / 2 + 8;
  }
  shape(svg, "text", { x: 10, y: 11, class: "small" }, yName);
  shape(svg, "text", { x: (left + right) / 2, y: height - 3, "text-anchor": "middle", class: "small" }, xName);
  for (const rule of rules || []) shape(svg, "line", { x1: left, x2: right, y1: y(rule.y), y2: y(rule.y), stroke: rule.colour, "stroke-width": 1.2, "stroke-dasharray": "2 4" });
  return { x, y, left, right, top, bottom };
}

const off = (svg, width) => {
  svg.setAttribute("viewBox", `0 0 ${width} 120`);
  shape(svg, "text", { x: width / 2, y: 60, "text-anchor": "middle", class: "axis" }, "every series is switched off");
};

// Rows a second against latency: up and to the left is better. Adaptive settings are diamonds.
function tradeoff(section, styles, percentile) {
  const cells = section.cells.filter((cell) => timed(cell) && !cell.control);
  const kindOfPoint = (cell) => (cell.series.startsWith("adaptive") ? 3 : 0);
  const classes = cells.map((cell) => ({ name: cell.series, colour: styles[cell.series].colour, kind: kindOfPoint(cell) }));
  return { classes, draw };

  function draw(svg, width, view) {
    const shown = cells.filter((cell) => !view.hidden.has(cell.series) && cell.latency[percentile] !== null);
    if (!shown.length) return off(svg, width);
    const at = (cell) => Math.max(cell.latency[percentile], 1e-3);
    const name = percentile === "mean_ms" ? "mean latency" : `latency, ${PERCENTILES.find(([key]) => key === percentile)[1]}`;
    const frame = plane(svg, width, {
      xs: shown.map(at), logX: true, ys: { values: shown.map((cell) => cell.rate.max), log: false },
      xName: `${name}, logarithmic`, yName: "rows/s", formatX: Format.milliseconds, formatY: Format.short, labels: width > 620 ? 150 : 20,
    });
    for (const cell of shown) {
      const [x, y] = [frame.x(at(cell)), frame.y(cell.rate.median)];
      const colour = styles[cell.series].colour;
      const group = shape(svg, "g", { class: "mark", "data-series": cell.series });
      shape(group, "line", { x1: x, x2: x, y1: frame.y(cell.rate.min), y2: frame.y(cell.rate.max), stroke: colour, "stroke-width": 5, opacity: 0.22 });
      marker(group, kindOfPoint(cell), x, y, kindOfPoint(cell) ? 6 : 4.6, colour, false);
      if (width > 620) shape(svg, "text", { x: x + 9, y: y + 4, class: "small" }, clipped(cell.series, width - x - 12, 11.5));
    }
    svg.onpointermove = svg.onpointerdown = (event) => {
      const box = svg.getBoundingClientRect();
      const [px, py] = [(event.clientX - box.left) * (width / box.width), (event.clientY - box.top) * (width / box.width)];
      const distance = (cell) => (frame.x(at(cell)) - px) ** 2 + (frame.y(cell.rate.median) - py) ** 2;
      const near = shown.reduce((best, other) => (distance(other) < distance(best) ? other : best));
      view.tip(event, near.series, rateRows(near).concat(latencyRows(near)));
    };
    svg.onpointerleave = () => view.tip(null);
  }
}

// Lines of latencies. Each line has a name, a style, and points of x and milliseconds.
function lines(all, { logX, ticks, xName, formatX, formatTip, rules }) {
  const classes = all.map(({ name, colour, kind, dash }) => ({ name, colour, kind, dash: dash || "none" }));
  return { classes, draw };

  function draw(svg, width, view) {
    const shown = all.filter((line) => !view.hidden.has(line.name) && line.points.length);
    if (!shown.length) return off(svg, width);
    const points = shown.flatMap((line) => line.points);
    const roomy = width > 620;
    const labels = roomy ? Math.min(210, Math.max(60, ...all.map((line) => widthOf(line.name) + 22))) : 14;
    const visible = (rules || []).filter((rule) => !view.hidden.has(rule.name));
    const frame = plane(svg, width, {
      xs: points.map((point) => point.x), logX, ticks, ys: { values: points.map((point) => point.ms), log: true },
      xName, yName: "latency, logarithmic", formatX, formatY: Format.milliseconds, labels, rules: visible,
    });
    const ends = [];
    for (const { name, colour, kind, dash, points: own } of shown) {
      const group = shape(svg, "g", { "data-series": name });
      shape(group, "polyline", { points: own.map((point) => `${frame.x(point.x)},${frame.y(point.ms)}`).join(" "), fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash || "none", "stroke-linejoin": "round" });
      if (own.length <= 12) for (const point of own) marker(group, kind, frame.x(point.x), frame.y(point.ms), 3.8, colour, false).setAttribute("class", "mark");
      const last = own.at(-1);
      ends.push({ name, colour, at: frame.y(last.ms), from: frame.y(last.ms), x: frame.x(last.x) });
    }
    if (roomy) direct(svg, ends, frame.right, frame.top, frame.bottom, labels);
    const guide = shape(svg, "line", { y1: frame.top, y2: frame.bottom, class: "base", visibility: "hidden" });
    svg.onpointermove = svg.onpointerdown = (event) => {
      const box = svg.getBoundingClientRect();
      const at = (event.clientX - box.left) * (width / box.width);
      const nearest = (own) => own.reduce((best, other) => (Math.abs(frame.x(other.x) - at) < Math.abs(frame.x(best.x) - at) ? other : best));
      const place = nearest(points);
      guide.setAttribute("x1", frame.x(place.x));
      guide.setAttribute("x2", frame.x(place.x));
      guide.setAttribute("visibility", "visible");
      const rows = shown.map((line) => [line.name, Format.milliseconds(nearest(line.points).ms), line.colour]);
      view.tip(event, (formatTip || formatX)(place.x), rows.concat(place.more || []));
    };
    svg.onpointerleave = () => {
      guide.setAttribute("visibility", "hidden");
      view.tip(null);
    };
  }
}

// Along the section's axis, one percentile of each series.
function latencies(section, styles, percentile) {
  const cells = section.cells.filter((cell) => timed(cell) && cell.x !== null);
  const names = [...new Set(cells.map((cell) => cell.series))];
  const all = names.map((name) => ({
    name, ...styles[name],
    points: cells.filter((cell) => cell.series === name && cell.latency[percentile] !== null).map((cell) => ({ x: cell.x, ms: cell.latency[percentile], more: [["rows/s", Format.stepped(cell.rate.median, cell.rounded_to)]] })),
  }));
  const ticks = [...new Set(cells.map((cell) => cell.x))].sort((a, b) => a - b);
  return lines(all, { logX: false, ticks, xName: section.axis, formatX: Format.number, formatTip: (x) => `${Format.number(x)} ${section.axis}` });
}

// Over the time of the run, one percentile of each series.
function course(section, styles, percentile) {
  const cells = section.cells.filter((cell) => cell.course.length);
  const all = cells.map((cell) => ({
    name: cell.series, ...styles[cell.series],
    points: cell.course.filter((moment) => moment.latency[percentile] !== null).map((moment) => ({ x: moment.at_s, ms: moment.latency[percentile], more: [["rows/s due", Format.number(moment.offered_rows_per_s)]] })),
  }));
  const rules = cells.filter((cell) => cell.conditions.latency_target_ms).map((cell) => ({ name: cell.series, y: cell.conditions.latency_target_ms, colour: styles[cell.series].colour }));
  return lines(all, { logX: false, xName: "seconds", formatX: Format.seconds, rules });
}

// All rows of all runs: how many took at most how long. Along an axis, the last place of each series.
function distribution(section, styles) {
  const last = (cell) => section.axis === null || !section.cells.some((other) => timed(other) && other.series === cell.series && other.x > cell.x);
  const cells = section.cells.filter((cell) => cell.quantiles.length && !cell.control && last(cell));
  if (!cells.length) return null;
  const all = cells.map((cell) => ({
    name: cell.series, ...styles[cell.series],
    points: cell.quantiles.map(([share, ms]) => ({ x: 1 / (1 - share), ms: Math.max(ms, 1e-3) })),
  }));
  const percent = (x) => `${Number((100 - 100 / x).toFixed(4))} %`;
  return lines(all, { logX: true, ticks: [1, 2, 10, 100, 1e3, 1e4, 1e5], xName: "share of the rows that took at most so long", formatX: percent });
}

function latencyTable(section) {
  const headings = ["", "#p50", "#p90", "#p95", "#p99", "#p99.9", "#longest", "#mean", "#rows a batch"];
  const keys = ["p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99_9_ms", "max_ms", "mean_ms"];
  return table(headings, section.cells.filter((cell) => cell.latency).map((cell) => ({
    cells: [nameOf(section, cell), ...keys.map((key) => millisecondsOf(cell, key)), cell.batch_rows ? Format.number(cell.batch_rows) : "—"],
  })));
}
