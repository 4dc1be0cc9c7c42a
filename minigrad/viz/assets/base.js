// What all pages share. Everything is in `viz`: a page's scripts are joined, in order, into one file.
"use strict";

const viz = {
  /**
   * The page's data. Numbers that are not finite are strings: `viz.number` reads them.
   * If it cannot be read, the page says why.
   */
  async data() {
    const { type, textContent } = document.getElementById("data");
    try {
      return JSON.parse(type.endsWith("+deflate") ? await viz.unpacked(textContent) : textContent);
    } catch (error) {
      const old = typeof DecompressionStream === "undefined"; // before Chrome 80, Firefox 113 and Safari 16.4
      const why = old ? "This browser is too old to unpack what the page shows: a newer one can."
        : "This page is damaged: what it shows cannot be read.";
      document.body.prepend(viz.el("p", { id: "unreadable", class: "wrong", role: "alert" }, why));
      throw error;
    }
  },

  /** Decompress text. */
  async unpacked(text) {
    const stream = new Blob([viz.bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text();
  },

  /** Decode base64 into numbers of a kind: Uint8Array, Int8Array, Float32Array (little-endian). */
  bytes(text, Kind = Uint8Array) {
    return new Kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  },

  /** A number that may be encoded as "NaN", "Infinity" or "-Infinity". */
  number(value) { return typeof value === "string" ? Number(value) : value; },

  /** An element: attributes by name ("class", "onclick"), then children (nodes, or text, which stays text). */
  el(name, attributes = {}, ...children) {
    return viz.filled(document.createElement(name), attributes, children);
  },

  /** The same for SVG. */
  svg(name, attributes = {}, ...children) {
    return viz.filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
  },

  filled(made, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value === true) made.setAttribute(key, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children.flat().map((child) => (child instanceof Node ? child : String(child))));
    return made;
  },

  /** A readable number: 4 significant digits. */
  format(value) {
    const x = viz.number(value);
    if (!Number.isFinite(x)) return String(x);
    if (Number.isInteger(x) && Math.abs(x) < 1e6) return String(x);
    const size = Math.abs(x);
    return size !== 0 && (size < 1e-3 || size >= 1e6) ? x.toExponential(2) : String(Number(x.toPrecision(4)));
  },

  /** A text with visible, distinguishable blanks. (Like `clean` in vector.py.) */
  visible(text) {
    if (/[^ ]/.test(text) && /^[\p{Cf}\p{Zs}]+$/u.test(text)) {
      return [...text].map((c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`).join(" ");
    }
    const marks = { "\n": "↵", "\r": "␍", "\t": "⇥" };
    const drawn = text.replace(/[\n\r\t]/g, (c) => marks[c])
      .replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\ufffe\uffff\u202a-\u202e\u2066-\u2069]/gu, "\ufffd");
    if (/^ *$/.test(drawn)) return "␣".repeat(drawn.length) || "∅";
    return drawn.replace(/^ +| +$/g, (spaces) => "·".repeat(spaces.length));
  },

  /** A text as shown next to a row: not too long, and with visible blanks. */
  short(text, longest = 24) {
    const letters = [...viz.visible(text.slice(0, 2 * longest + 2))]; // one or two UTF-16 units each
    return (letters.length <= longest ? letters : [...letters.slice(0, longest - 1), "…"]).join("");
  },

  /** The value of one of the page's colours, such as "accent", in the current theme. */
  colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); },

  /** The same as [red, green, blue]. */
  rgb(name) { return viz.colour(name).match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16)); },

  /** A style that gives a run, head, … its own colour, as `var(--own)`; colours repeat from the ninth on. */
  series(number) { return `--own: var(--series-${number % 8})`; },

  /**
   * Text on the accent, which covers the page's paper with some opacity: black or white, whichever stands
   * out more (at least 4.5 : 1; in between, ink and paper would both be too faint). (Like palette.py.)
   */
  onAccent(opacity = 1) {
    const [paper, accent] = [viz.rgb("paper"), viz.rgb("accent")];
    const shade = accent.map((a, i) => (paper[i] + opacity * (a - paper[i])) / 255);
    const [r, g, b] = shade.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
  },

  /**
   * Numbers as a picture, one cell each, row by row: blue above zero, red below, the field's own colour at
   * zero, and grey if not finite. The canvas is repainted when the theme changes.
   *
   * value(i) is the number in cell i; one of size `most` has the full colour, and `shade` maps a fraction of it
   * (0 to 1) to an opacity. `colours`: the names of those above and below zero. `side`: a cell's size in pixels;
   * by default, the style decides. `label`: a description.
   * `tell(row, column, number)` is called for the cell under the pointer, `tell(null)` when the pointer leaves.
   */
  heat({ rows, columns, value, most = 1, shade = (part) => part, colours = ["plus", "minus"], side = null, label = null, tell = null }) {
    const named = label ? { role: "img", "aria-label": label } : {};
    const canvas = viz.el("canvas", { class: "heat", width: columns, height: rows, ...named });
    if (side) Object.assign(canvas.style, { width: `${columns * side}px`, height: `${rows * side}px` });
    const paint = () => {
      const [plus, minus, unknown] = [...colours, "quiet"].map(viz.rgb);
      const image = new ImageData(columns, rows);
      for (let i = 0; i < rows * columns; i++) {
        const x = value(i), known = Number.isFinite(x), part = Math.min(Math.abs(x) / (most || 1), 1);
        image.data.set(known ? (x < 0 ? minus : plus) : unknown, 4 * i);
        image.data[4 * i + 3] = known ? Math.round(255 * shade(part)) : 255;
      }
      canvas.getContext("2d").putImageData(image, 0, 0);
    };
    const cell = (at, size, count) => Math.max(0, Math.min(Math.floor(at / size * count), count - 1));
    if (tell) {
      canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
        const row = cell(offsetY, canvas.clientHeight, rows);
        const column = cell(offsetX, canvas.clientWidth, columns);
        tell(row, column, value(row * columns + column));
      });
      canvas.addEventListener("pointerleave", () => tell(null));
    }
    canvas.addEventListener("repaint", paint);
    paint();
    return canvas;
  },

  /** Repaint the heat maps on the page, or in a part of it, in the theme's colours. */
  repaint(root = document) { for (const canvas of root.querySelectorAll("canvas.heat")) canvas.dispatchEvent(new Event("repaint")); },

  /**
   * What the wheel does over a picture: it scrolls the surrounding page. It zooms with Ctrl or ⌘ (a trackpad's
   * pinch is a wheel with Ctrl), and after a click into the picture until Escape or a click elsewhere.
   * zoom(factor, event) zooms. `click`: false if the wheel scrolls the picture itself and only Ctrl zooms.
   */
  wheel(picture, zoom, { click = true } = {}) {
    const engage = (on) => picture.classList.toggle("engaged", on);
    picture.addEventListener("wheel", (event) => {
      const held = event.ctrlKey || event.metaKey;
      if (!held && !picture.classList.contains("engaged")) {
        if (click) viz.hint(picture, `${/Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl"} + wheel zooms`);
        return;
      }
      event.preventDefault();
      const pinch = held && Math.abs(event.deltaY) < 40;
      zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : pinch ? 0.01 : 0.0015)), event);
    }, { passive: false });
    if (!click) return;
    if (parent !== window) picture.classList.add("framed"); // where a finger also scrolls the surroundings
    addEventListener("click", ({ target }) => engage(picture.contains(target)), true);
    addEventListener("blur", () => engage(false));
    addEventListener("keydown", ({ key }) => { if (key === "Escape") engage(false); }, true);
  },

  /** Show a short message on a picture for a moment. */
  hint(picture, text) {
    const { left, right, top, bottom } = picture.getBoundingClientRect();
    let note = document.getElementById("hint");
    if (!note) document.body.append(note = viz.el("div", { id: "hint", role: "status" }));
    note.textContent = text;
    note.style.left = `${(left + right) / 2}px`;
    note.style.top = `${(Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2}px`;
    note.classList.add("shown");
    clearTimeout(note.dataset.timer);
    note.dataset.timer = setTimeout(() => note.classList.remove("shown"), 1200);
  },

  /** A "?" button that, like the key, shows the page's shortcuts: [[keys, effect]]; keys are separated. */
  shortcuts(all) {
    const row = ([keys, does]) => viz.el("tr", {},
      viz.el("th", { scope: "row" }, keys.split(" ").map((key) => [viz.el("kbd", {}, key), " "]).flat()), viz.el("td", {}, does));
    const close = viz.el("button", { type: "button", class: "close", "aria-label": "close", onclick: () => dialog.close() }, "✕");
    const open = () => { // not in the page until then
      dialog.replaceChildren(close, viz.el("h2", {}, "Shortcuts"), viz.el("table", {}, all.map(row)));
      dialog.showModal();
    };
    const dialog = viz.el("dialog", { id: "shortcuts", "aria-label": "shortcuts", onclose: () => dialog.replaceChildren(),
      onclick: ({ target }) => { if (target === dialog) dialog.close(); }, // outside it
      onkeydown: (event) => {
        event.stopPropagation(); // the page does not receive them
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
    /** Light or dark: the system's setting, or a later choice. `changed` notifies code that must redraw. */
    listeners: [],
    get() { return document.documentElement.dataset.theme; },
    set(name) {
      document.documentElement.dataset.theme = name;
      document.getElementById("dark").media = name === "dark" ? "screen" : "not all";
      viz.repaint();
      for (const listener of viz.theme.listeners) listener(name);
    },
    changed(listener) { viz.theme.listeners.push(listener); },
    button() {
      const name = "light or dark", other = () => (viz.theme.get() === "dark" ? "light" : "dark");
      return viz.el("button", { id: "theme", type: "button", title: name, "aria-label": name,
        onclick: () => viz.theme.set(other()) }, "◐");
    },
  },

  /**
   * Several views on one page (linked.js), each in a frame: messages between a frame and the page.
   * A message is plain data under "viz"; a standalone page receives none and shows no links.
   */
  link: {
    tell(message, frame = parent) { if (frame !== window) frame.postMessage({ viz: message }, "*"); },
    heard(listener, from = () => parent) {
      addEventListener("message", ({ source, data }) => {
        if (source !== window && source === from() && data?.viz) listener(data.viz);
      });
    },
  },

  /** Offer a file. */
  download(name, text, type) {
    const link = viz.el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  },

  /** An SVG element of the page as a separate file, with the theme's colours written out. */
  saveSvg(svg, name) {
    const copy = svg.cloneNode(true);
    const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    const written = ["fill", "stroke", "stroke-width", "paint-order", "opacity", "font-family", "font-size",
      "font-weight", "text-anchor"];
    from.forEach((node, i) => {
      const style = getComputedStyle(node);
      for (const key of written) to[i].style.setProperty(key, style.getPropertyValue(key));
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const { x, y } = svg.viewBox.baseVal; // a background that every program draws
    copy.prepend(viz.svg("rect", { x, y, width: "100%", height: "100%", fill: viz.colour("paper") }));
    viz.download(name, new XMLSerializer().serializeToString(copy), "image/svg+xml");
  },
};

{
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let scheme = "system"; // what an enclosing notebook says
  const follow = () => viz.theme.set(scheme === "system" ? (dark.matches ? "dark" : "light") : scheme);
  dark.addEventListener("change", follow);
  follow();
  let before = null; // paper is light
  addEventListener("beforeprint", () => { before = viz.theme.get(); viz.theme.set("light"); });
  addEventListener("afterprint", () => viz.theme.set(before));
  viz.link.heard(({ theme, scheme: told = scheme }) => {
    if (told !== scheme) {
      scheme = told;
      follow();
    }
    if (!theme) return;
    document.body.dataset.linked = ""; // the enclosing page has the button
    viz.theme.set(theme);
  });
  viz.link.tell({ framed: "new" });
  let later = 0; // a page's height changes often while it is drawn
  new ResizeObserver(() => {
    clearTimeout(later);
    later = setTimeout(() => viz.link.tell({ framed: Math.ceil(document.body.getBoundingClientRect().height) }), 100);
  }).observe(document.body);
}
