// Line charts as SVG, drawn anew at every sample.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 130;
const LEFT = 44;
const BOTTOM = 6;
const TOP = 8;
const SHORTEST = 60;

function svg(name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

export class Chart {
  /** @param series names, in the order of the colours */
  constructor(title, series, format, samples) {
    this.series = series;
    this.format = format;
    this.samples = samples;
    this.values = series.map(() => []);
    this.node = document.createElement("div");
    this.node.className = "chart";
    const head = document.createElement("h2");
    head.textContent = title;
    this.legend = document.createElement("div");
    this.legend.className = "legend";
    this.picture = svg("svg", { role: "img" });
    this.title = title;
    this.node.append(head, this.legend, this.picture);
  }

  add(numbers) {
    numbers.forEach((number, index) => {
      const values = this.values[index];
      values.push(Number.isFinite(number) ? number : 0);
      if (values.length > this.samples) values.shift();
    });
    this.draw();
  }

  draw() {
    const width = this.picture.clientWidth || 360;
    this.picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    // A young chart shows a minute; it grows to the whole span before it starts to scroll.
    const span = Math.max(SHORTEST, ...this.values.map((values) => values.length));
    const top = nice(Math.max(...this.values.flat(), 0));
    const x = (index, count) => LEFT + ((width - LEFT - 4) * (span - count + index)) / (span - 1);
    const y = (value) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * value) / top;
    const parts = [];
    for (const share of [0, 0.5, 1]) {
      parts.push(svg("line", { x1: LEFT, x2: width, y1: y(top * share), y2: y(top * share), stroke: "var(--line)", "stroke-width": 1 }));
      const label = svg("text", { x: LEFT - 6, y: y(top * share) + 4, "text-anchor": "end" });
      label.textContent = this.format(top * share);
      parts.push(label);
    }
    this.values.forEach((values, index) => {
      if (values.length < 2) return;
      const points = values.map((value, at) => `${x(at, values.length).toFixed(1)},${y(value).toFixed(1)}`);
      if (index === 0) {
        const base = y(0).toFixed(1);
        parts.push(svg("polygon", { points: `${x(0, values.length).toFixed(1)},${base} ${points.join(" ")} ${x(values.length - 1, values.length).toFixed(1)},${base}`, fill: "var(--series-1)", opacity: 0.12, stroke: "none" }));
      }
      parts.push(svg("polyline", { points: points.join(" "), stroke: `var(--series-${index + 1})`, fill: "none" }));
    });
    this.picture.replaceChildren(...parts);
    const now = this.series.map((name, index) => `${name} ${this.format(this.values[index].at(-1) ?? 0)}`);
    this.picture.setAttribute("aria-label", `${this.title}: ${now.join(", ")}`);
    this.legend.replaceChildren(...this.series.map((name, index) => {
      const entry = document.createElement("span");
      const mark = document.createElement("i");
      mark.style.background = `var(--series-${index + 1})`;
      const value = document.createElement("b");
      value.textContent = ` ${this.format(this.values[index].at(-1) ?? 0)}`;
      entry.append(mark, name, value);
      return entry;
    }));
  }
}

/** The next round number at or above. */
function nice(value) {
  if (value <= 0) return 1;
  const step = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * step).find((round) => round >= value * 0.999);
}
