// Runs in the report's page, after its own script: what a reader does, and what then happens. At once, so that nothing
// depends on when a browser that nobody looks at draws frames.
const seen = { charts: [] };

function read() {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  const text = document.body.textContent;
  // Figures below 100 have decimals; none of the example's has.
  seen["missing values"] = VALUES.filter((value) => !text.includes(Math.round(value).toLocaleString("en")));
  seen["elements from names"] = document.querySelectorAll("main b, main img").length;
  seen["wider than the window"] = document.documentElement.scrollWidth - innerWidth;
  const theme = document.getElementById("theme");
  seen.themes = [1, 2].map(() => (theme.click(), document.documentElement.dataset.theme));
  for (const figure of document.querySelectorAll("figure")) seen.charts.push(readChart(figure));
  seen.requests = performance.getEntriesByType("resource").map((entry) => entry.name);
  const result = document.createElement("script");
  result.type = "application/json";
  result.id = "seen";
  result.textContent = JSON.stringify(seen).replaceAll("<", "\\u003c");
  document.body.append(result);
}

function readChart(figure) {
  const drawing = () => figure.querySelector(".plot svg").innerHTML;
  const chart = { name: figure.dataset.chart };
  const before = drawing();
  chart.drawn = figure.querySelectorAll(".plot polyline, .plot .mark").length;
  chart.labels = figure.querySelectorAll(".plot text").length;
  const plot = figure.querySelector(".plot svg");
  const row = plot.querySelector(".row") || plot;
  const box = row.getBoundingClientRect();
  row.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + 10, bubbles: true }));
  const tip = figure.querySelector(".tip");
  chart.tip = tip.hidden ? null : tip.textContent;
  plot.dispatchEvent(new PointerEvent("pointerleave"));

  const legend = [...figure.querySelectorAll(".legend button")];
  chart.legend = legend.length;
  chart["unchanged by its legend"] = [];
  for (const button of legend) {
    const [shown, pressed] = [drawing(), button.getAttribute("aria-pressed")];
    button.click();
    if (drawing() === shown || button.getAttribute("aria-pressed") === pressed) chart["unchanged by its legend"].push(button.textContent);
    button.click();
  }
  chart.restored = drawing() === before;
  for (const button of legend) button.click();
  chart["everything off is survived"] = figure.querySelector(".plot svg") !== null;
  for (const button of legend) button.click();

  chart["unchanged by its switch"] = [];
  const choices = [...figure.querySelectorAll(".switch button")];
  const chosen = choices.find((button) => button.getAttribute("aria-pressed") === "true");
  for (const button of choices.filter((button) => button !== chosen)) {
    const shown = drawing();
    button.click();
    if (drawing() === shown) chart["unchanged by its switch"].push(button.textContent);
  }
  if (chosen) chosen.click();
  return chart;
}

read();
