// An embedding: a map of words to pan and zoom, a search, and the neighbours of the selected word.

const embedding = {
  MAX_RESULTS: 30, // maximum words that a search lists
  MAX_NAMES: 140, // names on the map at once
  MAX_ATTEMPTS: 2000, // words on the map that may be tried for a label
  REACH: 14, // hit-test radius in pixels
  widths: new Map(), // of names, in pixels

  open(main, data) {
    embedding.data = {
      ...data, points: viz.bytes(data.points, Float32Array), indices: viz.bytes(data.indices, Int32Array),
      cosines: viz.bytes(data.cosines, Int16Array), // in 32767ths
      lower: data.tokens.map((t) => t.toLowerCase()), zero: new Set(data.zero),
    };
    embedding.selected = embedding.hovered = null;
    embedding.build(main);
    embedding.fit();
    viz.theme.onChange(() => embedding.draw());
    new ResizeObserver(() => embedding.fit(true)).observe(embedding.canvas);
  },

  build(main) {
    const { data } = embedding, count = data.tokens.length.toLocaleString("en");
    const percent = (part) => `${(100 * part).toFixed(part < .1 ? 1 : 0)} %`;
    embedding.canvas = viz.el("canvas", {
      tabindex: 0, role: "application",
      "aria-label": "map of all words: arrow keys move it, plus and minus enlarge it, 0 shows all",
    });
    embedding.search = viz.el("input", {
      type: "search", placeholder: "Find a word", "aria-label": "find a word",
      autocomplete: "off", spellcheck: "false", oninput: () => embedding.find(),
      onkeydown: (event) => {
        if (event.key === "Enter") embedding.list.querySelector("button")?.click();
        if (event.key === "Escape") { embedding.search.value = ""; embedding.choose(null); }
      },
    });
    embedding.word = viz.el("p", { class: "word" });
    embedding.status = viz.el("p", { class: "quiet", "aria-live": "polite" });
    embedding.list = viz.el("ul");
    const fit = () => embedding.fit();
    const all = viz.el("button", { type: "button", class: "last", id: "all", onclick: fit }, "Show all");
    main.append(
      viz.el("div", { class: "bar" }, viz.el("h1", {}, data.title), all,
        viz.shortcuts([["← → ↑ ↓", "move the map"], ["+ −", "enlarge it, make it smaller"],
          ["0", "all words"], ["Enter", "in the search: the first that was found"], ["Escape", "choose no word"],
          ["Ctrl+wheel ⌘+wheel", "enlarge at the pointer; after a click into the map the wheel alone"]]), viz.theme.button()),
      viz.el("p", { class: "quiet intro" },
        `${count} words of ${data.width} dimensions; the map has the first two principal components, `,
        `${data.explained.map(percent).join(" and ")} of the variance. `,
        `Nearness in the list is the cosine in all ${data.width}.`),
      viz.el("div", { class: "split" }, viz.el("div", { class: "map" }, embedding.canvas),
        viz.el("aside", {}, embedding.search, embedding.word, embedding.status, embedding.list)));
    embedding.listen();
    embedding.choose(null);
  },

  listen() {
    const { canvas } = embedding;
    let from = null, moved = false;
    canvas.addEventListener("pointerdown", (event) => {
      from = [event.offsetX, event.offsetY];
      moved = false;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!from) return embedding.point(embedding.at(event.offsetX, event.offsetY));
      const [dx, dy] = [event.offsetX - from[0], event.offsetY - from[1]];
      if (!moved && Math.hypot(dx, dy) < 4) return;
      moved = true;
      canvas.classList.add("moving");
      from = [event.offsetX, event.offsetY];
      embedding.move(dx, dy);
    });
    const end = () => { from = null; canvas.classList.remove("moving"); };
    canvas.addEventListener("pointerup", (event) => {
      if (from && !moved) embedding.choose(embedding.at(event.offsetX, event.offsetY));
      end();
    });
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", () => embedding.point(null));
    viz.wheel(canvas, (factor, event) => embedding.enlarge(factor, event.offsetX, event.offsetY));
    const middle = () => [canvas.clientWidth / 2, canvas.clientHeight / 2];
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return; // the browser's shortcuts
      const step = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
      if (step) embedding.move(...step);
      else if (event.key === "+" || event.key === "=") embedding.enlarge(1.3, ...middle());
      else if (event.key === "-") embedding.enlarge(1 / 1.3, ...middle());
      else if (event.key === "0") embedding.fit();
      else if (event.key === "Escape") embedding.choose(null);
      else return;
      event.preventDefault();
    });
  },

  // Viewport and hit testing ----------------------------------------------------------------------------------

  /** Fit the map into the canvas; `keep`: after a resize, keep a view that the user has moved. */
  fit(keep = false) {
    const { canvas, data } = embedding, ratio = devicePixelRatio || 1;
    const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
    if (!wide || !high) return;
    canvas.width = wide * ratio;
    canvas.height = high * ratio;
    if (keep && embedding.view?.moved) return embedding.draw();
    let [left, right, low, top] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < data.points.length; i += 2) {
      left = Math.min(left, data.points[i]);
      right = Math.max(right, data.points[i]);
      low = Math.min(low, data.points[i + 1]);
      top = Math.max(top, data.points[i + 1]);
    }
    const room = [(wide - 90) / Math.max(right - left, 1e-9), (high - 50) / Math.max(top - low, 1e-9)];
    const scale = Math.max(Math.min(...room), 1e-9);
    const x = wide / 2 - scale * (left + right) / 2, y = high / 2 + scale * (low + top) / 2;
    embedding.view = { scale, x, y, moved: false };
    embedding.draw();
  },

  place(i) {
    const { view, data } = embedding;
    return [view.x + view.scale * data.points[2 * i], view.y - view.scale * data.points[2 * i + 1]];
  },

  move(dx, dy) {
    Object.assign(embedding.view, { x: embedding.view.x + dx, y: embedding.view.y + dy, moved: true });
    embedding.draw();
  },

  enlarge(factor, x, y) {
    const { view } = embedding;
    view.x = x + (view.x - x) * factor;
    view.y = y + (view.y - y) * factor;
    view.scale *= factor;
    view.moved = true;
    embedding.draw();
  },

  /** The word at a point, or null. The selected word and its neighbours have a larger hit radius. */
  at(x, y) {
    const { data } = embedding;
    let best = null, least = embedding.REACH ** 2;
    const near = new Set(embedding.near());
    for (let i = 0; i < data.tokens.length; i++) {
      const [px, py] = embedding.place(i);
      const distance = ((px - x) ** 2 + (py - y) ** 2) * (near.has(i) ? .4 : 1);
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  },

  /** The selected word, then its neighbours. */
  near() {
    const { data, selected } = embedding;
    if (selected === null) return [];
    if (data.zero.has(selected)) return [selected];
    return [selected, ...data.indices.subarray(selected * data.count, (selected + 1) * data.count)];
  },

  // Drawing ---------------------------------------------------------------------------------------------------

  draw() {
    if (!embedding.view || embedding.waiting) return;
    embedding.waiting = true;
    requestAnimationFrame(() => { embedding.waiting = false; embedding.paint(); });
  },

  paint() {
    const { canvas, hovered } = embedding, context = canvas.getContext("2d"), ratio = devicePixelRatio || 1;
    const near = embedding.near();
    const colour = Object.fromEntries(["ink", "accent", "field"].map((name) => [name, viz.colour(name)]));
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.putImageData(embedding.dots(near.length ? .25 : .4), 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.globalAlpha = .6;
    context.lineWidth = 1.25;
    context.strokeStyle = colour.accent;
    for (const i of near.slice(1)) {
      context.beginPath();
      context.moveTo(...embedding.place(near[0]));
      context.lineTo(...embedding.place(i));
      context.stroke();
    }
    context.globalAlpha = 1;
    for (const i of near) embedding.dot(context, i, i === near[0] ? colour.ink : colour.accent);
    if (hovered !== null) embedding.dot(context, hovered, colour.ink);
    embedding.names(context, [hovered, ...near].filter((i) => i !== null), new Set(near), colour);
  },

  /** All words as small squares, written to an image buffer: a draw call for each is too slow. */
  dots(alpha) {
    const { canvas, data, view } = embedding, { width, height } = canvas, ratio = devicePixelRatio || 1;
    const size = Math.max(2, Math.round(3 * ratio)), image = new ImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer), [r, g, b] = viz.rgb("quiet");
    const shade = (part) => ((Math.round(255 * part) << 24) | (b << 16) | (g << 8) | r) >>> 0;
    const once = shade(alpha), more = shade(1.6 * alpha);
    for (let i = 0; i < data.tokens.length; i++) {
      const left = Math.round((view.x + view.scale * data.points[2 * i]) * ratio - size / 2);
      const top = Math.round((view.y - view.scale * data.points[2 * i + 1]) * ratio - size / 2);
      if (left < 0 || top < 0 || left + size > width || top + size > height) continue;
      for (let y = top; y < top + size; y++) {
        for (let at = y * width + left, end = at + size; at < end; at++) pixels[at] = pixels[at] ? more : once;
      }
    }
    return image;
  },

  dot(context, i, colour) {
    context.fillStyle = colour;
    context.beginPath();
    context.arc(...embedding.place(i), 4, 0, 2 * Math.PI);
    context.fill();
  },

  /** Labels where there is room: first for the selection, then for visible words in order. */
  names(context, first, highlights, colour) {
    const { canvas, data, hovered, selected } = embedding, [wide, high] = [canvas.clientWidth, canvas.clientHeight];
    const cells = new Set(), family = getComputedStyle(document.body).fontFamily;
    let labels = 0, attempts = 0;
    context.textBaseline = "middle";
    const write = (i, forced) => {
      const [x, y] = embedding.place(i), name = viz.short(data.tokens[i]);
      if (x < 0 || y < 0 || x > wide || y > high) return;
      attempts++;
      const font = `${i === selected || i === hovered ? "600 " : ""}13px ${family}`;
      if (context.font !== font) context.font = font;
      if (!embedding.widths.has(i)) embedding.widths.set(i, context.measureText(name).width);
      const long = embedding.widths.get(i), start = x + 8 + long > wide ? x - 8 - long : x + 8;
      const footprint = [];
      for (let cx = Math.floor(start / 8); cx <= Math.floor((start + long) / 8); cx++) {
        for (let cy = Math.floor((y - 8) / 8); cy <= Math.floor((y + 8) / 8); cy++) footprint.push(cx * 4096 + cy);
      }
      if (!forced && footprint.some((cell) => cells.has(cell))) return;
      footprint.forEach((cell) => cells.add(cell));
      labels++;
      context.globalAlpha = .8;
      context.fillStyle = colour.field;
      context.fillRect(start - 1, y - 7, long + 2, 14);
      context.globalAlpha = 1;
      context.fillStyle = highlights.has(i) && i !== selected && i !== hovered ? colour.accent : colour.ink;
      context.fillText(name, start, y);
    };
    first.forEach((i) => write(i, i === hovered || i === selected));
    const enough = () => labels >= embedding.MAX_NAMES || attempts >= embedding.MAX_ATTEMPTS;
    for (let i = 0; selected === null && i < data.tokens.length && !enough(); i++) {
      if (i !== hovered) write(i, false);
    }
  },

  // Selection -------------------------------------------------------------------------------------------------

  point(i) {
    if (i === embedding.hovered) return;
    embedding.hovered = i;
    embedding.canvas.classList.toggle("pointing", i !== null);
    for (const button of embedding.list.querySelectorAll("button")) {
      button.classList.toggle("hovered", Number(button.dataset.word) === i);
    }
    embedding.draw();
  },

  choose(i) {
    const { data } = embedding;
    embedding.selected = i;
    embedding.word.textContent = i === null ? "" : viz.short(data.tokens[i], 200);
    embedding.word.hidden = i === null;
    if (i === null) embedding.find();
    else {
      const message = data.count ? "Nearest by cosine" : "There is no other word.";
      embedding.status.textContent = data.zero.has(i) ? "Its vector is all zeros: it points nowhere." : message;
      embedding.show(embedding.near().slice(1).map((j, k) => [j, data.cosines[i * data.count + k] / 32767]));
    }
    embedding.draw();
  },

  /** List the words that contain the text, prefix matches first. */
  find() {
    const { data } = embedding, text = embedding.search.value.trim().toLowerCase();
    if (embedding.selected !== null && text) {
      embedding.selected = null;
      embedding.word.hidden = true;
      embedding.draw();
    }
    if (embedding.selected !== null) return;
    const rank = (i) => (data.lower[i] === text ? 0 : data.lower[i].startsWith(text) ? 1 : 2);
    const matches = text ? data.lower.flatMap((t, i) => (t.includes(text) ? [i] : [])) : [];
    matches.sort((a, b) => rank(a) - rank(b) || a - b);
    const summary = `${matches.length.toLocaleString("en")} ${matches.length === 1 ? "word has" : "words have"} it`;
    embedding.status.textContent = text ? summary : "Click a word, or search for one, to see what is near.";
    embedding.show(matches.slice(0, embedding.MAX_RESULTS).map((i) => [i, null]));
  },

  /** Fill the list with words and their cosines, or null. */
  show(words) {
    embedding.list.replaceChildren(...words.map(([i, cosine]) => viz.el("li", {}, embedding.entry(i, cosine))));
  },

  entry(i, cosine) {
    const part = cosine === null ? null : `--part:${Math.max(0, cosine).toFixed(3)}`;
    const number = cosine === null ? "" : cosine.toFixed(2).replaceAll("-", "−");
    const on = () => embedding.point(i), off = () => embedding.point(null);
    return viz.el("button", {
      type: "button", "data-word": i, style: part, onpointerenter: on, onpointerleave: off, onfocus: on,
      onblur: off, onclick: () => { embedding.search.value = ""; embedding.choose(i); },
    }, viz.el("span", { class: "name" }, viz.short(embedding.data.tokens[i])),
    viz.el("span", { class: "cosine" }, number));
  },
};

{
  const main = document.getElementById("embedding");
  if (main) viz.data().then(({ embedding: data }) => embedding.open(main, data));
}
