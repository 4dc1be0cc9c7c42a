// A plane of points, each a small picture with a label, and next to it the output of a network for the point under
// the pointer. The page evaluates the network's layers itself.

const plane = {
  EDGE: 16, // pixels between the points and the border
  SIDE: 24, // of a picture on the plane
  CELL: 34, // of a picture when the entire plane is decoded
  STEP: 8, // pixels that an arrow key moves

  /** Render into a node. See Plane.data() in examples/lesson/blocks.py. */
  draw(parent, data) {
    const network = data.network.map((layer) => ({ ...layer, weight: viz.bytes(layer.weight, Float32Array), bias: viz.bytes(layer.bias, Float32Array) }));
    const state = { ...data, network, points: viz.bytes(data.points, Float32Array), pictures: viz.bytes(data.pictures),
      names: [...new Set(data.labels)].sort(), only: null, everywhere: false };
    plane.build(parent, state);
    plane.listen(state);
    viz.theme.onChange(() => plane.paint(state));
    new ResizeObserver(() => plane.fit(state)).observe(state.canvas);
  },

  build(parent, state) {
    const [rows, columns] = state.shape;
    state.canvas = viz.el("canvas", { tabindex: 0, role: "application", "aria-label": `${state.title}: arrow keys move the place that is decoded` });
    state.decoded = new Float32Array(rows * columns);
    state.picture = viz.heat({ rows, columns, value: (i) => state.decoded[i], label: "what the network draws at this place", colours: ["ink", "ink"] });
    state.original = viz.heat({ rows, columns, value: (i) => state.pictures[state.nearest * rows * columns + i] / 255, label: "the nearest picture", colours: ["ink", "ink"] });
    state.place = viz.el("p", { class: "place" });
    state.nearestLabel = viz.el("p", { class: "quiet" });
    state.keys = state.names.map((name, n) => viz.el("button", { type: "button", style: viz.series(n), "aria-pressed": "false",
      onclick: () => plane.choose(state, name) }, name));
    state.all = viz.el("button", { type: "button", "aria-pressed": "false", onclick: () => plane.decodeAll(state) }, "Decode everywhere");
    parent.append(viz.el("figure", { class: "plane" },
      viz.el("figcaption", {}, state.title),
      viz.el("div", { class: "bar" }, viz.el("div", { class: "keys", role: "group", "aria-label": "show one label" }, state.keys), state.all),
      viz.el("div", { class: "split" }, viz.el("div", { class: "map" }, state.canvas),
        viz.el("div", { class: "detail" }, state.place, state.picture, state.nearestLabel, state.original))));
  },

  listen(state) {
    const { canvas } = state;
    canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => plane.point(state, offsetX, offsetY));
    canvas.addEventListener("pointerdown", ({ offsetX, offsetY }) => plane.point(state, offsetX, offsetY));
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const [x, y] = plane.onCanvas(state, ...state.code);
      plane.point(state, x + step[0] * plane.STEP, y + step[1] * plane.STEP);
    });
  },

  // The network -----------------------------------------------------------------------------------------------

  /** The layers' output for a vector: y = f(W x + b), one after another. */
  decode(network, vector) {
    let x = vector;
    for (const { weight, bias, after } of network) {
      const y = new Float32Array(bias.length), wide = x.length;
      for (let i = 0; i < y.length; i++) {
        let sum = bias[i];
        for (let j = 0; j < wide; j++) sum += weight[i * wide + j] * x[j];
        y[i] = plane.after[after](sum);
      }
      x = y;
    }
    return x;
  },

  after: { "": (x) => x, tanh: Math.tanh, sigmoid: (x) => 1 / (1 + Math.exp(-x)) },

  // Coordinates -----------------------------------------------------------------------------------------------

  /** Fit all points into the canvas, with one scale for both axes. */
  fit(state) {
    const { canvas, points } = state, ratio = devicePixelRatio || 1, { clientWidth: wide, clientHeight: high } = canvas;
    if (!wide || !high) return;
    canvas.width = wide * ratio;
    canvas.height = high * ratio;
    const across = points.filter((_, i) => i % 2 === 0), up = points.filter((_, i) => i % 2);
    const ends = [across, up].map((part) => [part.reduce((a, b) => Math.min(a, b)), part.reduce((a, b) => Math.max(a, b))]);
    const room = [wide, high].map((size, i) => (size - 2 * plane.EDGE) / Math.max(ends[i][1] - ends[i][0], 1e-9));
    state.scale = Math.min(...room);
    state.middle = ends.map(([low, top]) => (low + top) / 2);
    state.code ??= [...points.subarray(0, 2)];
    plane.move(state, state.code);
  },

  onCanvas({ canvas, scale, middle }, x, y) {
    return [canvas.clientWidth / 2 + scale * (x - middle[0]), canvas.clientHeight / 2 - scale * (y - middle[1])];
  },

  code({ canvas, scale, middle }, x, y) {
    return [middle[0] + (x - canvas.clientWidth / 2) / scale, middle[1] - (y - canvas.clientHeight / 2) / scale];
  },

  point(state, x, y) {
    const inside = (at, size) => Math.max(0, Math.min(at, size));
    plane.move(state, plane.code(state, inside(x, state.canvas.clientWidth), inside(y, state.canvas.clientHeight)));
  },

  /** Decode a point of the plane, and show it and the nearest picture. */
  move(state, code) {
    const { points, labels, only } = state;
    state.code = code;
    state.decoded.set(plane.decode(state.network, code));
    let best = 0, least = Infinity;
    for (let i = 0; i < labels.length; i++) {
      const distance = Math.hypot(points[2 * i] - code[0], points[2 * i + 1] - code[1]);
      if (distance < least && (only === null || labels[i] === only)) [best, least] = [i, distance];
    }
    state.nearest = best;
    state.canvas.dataset.code = code.join(" ");
    state.place.textContent = `decoded at (${code.map((x) => x.toFixed(2).replace("-", "−")).join(", ")})`;
    state.nearestLabel.textContent = `nearest: a ${labels[best]}`;
    for (const node of [state.picture, state.original]) node.dispatchEvent(new Event("repaint"));
    plane.paint(state);
  },

  choose(state, name) {
    state.only = state.only === name ? null : name;
    state.keys.forEach((key, n) => key.setAttribute("aria-pressed", state.names[n] === state.only));
    plane.move(state, state.code);
  },

  decodeAll(state) {
    state.everywhere = !state.everywhere;
    state.all.setAttribute("aria-pressed", state.everywhere);
    plane.paint(state);
  },

  // Drawing ---------------------------------------------------------------------------------------------------

  paint(state) {
    if (state.scale === undefined || state.waiting) return;
    state.waiting = true;
    requestAnimationFrame(() => { state.waiting = false; plane.paintNow(state); });
  },

  paintNow(state) {
    const { canvas } = state, context = canvas.getContext("2d"), ratio = devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    context.imageSmoothingEnabled = false;
    if (state.everywhere) plane.paintEverywhere(state, context);
    else plane.paintPoints(state, context);
    const [x, y] = plane.onCanvas(state, ...state.code);
    context.strokeStyle = viz.colour("ink");
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 7, 0, 2 * Math.PI);
    context.moveTo(x - 12, y);
    context.lineTo(x + 12, y);
    context.moveTo(x, y - 12);
    context.lineTo(x, y + 12);
    context.stroke();
  },

  /** Pictures of points while there is room, in order, and dots for the others. */
  paintPoints(state, context) {
    const { labels, names, only, shape: [rows, columns] } = state, size = rows * columns, half = plane.SIDE / 2;
    const colours = names.map((_, n) => viz.rgb(`series-${n % 8}`)), stamps = [];
    for (let i = 0; i < labels.length; i++) {
      if (only !== null && labels[i] !== only) continue;
      const [x, y] = plane.onCanvas(state, state.points[2 * i], state.points[2 * i + 1]), colour = colours[names.indexOf(labels[i])];
      if (stamps.every(([a, b]) => Math.abs(a - x) > plane.SIDE || Math.abs(b - y) > plane.SIDE)) {
        stamps.push([x, y]);
        const part = (k) => state.pictures[i * size + k] / 255;
        context.drawImage(plane.stamp(state, part, colour), x - half, y - half, plane.SIDE, plane.SIDE);
      } else {
        context.fillStyle = `rgba(${colour.join(",")},.6)`;
        context.fillRect(x - 2, y - 2, 4, 4);
      }
    }
  },

  /** The network's output at the middle of each cell. */
  paintEverywhere(state, context) {
    const { clientWidth: wide, clientHeight: high } = state.canvas, side = plane.CELL, colour = viz.rgb("ink");
    for (let x = 0; x < wide; x += side) for (let y = 0; y < high; y += side) {
      const decoded = plane.decode(state.network, plane.code(state, x + side / 2, y + side / 2));
      context.drawImage(plane.stamp(state, (k) => decoded[k], colour), x + 1, y + 1, side - 2, side - 2);
    }
  },

  /** A small canvas with a picture in one colour on a transparent background. */
  stamp({ shape: [rows, columns] }, part, colour) {
    const image = new ImageData(columns, rows), canvas = viz.el("canvas", { width: columns, height: rows });
    for (let k = 0; k < rows * columns; k++) {
      image.data.set(colour, 4 * k);
      image.data[4 * k + 3] = Math.round(255 * part(k));
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  },
};
