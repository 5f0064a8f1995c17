// The charts. Each draws into an svg of the width it is given: draw(svg, width, view), where view says which classes
// are hidden, whether the scale is logarithmic, and how to show a tip.

const COLOURS = 8;
const DURABILITY = {
  "durable": "var(--c0)",
  "loses the last commits on a crash": "var(--c4)",
  "not crash-safe": "var(--c1)",
  "lab only": "var(--c3)",
};
const CONTROL = "control: writes nothing";
const PUBLISHED = "published";

// Shape tells lines apart where colour does not.
function marker(parent, kind, x, y, size, colour, hollow) {
  const paint = hollow
    ? { fill: "var(--paper)", stroke: colour, "stroke-width": 1.6 }
    : { fill: colour, stroke: "var(--paper)", "stroke-width": 1.2 };
  const path = [
    null,
    `M${x - size},${y - size}h${2 * size}v${2 * size}h${-2 * size}Z`,
    `M${x},${y - size * 1.3}L${x + size * 1.2},${y + size}H${x - size * 1.2}Z`,
    `M${x},${y - size * 1.4}L${x + size * 1.4},${y}L${x},${y + size * 1.4}L${x - size * 1.4},${y}Z`,
  ][kind % 4];
  return path ? shape(parent, "path", { d: path, ...paint }) : shape(parent, "circle", { cx: x, cy: y, r: size, ...paint });
}

function rateRows(cell) {
  const rows = [["rows/s, median", Format.stepped(cell.rate.median, cell.rounded_to)]];
  rows.push(["min to max", `${Format.stepped(cell.rate.min, cell.rounded_to)} to ${Format.stepped(cell.rate.max, cell.rounded_to)}`]);
  if (cell.interval) rows.push([`${Format.share(cell.interval.confidence)} interval`, `${Format.stepped(cell.interval.low, cell.rounded_to)} to ${Format.stepped(cell.interval.high, cell.rounded_to)}`]);
  rows.push(["runs", `${cell.runs}`]);
  if (cell.to_slowest) rows.push(["against the slowest", Format.times(cell.to_slowest)]);
  if (cell.of_best !== null) rows.push(["of the best", Format.share(cell.of_best)]);
  rows.push(["after a crash", cell.conditions.durability]);
  return rows;
}

// A first part of the rows stands where its own rows are, not at those that were asked for.
const inPlace = (cell) => !cell.prefix || cell.x !== cell.conditions.rows_asked;
const placeOf = (cell) => (inPlace(cell) ? cell.x : cell.rows);

// Rows a second of each series along an axis.
function curves(section, styles) {
  const placed = (cell) => ({ ...cell, x: placeOf(cell) });
  const measured = section.cells.filter((cell) => cell.rate && cell.x !== null).map(placed).sort((a, b) => a.x - b.x);
  const names = [...new Set(section.cells.map((cell) => cell.series))].filter((name) => measured.some((cell) => cell.series === name));
  const printed = section.published.filter((figure) => figure.x !== null && styles[figure.series]);
  const classes = names.map((name) => ({ name, ...styles[name] }));
  if (printed.length) classes.push({ name: PUBLISHED, colour: "var(--quiet)", kind: 3, hollow: true });
  return { classes, log: true, draw };

  function draw(svg, width, view) {
    const shown = measured.filter((cell) => !view.hidden.has(cell.series));
    const beside = view.hidden.has(PUBLISHED) ? [] : printed.filter((figure) => !view.hidden.has(figure.series));
    const roomy = width > 620;
    const labels = roomy ? Math.min(210, Math.max(60, ...names.map((name) => widthOf(name) + 22))) : 14;
    const height = Math.round(Math.min(470, Math.max(300, width * 0.5)));
    const [left, right, top, bottom] = [54, width - labels, 26, height - 42];
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    if (!shown.length) return shape(svg, "text", { x: width / 2, y: height / 2, "text-anchor": "middle", class: "axis" }, "every series is switched off");
    const places = [...new Set(measured.concat(beside).map((point) => point.x))].sort((a, b) => a - b);
    const values = shown.flatMap((cell) => [cell.rate.min, cell.rate.max]).concat(beside.map((figure) => figure.rows_per_s));
    const span = fromTickToTick(view.log ? "log" : "linear", Math.min(...values), Math.max(...values), 6);
    const logX = places[0] > 0 && places.at(-1) / places[0] >= 8;
    const x = scale(logX ? "log" : "linear", [places[0], places.at(-1)], places.length > 1 ? [left + 14, right - 14] : [(left + right) / 2, right]);
    const y = scale(view.log ? "log" : "linear", span, [bottom, top]);
    for (const tick of y.ticks(6)) {
      shape(svg, "line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "grid" });
      shape(svg, "text", { x: left - 10, y: y(tick) + 4, "text-anchor": "end", class: "axis" }, Format.short(tick));
    }
    shape(svg, "line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "base" });
    let free = -Infinity;
    for (const place of places.length <= 9 ? places : x.ticks(7)) {
      const text = Format.short(place);
      if (x(place) - widthOf(text) / 2 < free) continue;
      shape(svg, "text", { x: x(place), y: bottom + 20, "text-anchor": "middle", class: "axis" }, text);
      free = x(place) + widthOf(text) / 2 + 8;
    }
    shape(svg, "text", { x: left - 44, y: 11, class: "small" }, `rows/s${view.log ? ", logarithmic" : ""}`);
    shape(svg, "text", { x: (left + right) / 2, y: height - 3, "text-anchor": "middle", class: "small" }, section.axis);
    const guide = shape(svg, "line", { y1: top, y2: bottom, class: "base", visibility: "hidden" });

    const ends = [];
    for (const name of names.filter((name) => !view.hidden.has(name))) {
      const { colour, kind, dash } = styles[name];
      const own = shown.filter((cell) => cell.series === name);
      const group = shape(svg, "g", { "data-series": name });
      for (const cell of own) shape(group, "line", { x1: x(cell.x), x2: x(cell.x), y1: y(cell.rate.min), y2: y(cell.rate.max), stroke: colour, "stroke-width": 5, opacity: 0.22 });
      const points = own.map((cell) => `${x(cell.x)},${y(cell.rate.median)}`).join(" ");
      shape(group, "polyline", { points, fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash, "stroke-linejoin": "round" });
      for (const cell of own) marker(group, kind, x(cell.x), y(cell.rate.median), 3.8, colour, cell.prefix);
      ends.push({ name, colour, at: y(own.at(-1).rate.median), from: y(own.at(-1).rate.median), x: x(own.at(-1).x) });
    }
    for (const figure of beside) marker(svg, 3, x(figure.x), y(figure.rows_per_s), 4.2, styles[figure.series].colour, true);
    if (roomy) direct(svg, ends, right, top, bottom, labels);
    svg.onpointermove = svg.onpointerdown = (event) => {
      const at = (event.clientX - svg.getBoundingClientRect().left) * (width / svg.getBoundingClientRect().width);
      const place = places.reduce((best, other) => (Math.abs(x(other) - at) < Math.abs(x(best) - at) ? other : best));
      guide.setAttribute("x1", x(place));
      guide.setAttribute("x2", x(place));
      guide.setAttribute("visibility", "visible");
      const here = shown.filter((cell) => cell.x === place).sort((a, b) => b.rate.median - a.rate.median);
      const rows = here.map((cell) => [cell.series + (cell.prefix ? " (a first part)" : ""), Format.stepped(cell.rate.median, cell.rounded_to), styles[cell.series].colour]);
      for (const figure of beside.filter((figure) => figure.x === place)) rows.push([`${figure.series}, published`, Format.number(figure.rows_per_s), "var(--quiet)"]);
      view.tip(event, `${Format.number(place)} ${section.axis}: rows/s`, rows);
    };
    svg.onpointerleave = () => {
      guide.setAttribute("visibility", "hidden");
      view.tip(null);
    };
  }
}

// Names at the ends of lines, pushed apart so that each can be read.
function direct(svg, ends, right, top, bottom, room) {
  ends.sort((a, b) => a.at - b.at);
  for (let index = 1; index < ends.length; index++) ends[index].at = Math.max(ends[index].at, ends[index - 1].at + 15);
  const over = ends.length ? ends.at(-1).at - bottom : 0;
  if (over > 0) {
    ends.at(-1).at -= over;
    for (let index = ends.length - 2; index >= 0; index--) ends[index].at = Math.max(top, Math.min(ends[index].at, ends[index + 1].at - 15));
  }
  for (const { name, colour, at, from, x } of ends) {
    shape(svg, "path", { d: `M${x + 7},${from}L${right + 2},${at}`, stroke: colour, "stroke-width": 1, opacity: 0.4, fill: "none" });
    shape(svg, "text", { x: right + 6, y: at + 4, style: `fill:${colour}`, class: "strong" }, clipped(name, room - 10));
  }
}

// What bars, ladders and stacks share: a row a cell, its name on the left or, where that is narrow, above.
function rows(svg, width, cells, { title, detail, ends, extra }) {
  const roomy = width > 620;
  const longest = Math.max(60, ...cells.map((cell) => Math.max(widthOf(title(cell)) + 14, widthOf(detail(cell), 11.5))));
  const left = roomy ? Math.min(width * 0.36, longest + 16) : 2;
  const pitch = (roomy ? 30 : 46) + (extra || 0);
  const top = 22;
  const height = top + cells.length * pitch + 8;
  const right = width - ends;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return {
    left, right, top, height, roomy,
    each(draw) {
      cells.forEach((cell, index) => {
        const y = top + index * pitch;
        const group = shape(svg, "g", { class: "row", "data-series": cell.series });
        shape(group, "rect", { x: 0, y, width, height: pitch, class: "hit", rx: 4 });
        const room = roomy ? left - 14 : width - 8;
        const under = detail(cell);
        const line = roomy ? y + (pitch - (under ? 30 : 14)) / 2 + 11 : y + 14;
        shape(group, "text", { x: roomy ? left - 12 : 2, y: line, "text-anchor": roomy ? "end" : "start" }, clipped(title(cell), room));
        const beside = roomy ? 0 : widthOf(title(cell)) + 12;
        if (under) shape(group, "text", { x: roomy ? left - 12 : 2 + beside, y: roomy ? line + 15 : line, "text-anchor": roomy ? "end" : "start", class: "small" }, clipped(under, room - beside, 11.5));
        draw(group, cell, roomy ? y + pitch / 2 : y + pitch - 14, index);
      });
    },
  };
}

function grid(svg, frame, map, format, wanted) {
  let free = -Infinity;
  for (const tick of map.ticks(wanted)) {
    shape(svg, "line", { x1: map(tick), x2: map(tick), y1: frame.top, y2: frame.height - 8, class: "grid" });
    const half = widthOf(format(tick), 11.5) / 2;
    if (map(tick) - half < free) continue;
    shape(svg, "text", { x: map(tick), y: 12, "text-anchor": "middle", class: "small" }, format(tick));
    free = map(tick) + half + 8;
  }
}

const nameOf = (section, cell) => (cell.x !== null && section.chart !== "waterfall" ? `${cell.series}, ${Format.number(cell.x)} ${section.axis || ""}`.trim() : cell.series);
const kindOf = (cell) => (cell.control ? CONTROL : cell.conditions.durability);
const outcomeOf = (cell) => (cell.troubles.length ? `${cell.troubles[0].outcome}: ${cell.troubles[0].reason}` : "not measured");

// Rows a second, a bar a method; dots where the scale has no zero.
function bars(section) {
  const best = Math.max(0, ...section.cells.filter((cell) => cell.rate && !cell.control).map((cell) => cell.rate.max));
  const kinds = [...new Set(section.cells.filter((cell) => cell.rate).map(kindOf))];
  const classes = kinds.map((name) => ({ name, colour: DURABILITY[name] || "var(--c7)", kind: 1 }));
  const printed = (cell) => section.published.find((figure) => figure.series === cell.series && (figure.x === null || figure.x === cell.x));
  if (section.cells.some(printed)) classes.push({ name: PUBLISHED, colour: "var(--ink)", kind: 3, hollow: true });
  // A control far above all else would only flatten it.
  const off = section.cells.some((cell) => cell.control && cell.rate && cell.rate.max > 2 * best) ? [CONTROL] : [];
  return { classes, log: false, off, draw };

  function draw(svg, width, view) {
    const cells = section.cells.filter((cell) => !cell.rate || !view.hidden.has(kindOf(cell)));
    const beside = (cell) => (view.hidden.has(PUBLISHED) ? undefined : printed(cell));
    const frame = rows(svg, width, cells, { title: (cell) => nameOf(section, cell), detail: () => "", ends: width > 620 ? (section.cells.some((cell) => cell.near_ceiling) ? 200 : 150) : 122 });
    const values = cells.flatMap((cell) => (cell.rate ? [cell.rate.min, cell.rate.max] : [])).concat(cells.flatMap((cell) => beside(cell)?.rows_per_s ?? []));
    const top = Math.max(1, ...values);
    const from = view.log ? 10 ** Math.floor(Math.log10(Math.min(top, ...values) * 0.9)) : 0;
    const x = scale(view.log ? "log" : "linear", [from, top], [frame.left, frame.right]);
    grid(svg, frame, x, Format.short, width > 620 ? 6 : 3);
    frame.each((group, cell, y) => {
      if (!cell.rate) return shape(group, "text", { x: frame.left + 6, y: y + 4, class: "small" }, clipped(outcomeOf(cell), width - frame.left - 10, 11.5));
      const colour = cell.control ? "var(--c7)" : DURABILITY[cell.conditions.durability];
      const at = x(cell.rate.median);
      if (view.log) {
        shape(group, "line", { x1: frame.left, x2: at, y1: y, y2: y, stroke: colour, "stroke-width": 1.2, opacity: 0.45 });
        shape(group, "circle", { cx: at, cy: y, r: 5.5, fill: colour, class: "mark" });
      } else shape(group, "rect", { x: frame.left, y: y - 7, width: Math.max(1.5, at - frame.left), height: 14, rx: 2, fill: colour, opacity: cell.control ? 0.45 : 0.92, class: "mark" });
      shape(group, "line", { x1: x(cell.rate.min), x2: x(cell.rate.max), y1: y, y2: y, stroke: "var(--ink)", "stroke-width": 1.4, opacity: 0.75 });
      const figure = beside(cell);
      if (figure) marker(group, 3, x(figure.rows_per_s), y, 4, "var(--ink)", true);
      const end = Math.max(at, x(cell.rate.max), figure && x(figure.rows_per_s) < at + 90 ? x(figure.rows_per_s) : 0) + 10;
      const text = shape(group, "text", { x: end, y: y + 4 });
      shape(text, "tspan", { class: "strong" }, Format.stepped(cell.rate.median, cell.rounded_to));
      shape(text, "tspan", { dx: 8, class: "small" }, `${cell.to_slowest ? Format.times(cell.to_slowest) : ""}${cell.near_ceiling && width > 620 ? " near the ceiling" : ""}`);
      group.onpointermove = group.onpointerdown = (event) => view.tip(event, nameOf(section, cell), rateRows(cell).concat(figure ? [["published", Format.number(figure.rows_per_s)]] : []));
    });
    svg.onpointerleave = () => view.tip(null);
  }
}

// One factor a step: each bar goes from the step before to this one.
function ladder(section) {
  const kinds = [...new Set(section.cells.filter((cell) => cell.rate).map(kindOf))];
  const classes = kinds.map((name) => ({ name, colour: DURABILITY[name] || "var(--c7)", kind: 1 }));
  const printed = (cell) => section.published.find((figure) => figure.series === cell.series);
  if (section.published.length) classes.push({ name: PUBLISHED, colour: "var(--ink)", kind: 3, hollow: true });
  const before = new Map();
  section.cells.filter((cell) => cell.rate && !cell.control).reduce((last, cell) => (before.set(cell, last), cell.rate.median), null);
  return { classes, log: true, draw };

  function draw(svg, width, view) {
    const cells = section.cells.filter((cell) => !cell.rate || !view.hidden.has(kindOf(cell)));
    const beside = (cell) => (view.hidden.has(PUBLISHED) ? undefined : printed(cell));
    const detail = (cell) => cell.changes.filter((change) => !change.startsWith("durability")).join("; ");
    const frame = rows(svg, width, cells, { title: (cell) => cell.series, detail, ends: width > 620 ? 150 : 118, extra: width > 620 ? 12 : 2 });
    const values = cells.flatMap((cell) => (cell.rate ? [cell.rate.min, cell.rate.max, before.get(cell) || cell.rate.min] : [])).concat(cells.flatMap((cell) => beside(cell)?.rows_per_s ?? []));
    const top = Math.max(1, ...values);
    const from = view.log ? Math.min(top / 10, ...values) / 1.6 : 0;
    const x = scale(view.log ? "log" : "linear", [from, top], [frame.left, frame.right]);
    grid(svg, frame, x, Format.short, width > 620 ? 6 : 3);
    let bottom = null;
    frame.each((group, cell, y) => {
      if (!cell.rate) return shape(group, "text", { x: frame.left + 6, y: y + 4, class: "small" }, clipped(outcomeOf(cell), width - frame.left - 10, 11.5));
      const last = before.get(cell);
      const at = x(cell.rate.median);
      const start = last ? x(last) : frame.left;
      if (bottom !== null && last) shape(group, "line", { x1: start, x2: start, y1: bottom + 8, y2: y - 8, class: "base" });
      const colour = DURABILITY[cell.conditions.durability];
      if (last) shape(group, "line", { x1: frame.left, x2: Math.min(start, at), y1: y, y2: y, stroke: "var(--rule)", "stroke-width": 1 });
      const lost = at < start;
      shape(group, "rect", { x: Math.min(start, at), y: y - 8, width: Math.max(2, Math.abs(at - start)), height: 16, rx: 2, fill: lost ? "var(--paper)" : colour, stroke: colour, "stroke-width": lost ? 1.5 : 0, opacity: 0.92, class: "mark" });
      shape(group, "line", { x1: x(cell.rate.min), x2: x(cell.rate.max), y1: y, y2: y, stroke: "var(--ink)", "stroke-width": 1.4, opacity: 0.75 });
      const figure = beside(cell);
      if (figure) marker(group, 3, x(figure.rows_per_s), y, 4, "var(--ink)", true);
      bottom = y;
      const text = shape(group, "text", { x: Math.max(at, start, x(cell.rate.max)) + 10, y: y + 4 });
      shape(text, "tspan", { class: "strong" }, Format.stepped(cell.rate.median, cell.rounded_to));
      if (cell.step) shape(text, "tspan", { dx: 8, class: cell.step_in_doubt ? "quiet" : cell.step >= 1 ? "good" : "bad" }, cell.step >= 2 ? Format.times(cell.step) : Format.gain(cell.step));
      const rest = rateRows(cell).concat(cell.step ? [["against the step before", Format.gain(cell.step)]] : [], figure ? [["published", Format.number(figure.rows_per_s)]] : []);
      group.onpointermove = group.onpointerdown = (event) => view.tip(event, cell.series, rest.concat(cell.changes.map((change) => change.split(/: (.*)/s).slice(0, 2))));
    });
    svg.onpointerleave = () => view.tip(null);
  }
}

// Where the time went: the parts of each method's time as shares, since a slow method would make slivers of the others.
function stacks(section, cells, parts, format) {
  const names = [...new Set(cells.flatMap((cell) => parts(cell).map(([name]) => name)))];
  // The largest part has the first colour, in whatever order they come.
  const weight = (name) => cells.flatMap((cell) => parts(cell)).reduce((all, [other, value]) => all + (other === name ? value : 0), 0);
  const ranked = [...names].sort((a, b) => weight(b) - weight(a));
  const colourOf = (name) => `var(--c${ranked.indexOf(name) % COLOURS})`;
  return { classes: names.map((name) => ({ name, colour: colourOf(name), kind: 1 })), draw };

  function draw(svg, width, view) {
    const frame = rows(svg, width, cells, { title: (cell) => nameOf(section, cell), detail: () => "", ends: 84 });
    const x = scale("linear", [0, 1], [frame.left, frame.right]);
    grid(svg, frame, x, Format.share, width > 620 ? 4 : 2);
    frame.each((group, cell, y) => {
      const visible = parts(cell).filter(([name]) => !view.hidden.has(name));
      const total = visible.reduce((all, [, value]) => all + value, 0);
      let from = 0;
      for (const [name, value] of visible) {
        const [start, end] = [x(from / total), x((from + value) / total)];
        shape(group, "rect", { x: start, y: y - 7, width: Math.max(0.5, end - start - 1), height: 14, fill: colourOf(name), opacity: 0.9, class: "mark" });
        from += value;
      }
      shape(group, "text", { x: (total ? frame.right : frame.left) + 8, y: y + 4, class: total ? "" : "small" }, total ? format(total) : "not seen");
      group.onpointermove = group.onpointerdown = (event) => view.tip(event, nameOf(section, cell), visible.map(([name, value]) => [name, `${format(value)} (${Format.share(value / total)})`, colourOf(name)]));
    });
    svg.onpointerleave = () => view.tip(null);
  }
}
