"use strict";
// Figures and elements as every chart and table writes them. Text is set, never parsed: names are not to be trusted.

const SVG = "http://www.w3.org/2000/svg";

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== "") made.append(child);
  return made;
}

function shape(parent, tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

const Format = {
  number(value) {
    const size = Math.abs(value);
    const digits = size === 0 || size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    return value.toLocaleString("en", { maximumFractionDigits: digits });
  },
  // No more digits than the spread of runs allows.
  stepped: (value, step) => Format.number(Math.round(value / step) * step),
  short(value) {
    for (const [size, unit] of [[1e9, " G"], [1e6, " M"], [1e3, " k"]])
      if (Math.abs(value) >= size) return `${Number((value / size).toPrecision(3))}${unit}`;
    return `${Number(value.toPrecision(3))}`;
  },
  times(ratio) {
    return `${ratio < 0.1 ? ratio.toFixed(3) : ratio < 1 ? ratio.toFixed(2) : ratio < 20 ? ratio.toFixed(1) : Format.number(Math.round(ratio))}×`;
  },
  gain(ratio) {
    const percent = Math.round((ratio - 1) * 100);
    return `${percent > 0 ? "+" : percent < 0 ? "−" : ""}${Math.abs(percent).toLocaleString("en")} %`;
  },
  share: (share) => (share > 0 && share < 0.01 ? "< 1 %" : `${Math.round(share * 100)} %`),
  milliseconds: (value) => `${value >= 10 ? value.toFixed(0) : value.toPrecision(2)} ms`,
  seconds: (value) => `${value >= 100 ? Format.number(value) : value >= 1 ? value.toFixed(2) : value.toPrecision(2)} s`,
  bytes(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    for (; value >= 1024 && unit < 4; unit++) value /= 1024;
    return `${unit ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
  },
};

const pen = document.createElement("canvas").getContext("2d");
function widthOf(text, size = 12.5) {
  pen.font = `${size}px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Inter, Arial, sans-serif`;
  return pen.measureText(text).width;
}

function clipped(text, width, size) {
  if (widthOf(text, size) <= width) return text;
  let end = text.length;
  while (end > 1 && widthOf(`${text.slice(0, end)}…`, size) > width) end--;
  return `${text.slice(0, end).trimEnd()}…`;
}

// Maps values to pixels; kind is "log" or "linear".
function scale(kind, [from, to], [start, end]) {
  const of = kind === "log" ? (value) => Math.log10(Math.max(value, 1e-9)) : (value) => value;
  const span = of(to) - of(from) || 1;
  const map = (value) => start + ((of(value) - of(from)) / span) * (end - start);
  // Within less than a decade, round steps say more than powers.
  map.ticks = (wanted) => (kind === "log" && to / from > 6 ? decades(from, to, wanted) : steps(from, to, wanted));
  return map;
}

function decades(from, to, wanted) {
  const spans = Math.log10(to / from);
  const within = spans > 3.2 ? [1] : spans > 1.1 ? [1, 3] : [1, 2, 5];
  const all = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++)
    for (const digit of within) all.push(digit * 10 ** power);
  const inside = all.filter((tick) => tick >= from * 0.999 && tick <= to * 1.001);
  const skip = Math.ceil(inside.length / (wanted + 2));
  // The greatest stays: it says how far the axis goes.
  return inside.filter((_, index) => (inside.length - 1 - index) % skip === 0);
}

// From tick to tick, so that no value lies beyond the last label.
function fromTickToTick(kind, least, most, wanted) {
  const powers = (value, digits) => {
    const power = 10 ** Math.floor(Math.log10(value));
    return [...digits, 10].map((digit) => digit * power);
  };
  if (kind === "log" && most / least > 6) {
    const digits = Math.log10(most / least) > 3.2 ? [1] : Math.log10(most / least) > 1.1 ? [1, 3] : [1, 2, 5];
    return [powers(least, digits).findLast((tick) => tick <= least * 1.001), powers(most, digits).find((tick) => tick >= most * 0.999)];
  }
  const [first, second] = steps(kind === "log" ? least : 0, most, wanted);
  const step = second - first;
  const from = kind === "log" ? Math.floor(least / step) * step : 0;
  return [from > 0 || kind !== "log" ? from : least / 1.35, Math.ceil(most / step - 1e-9) * step];
}

function steps(from, to, wanted) {
  const raw = (to - from) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((digit) => digit * power >= raw) * power;
  const all = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to + step * 1e-6; tick += step) all.push(tick);
  return all;
}
