// Shared by all pages. Everything is in `viz`; a page's scripts are concatenated, in order.
"use strict";

const viz = {
  /**
   * Parse the page's data. Non-finite numbers are strings; `viz.number` converts them.
   * On failure, show an error message and rethrow.
   */
  async data() {
    const { type, textContent } = document.getElementById("data");
    try {
      return JSON.parse(type.endsWith("+deflate") ? await viz.inflate(textContent) : textContent);
    } catch (error) {
      const old = typeof DecompressionStream === "undefined"; // before Chrome 80, Firefox 113 and Safari 16.4
      const why = old ? "This browser is too old to unpack what the page shows: a newer one can."
        : "This page is damaged: what it shows cannot be read.";
      document.body.prepend(viz.el("p", { id: "unreadable", class: "wrong", role: "alert" }, why));
      throw error;
    }
  },

  /** Decompress base64-encoded deflate data into text. */
  async inflate(text) {
    const stream = new Blob([viz.bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text();
  },

  /** Decode base64 into a typed array: Uint8Array, Int8Array, Float32Array (little-endian). */
  bytes(text, Kind = Uint8Array) {
    return new Kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  },

  /** A number that may be encoded as "NaN", "Infinity" or "-Infinity". */
  number(value) { return typeof value === "string" ? Number(value) : value; },

  /** Create an element: attributes and event listeners ("onclick") by name, then children (nodes or plain text). */
  el(name, attributes = {}, ...children) {
    return viz.configure(document.createElement(name), attributes, children);
  },

  /** Create an SVG element. */
  svg(name, attributes = {}, ...children) {
    return viz.configure(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
  },

  configure(element, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (value === true) element.setAttribute(key, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
    }
    element.append(...children.flat().map((child) => (child instanceof Node ? child : String(child))));
    return element;
  },

  /** Format a number with 4 significant digits. */
  format(value) {
    const x = viz.number(value);
    if (!Number.isFinite(x)) return String(x);
    if (Number.isInteger(x) && Math.abs(x) < 1e6) return String(x);
    const size = Math.abs(x);
    return size !== 0 && (size < 1e-3 || size >= 1e6) ? x.toExponential(2) : String(Number(x.toPrecision(4)));
  },

  /** Make whitespace and control characters visible. (Mirrors `clean` in vector.py.) */
  visible(text) {
    if (/[^ ]/.test(text) && /^[\p{Cf}\p{Zs}]+$/u.test(text)) {
      return [...text].map((c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`).join(" ");
    }
    const marks = { "\n": "↵", "\r": "␍", "\t": "⇥" };
    const clean = text.replace(/[\n\r\t]/g, (c) => marks[c])
      .replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\ufffe\uffff\u202a-\u202e\u2066-\u2069]/gu, "\ufffd");
    if (/^ *$/.test(clean)) return "␣".repeat(clean.length) || "∅";
    return clean.replace(/^ +| +$/g, (spaces) => "·".repeat(spaces.length));
  },

  /** Shorten a text for display, with visible whitespace. */
  short(text, longest = 24) {
    const letters = [...viz.visible(text.slice(0, 2 * longest + 2))]; // one or two UTF-16 units each
    return (letters.length <= longest ? letters : [...letters.slice(0, longest - 1), "…"]).join("");
  },

  /** The value of one of the page's colours, such as "accent", in the current theme. */
  colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); },

  /** The same as [red, green, blue]. */
  rgb(name) { return viz.colour(name).match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16)); },

  /** A style that sets the colour of a run, head, … as `var(--own)`; colours repeat from the ninth on. */
  series(number) { return `--own: var(--series-${number % 8})`; },

  /**
   * The text colour on the accent, blended over the paper with some opacity: black or white, whichever has
   * more contrast (at least 4.5 : 1; for mid-tones, ink and paper would both be too faint). (Mirrors palette.py.)
   */
  onAccent(opacity = 1) {
    const [paper, accent] = [viz.rgb("paper"), viz.rgb("accent")];
    const shade = accent.map((a, i) => (paper[i] + opacity * (a - paper[i])) / 255);
    const [r, g, b] = shade.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
  },

  /**
   * A heat map of numbers, row by row: blue above zero, red below, the field's colour at zero, grey if not
   * finite. The canvas repaints when the theme changes.
   *
   * value(i) is the number in cell i; the magnitude `most` gets the full colour, and `shade` maps a fraction of it
   * (0 to 1) to an opacity. `colours`: the colours above and below zero, by name. `side`: the cell size in pixels;
   * by default, CSS decides. `label`: the ARIA label.
   * `onHover(row, column, number)` is called for the cell under the pointer, `onHover(null)` when the pointer leaves.
   */
  heat({ rows, columns, value, most = 1, shade = (part) => part, colours = ["plus", "minus"], side = null, label = null, onHover = null }) {
    const aria = label ? { role: "img", "aria-label": label } : {};
    const canvas = viz.el("canvas", { class: "heat", width: columns, height: rows, ...aria });
    if (side) Object.assign(canvas.style, { width: `${columns * side}px`, height: `${rows * side}px` });
    const paint = () => {
      const [plus, minus, unknown] = [...colours, "quiet"].map(viz.rgb);
      const image = new ImageData(columns, rows);
      for (let i = 0; i < rows * columns; i++) {
        const x = value(i), finite = Number.isFinite(x), part = Math.min(Math.abs(x) / (most || 1), 1);
        image.data.set(finite ? (x < 0 ? minus : plus) : unknown, 4 * i);
        image.data[4 * i + 3] = finite ? Math.round(255 * shade(part)) : 255;
      }
      canvas.getContext("2d").putImageData(image, 0, 0);
    };
    const cell = (at, size, count) => Math.max(0, Math.min(Math.floor(at / size * count), count - 1));
    if (onHover) {
      canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
        const row = cell(offsetY, canvas.clientHeight, rows);
        const column = cell(offsetX, canvas.clientWidth, columns);
        onHover(row, column, value(row * columns + column));
      });
      canvas.addEventListener("pointerleave", () => onHover(null));
    }
    canvas.addEventListener("repaint", paint);
    paint();
    return canvas;
  },

  /** Repaint the heat maps on the page, or in a part of it, in the theme's colours. */
  repaint(root = document) { for (const canvas of root.querySelectorAll("canvas.heat")) canvas.dispatchEvent(new Event("repaint")); },

  /**
   * Handle the wheel over a picture: it scrolls the page, but zooms with Ctrl or ⌘ (a trackpad pinch is a wheel
   * event with Ctrl), and after a click on the picture until Escape or a click outside.
   * zoom(factor, event) zooms. `click`: false if the wheel scrolls the picture itself and only Ctrl zooms.
   */
  wheel(picture, zoom, { click = true } = {}) {
    const engage = (on) => picture.classList.toggle("engaged", on);
    picture.addEventListener("wheel", (event) => {
      const modifier = event.ctrlKey || event.metaKey;
      if (!modifier && !picture.classList.contains("engaged")) {
        if (click) viz.hint(picture, `${/Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl"} + wheel zooms`);
        return;
      }
      event.preventDefault();
      const pinch = modifier && Math.abs(event.deltaY) < 40;
      zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : pinch ? 0.01 : 0.0015)), event);
    }, { passive: false });
    if (!click) return;
    if (parent !== window) picture.classList.add("framed"); // touch also scrolls the parent page
    addEventListener("click", ({ target }) => engage(picture.contains(target)), true);
    addEventListener("blur", () => engage(false));
    addEventListener("keydown", ({ key }) => { if (key === "Escape") engage(false); }, true);
  },

  /** Briefly show a message over a picture. */
  hint(picture, text) {
    const { left, right, top, bottom } = picture.getBoundingClientRect();
    let note = document.getElementById("hint");
    if (!note) document.body.append(note = viz.el("div", { id: "hint", role: "status" }));
    note.textContent = text;
    note.style.left = `${(left + right) / 2}px`;
    note.style.top = `${(Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2}px`;
    note.classList.add("visible");
    clearTimeout(note.dataset.timer);
    note.dataset.timer = setTimeout(() => note.classList.remove("visible"), 1200);
  },

  /** A "?" button that, like the key, opens the shortcuts: [[keys, effect]], keys separated by spaces. */
  shortcuts(all) {
    const row = ([keys, effect]) => viz.el("tr", {},
      viz.el("th", { scope: "row" }, keys.split(" ").map((key) => [viz.el("kbd", {}, key), " "]).flat()), viz.el("td", {}, effect));
    const close = viz.el("button", { type: "button", class: "close", "aria-label": "close", onclick: () => dialog.close() }, "✕");
    const open = () => { // no content while closed
      dialog.replaceChildren(close, viz.el("h2", {}, "Shortcuts"), viz.el("table", {}, all.map(row)));
      dialog.showModal();
    };
    const dialog = viz.el("dialog", { id: "shortcuts", "aria-label": "shortcuts", onclose: () => dialog.replaceChildren(),
      onclick: ({ target }) => { if (target === dialog) dialog.close(); }, // the backdrop
      onkeydown: (event) => {
        event.stopPropagation(); // hide keys from the page
        if (event.key === "?") dialog.close();
      } });
    document.body.append(dialog);
    document.addEventListener("keydown", ({ key, target }) => {
      if (key === "?" && !target.matches?.("input, select, textarea")) open();
    });
    return viz.el("button", { id: "help", type: "button", title: "shortcuts (?)", "aria-label": "shortcuts",
      onclick: open }, "?");
  },

  theme: {
    /** Light or dark: the system's scheme, until the user changes it. `onChange` registers a listener. */
    listeners: [],
    get() { return document.documentElement.dataset.theme; },
    set(name) {
      document.documentElement.dataset.theme = name;
      document.getElementById("dark").media = name === "dark" ? "screen" : "not all";
      viz.repaint();
      for (const listener of viz.theme.listeners) listener(name);
    },
    onChange(listener) { viz.theme.listeners.push(listener); },
    button() {
      const name = "light or dark", other = () => (viz.theme.get() === "dark" ? "light" : "dark");
      return viz.el("button", { id: "theme", type: "button", title: name, "aria-label": name,
        onclick: () => viz.theme.set(other()) }, "◐");
    },
  },

  /**
   * Messages between a page and its frames, such as linked views (linked.js): plain data under "viz".
   * A standalone page receives none and shows no links.
   */
  link: {
    send(message, frame = parent) { if (frame !== window) frame.postMessage({ viz: message }, "*"); },
    listen(onMessage, from = () => parent) {
      addEventListener("message", ({ source, data }) => {
        if (source !== window && source === from() && data?.viz) onMessage(data.viz);
      });
    },
  },

  /** Download text as a file. */
  download(name, text, type) {
    const link = viz.el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  },

  /** Download an SVG element, with its computed styles inlined. */
  saveSvg(svg, name) {
    const copy = svg.cloneNode(true);
    const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    const properties = ["fill", "stroke", "stroke-width", "paint-order", "opacity", "font-family", "font-size",
      "font-weight", "text-anchor"];
    from.forEach((node, i) => {
      const style = getComputedStyle(node);
      for (const key of properties) to[i].style.setProperty(key, style.getPropertyValue(key));
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const { x, y } = svg.viewBox.baseVal; // an explicit background, for any viewer
    copy.prepend(viz.svg("rect", { x, y, width: "100%", height: "100%", fill: viz.colour("paper") }));
    viz.download(name, new XMLSerializer().serializeToString(copy), "image/svg+xml");
  },
};

{
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let scheme = "system"; // set by the enclosing notebook
  const follow = () => viz.theme.set(scheme === "system" ? (dark.matches ? "dark" : "light") : scheme);
  dark.addEventListener("change", follow);
  follow();
  let before = null; // always print in light mode
  addEventListener("beforeprint", () => { before = viz.theme.get(); viz.theme.set("light"); });
  addEventListener("afterprint", () => viz.theme.set(before));
  viz.link.listen(({ theme, scheme: next = scheme }) => {
    if (next !== scheme) {
      scheme = next;
      follow();
    }
    if (!theme) return;
    document.body.dataset.linked = ""; // the parent page has the theme button
    viz.theme.set(theme);
  });
  viz.link.send({ framed: "new" });
  let timer = 0; // debounces height changes
  new ResizeObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(() => viz.link.send({ framed: Math.ceil(document.body.getBoundingClientRect().height) }), 100);
  }).observe(document.body);
}
