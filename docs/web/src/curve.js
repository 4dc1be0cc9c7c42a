// The loss curve, updated while a program trains.

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, LEFT, BOTTOM] = [480, 160, 76, 18];
const MOST = 600; // points; beyond that, every second point is dropped

const svgElement = (tag, attributes, text = "") => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
};

/** Create a curve in an element: `add(step, loss)`, `clear()`. It is hidden until it has two points. */
export function createCurve(parent) {
  const svg = svgElement("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "play-curve", role: "img" });
  svg.hidden = true;
  svg.style.display = "none";
  parent.append(svg);
  let points = [];
  let waiting = false;

  function draw() {
    waiting = false;
    svg.style.display = points.length < 2 ? "none" : "";
    if (points.length < 2) return;
    const losses = points.map(([, loss]) => loss).filter(Number.isFinite);
    const log = Math.min(...losses) > 0;
    const scale = (loss) => (log ? Math.log10(loss) : loss);
    const [low, high] = [scale(Math.min(...losses)), scale(Math.max(...losses))];
    const last = points.at(-1)[0] || 1;
    const x = (step) => LEFT + (step / last) * (WIDTH - LEFT - 8);
    const y = (loss) => 8 + ((high - scale(loss)) / (high - low || 1)) * (HEIGHT - BOTTOM - 14);
    const path = points.filter(([, loss]) => Number.isFinite(loss)).map(([s, loss]) => `${x(s).toFixed(1)},${y(loss).toFixed(1)}`);
    const format = (value) => String(Number((log ? 10 ** value : value).toPrecision(3)));
    const final = points.at(-1)[1];
    svg.setAttribute("aria-label", `loss over ${last + 1} steps: now ${format(scale(final))}`);
    svg.replaceChildren(
      svgElement("line", { x1: LEFT, y1: HEIGHT - BOTTOM, x2: WIDTH - 8, y2: HEIGHT - BOTTOM, class: "axis" }),
      svgElement("text", { x: LEFT - 6, y: 14, class: "end" }, format(high)),
      svgElement("text", { x: LEFT - 6, y: HEIGHT - BOTTOM, class: "end" }, format(low)),
      svgElement("text", { x: LEFT, y: HEIGHT - 4 }, "0"),
      svgElement("text", { x: WIDTH - 8, y: HEIGHT - 4, class: "end" }, `step ${last}, loss ${format(scale(final))}`),
      svgElement("polyline", { points: path.join(" "), class: "line" }),
    );
  }

  return {
    add(step, loss) {
      if (step === 0) points = [];
      points.push([step, Number(loss)]); // JSON has "NaN" and "Infinity" as strings
      if (points.length > MOST) points = points.filter((_, i) => i % 2 === 0 || i === points.length - 1);
      if (!waiting) requestAnimationFrame(draw);
      waiting = true;
    },
    clear() {
      points = [];
      draw();
    },
  };
}
