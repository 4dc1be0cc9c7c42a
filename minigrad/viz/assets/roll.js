// A piano roll: time to the right, pitch upwards, a colour for each track. It scrolls, plays, and shows what a note
// attended to when the model generated it.

const roll = {
  RULER: 34, // the height of the time line
  NAMES: 30, KEYS: 30, // the widths of key names and keys
  PAD: 12, // before the first and after the last note
  TALL: 420, // the total height of the rows, within the limits for each row
  ROW: [5, 18],
  MOST: 800, // pixels per second
  LONGEST: 8e6, // pixels in total; browsers allow about 17 million
  AGO: 1, // seconds after its onset for which a sounding note shows its arcs
  SHORTCUTS: [["Space", "play, pause"], ["← →", "the note before, the next note"], ["↑ ↓", "the next higher or lower note at the same time"],
    ["Home End", "the first, the last note"], ["PageUp PageDown", "10 seconds back, 10 seconds on"], ["Enter", "play from the note"],
    ["Escape", "choose no note"], ["+ −", "closer, farther"], ["0", "all of it"], ["Ctrl+wheel ⌘+wheel", "closer, farther"], ["Shift+wheel", "scroll"]],
  OCTAVE: ["C", "C♯", "D", "D♯", "E", "F", "F♯", "G", "G♯", "A", "A♯", "B"],

  open(main, data) {
    const numbers = { pitches: Uint8Array, velocities: Uint8Array, starts: Float32Array, ends: Float32Array, tracks: Int32Array, order: Int32Array, bars: Float32Array };
    const music = { ...data, ...Object.fromEntries(Object.entries(numbers).map(([name, Kind]) => [name, viz.bytes(data[name], Kind)])) };
    music.count = music.pitches.length;
    music.reach = new Float32Array(music.count);
    music.places = new Int32Array(music.count); // by note: its index in the order
    let latest = 0;
    music.order.forEach((note, i) => {
      music.reach[i] = latest = Math.max(latest, music.ends[note]);
      music.places[note] = i;
    });
    music.seconds = Math.max(latest, .1);
    Object.assign(roll, { music, selected: null, hovered: null, highlighted: null, muted: new Set(), measure: data.barred ? "bars" : "seconds",
      arcs: data.attention && new RollArcs(data.attention, music.count), colours: rollDrawing.colours(), scale: 0, own: 0 });
    roll.transport = new RollTransport(music, (note) => !roll.muted.has(music.tracks[note]), () => roll.onPlayback());
    const rows = music.span[1] - music.span[0] + 1;
    roll.row = Math.max(roll.ROW[0], Math.min(roll.ROW[1], Math.floor(roll.TALL / rows)));
    roll.size = { wide: 0, high: roll.RULER + rows * roll.row };
    roll.build(main);
    roll.listen();
    rollDrawing.overview(roll.strip);
    viz.theme.onChange(() => {
      roll.colours = rollDrawing.colours();
      rollDrawing.overview(roll.strip);
      roll.draw(true);
    });
    new ResizeObserver(() => roll.fit()).observe(roll.scroller);
    roll.show();
    roll.onPlayback();
  },

  // Names -----------------------------------------------------------------------------------------------------

  nameOf(pitch) { return `${roll.OCTAVE[pitch % 12]}${Math.floor(pitch / 12) - 1}`.replace("-", "−"); },
  pitchName(note) { return roll.nameOf(roll.music.pitches[note]); },

  /** Minutes and seconds: 1:05, with a digit 1:05.3. */
  clock(seconds, digits = 0) {
    const whole = Math.round(seconds * 10 ** digits), minute = 60 * 10 ** digits;
    const rest = ((whole % minute) / 10 ** digits).toFixed(digits);
    return `${Math.floor(whole / minute)}:${rest.padStart(digits ? 3 + digits : 2, "0")}`;
  },

  // The page --------------------------------------------------------------------------------------------------

  build(main) {
    const { music, arcs } = roll, button = (id, text, onclick, more = {}) => viz.el("button", { id, type: "button", onclick, ...more }, text);
    roll.status = viz.el("p", { class: "sr-only", "aria-live": "polite" });
    roll.keys = viz.el("canvas", { "aria-hidden": "true" });
    roll.back = viz.el("canvas", { "aria-hidden": "true" });
    roll.front = viz.el("canvas", { "aria-hidden": "true" });
    roll.window = viz.el("div", { class: "notes", tabindex: 0, role: "application",
      "aria-label": `${music.title}: the arrow keys walk from note to note, Enter moves the playhead there, space plays` }, roll.back, roll.front);
    roll.wide = viz.el("div", { class: "wide" }, roll.window);
    roll.scroller = viz.el("div", { class: "scroller", tabindex: -1 }, roll.wide);
    roll.strip = viz.el("canvas", {});
    roll.frame = viz.el("div", { class: "window" });
    roll.head = viz.el("div", { class: "head" });
    roll.map = viz.el("div", { class: "overview", "aria-hidden": "true" }, roll.strip, roll.frame, roll.head);
    roll.panel = viz.el("aside", {});
    const count = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
    main.append(
      viz.el("div", { class: "bar" }, viz.el("h1", {}, music.title),
        viz.el("span", { class: "quiet" }, `${count(music.count, "note")}, ${roll.clock(music.seconds)}`),
        viz.el("span", { class: "bar last" }, viz.shortcuts(roll.SHORTCUTS), viz.theme.button())),
      viz.el("div", { class: "bar controls" },
        viz.el("span", { class: "group" }, button("play", "Play", () => roll.toggle(), { title: "space" }), button("stop", "Stop", () => roll.transport.stop()), roll.clockFace()),
        roll.slider("speed", "Speed", { min: .5, max: 2, step: .05, value: 1 }, (value) => { roll.transport.speed = value; }, (value) => `${value.toFixed(2)} ×`),
        roll.slider("loudness", "Loudness", { min: 0, max: 1, step: .01, value: .8 }, (value) => { roll.transport.loudness = value; }, (value) => `${Math.round(100 * value)} %`),
        viz.el("span", { class: "group last" },
          roll.follow = viz.el("input", { type: "checkbox", id: "follow", checked: true }), viz.el("label", { for: "follow" }, "Follow"), roll.axis(),
          button("out", "−", () => roll.zoom(1 / 1.5), { "aria-label": "zoom out", title: "−" }), button("in", "+", () => roll.zoom(1.5), { "aria-label": "zoom in", title: "+" }),
          button("all", "Show all", () => roll.fit(true), { title: "0" }))),
      viz.el("div", { class: "bar controls" }, arcs ? viz.el("span", { class: "group" }, arcs.controls(() => { roll.show(); roll.draw(); }),
        viz.el("label", {}, roll.live = viz.el("input", { type: "checkbox", id: "live", onchange: () => roll.draw() }), " Arcs while it plays")) : "", roll.legend()),
      viz.el("div", { class: arcs ? "split" : "split single" },
        viz.el("div", { class: "left" }, roll.map, viz.el("div", { class: "frame" }, roll.keys, roll.scroller), roll.status), roll.panel));
  },

  clockFace() {
    roll.time = viz.el("span", { id: "time" });
    return roll.time;
  },

  slider(id, name, range, set, text) {
    const output = viz.el("output", { for: id }, text(range.value));
    const input = viz.el("input", { type: "range", id, ...range, oninput: () => {
      const value = Number(input.value);
      output.textContent = text(value);
      set(value);
    } });
    return viz.el("span", { class: "group" }, viz.el("label", { for: id }, name), input, output);
  },

  /** A menu for the timeline's unit, if bars are known. */
  axis() {
    if (!roll.music.bars.length) return "";
    const options = ["seconds", "bars"].map((name) => viz.el("option", { value: name, selected: name === roll.measure }, name === "bars" ? "bars of 4/4" : name));
    const select = viz.el("select", { id: "measure", "aria-label": "time line", onchange: () => { roll.measure = select.value; roll.draw(true); } }, options);
    return select;
  },

  /** A mute switch for each track. */
  legend() {
    const { names } = roll.music;
    if (names.length < 2) return "";
    const entry = (name, track) => {
      const button = viz.el("button", { type: "button", role: "switch", "aria-checked": "true", style: viz.series(track), title: "mute or unmute", onclick: () => {
        if (!roll.muted.delete(track)) roll.muted.add(track);
        button.setAttribute("aria-checked", String(!roll.muted.has(track)));
        roll.transport.restart(() => {});
        roll.draw(true);
      } }, viz.el("i"), viz.short(name));
      return button;
    };
    return viz.el("div", { class: "legend", role: "group", "aria-label": "tracks" }, names.map(entry));
  },

  // Viewport and hit testing ----------------------------------------------------------------------------------

  x(seconds) { return roll.PAD + seconds * roll.scale - roll.scroller.scrollLeft; },
  y(pitch) { return roll.RULER + (roll.music.span[1] - pitch) * roll.row; },
  seconds(x) { return (x + roll.scroller.scrollLeft - roll.PAD) / roll.scale; },
  /** The times at the edges of the viewport. */
  view() { return [roll.seconds(0), roll.seconds(roll.size.wide)]; },
  least() { return (roll.size.wide - 2 * roll.PAD) / roll.music.seconds; },

  /** Adapt to the viewport; `all`: show the entire piece. Initially: 16 seconds, fewer if narrow, or a short piece. */
  fit(all = false) {
    const wide = roll.scroller.clientWidth;
    if (!wide) return;
    const whole = roll.scale && Math.abs(roll.scale - roll.least()) < 1e-9;
    roll.size.wide = wide;
    roll.stretch(all || whole ? roll.least() : roll.scale || Math.max(roll.least(), Math.min(Math.max(wide / 16, 40), roll.LONGEST / roll.music.seconds)));
    roll.draw(true);
  },

  stretch(scale) {
    const { least, music, LONGEST, MOST } = roll;
    roll.scale = Math.max(least(), Math.min(scale, MOST, LONGEST / music.seconds));
    roll.wide.style.width = `${Math.max(Math.ceil(2 * roll.PAD + music.seconds * roll.scale), 1)}px`;
  },

  /** Zoom around a fixed x: by default the playhead if visible, else the middle. */
  zoom(factor, x = null) {
    const head = roll.x(roll.transport.position);
    const fixed = x ?? (head >= 0 && head <= roll.size.wide ? head : roll.size.wide / 2), seconds = roll.seconds(fixed);
    roll.stretch(roll.scale * factor);
    roll.scroll(roll.PAD + seconds * roll.scale - fixed);
    roll.draw(true);
  },

  /** Scroll programmatically, which keeps Follow on. */
  scroll(left) {
    roll.scroller.scrollLeft = left;
    roll.own = roll.scroller.scrollLeft;
  },

  /** Scroll a time into the viewport. */
  bring(seconds, part = .3) {
    const x = roll.x(seconds), { wide } = roll.size;
    if (x < 8 || x > wide - 40) roll.scroll(roll.scroller.scrollLeft + x - part * wide);
  },

  /** Hit testing: the topmost note at a point, or one nearby, or null. */
  at(x, y) {
    const { music } = roll, pitch = music.span[1] - Math.floor((y - roll.RULER) / roll.row), near = 3 / roll.scale;
    const seconds = roll.seconds(x);
    let best = null, least = Infinity;
    if (y < roll.RULER) return null;
    rollDrawing.each(seconds - near, seconds + near, (note) => {
      if (music.pitches[note] !== pitch) return;
      const distance = Math.max(music.starts[note] - seconds, seconds - music.ends[note], 0);
      if (distance <= least) [best, least] = [note, distance];
    });
    return best;
  },

  // Input -----------------------------------------------------------------------------------------------------

  listen() {
    const { window: area, scroller, map } = roll;
    let drag = null; // the current drag: where it began, what it moves, and whether it has moved
    const place = (event) => {
      const box = area.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    area.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      const [x, y] = place(event);
      drag = { x, y, left: scroller.scrollLeft, ruler: y < roll.RULER, moved: false };
      if (drag.ruler || event.pointerType === "mouse") area.setPointerCapture(event.pointerId);
      if (drag.ruler) roll.seek(roll.seconds(x));
    });
    area.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      if (!drag) return roll.point(roll.at(x, y));
      if (drag.ruler) return roll.seek(roll.seconds(x));
      if (event.pointerType !== "mouse" || (!drag.moved && Math.abs(x - drag.x) < 4)) return;
      drag.moved = true;
      area.classList.add("moving");
      scroller.scrollLeft = drag.left - (x - drag.x);
    });
    area.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved && !drag.ruler) roll.choose(roll.at(...place(event)));
      drag = null;
      area.classList.remove("moving");
    });
    area.addEventListener("pointercancel", () => { drag = null; area.classList.remove("moving"); });
    area.addEventListener("pointerleave", () => roll.point(null));
    viz.wheel(scroller, (factor, event) => roll.zoom(factor, place(event)[0]), { click: false });
    scroller.addEventListener("scroll", () => {
      if (roll.transport.playing && Math.abs(scroller.scrollLeft - roll.own) > 2) roll.follow.checked = false;
      roll.draw(true);
    });
    const go = (event) => {
      const box = map.getBoundingClientRect(), seconds = (event.clientX - box.left) / box.width * roll.music.seconds;
      scroller.scrollLeft = roll.PAD + seconds * roll.scale - roll.size.wide / 2;
    };
    map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); go(event); });
    map.addEventListener("pointermove", (event) => { if (event.buttons & 1) go(event); });
    document.addEventListener("keydown", (event) => roll.press(event));
  },

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return; // browser shortcuts
    if (event.key === " " && !event.target.closest("button, select, input")) roll.toggle();
    else if (event.target !== roll.window || !roll.walk(event.key)) return;
    event.preventDefault();
  },

  /** Handle a key in the roll; returns whether the key is bound. */
  walk(key) {
    const { music, selected, transport } = roll, last = music.count - 1;
    const place = selected === null ? -1 : music.places[selected], to = (i) => roll.choose(music.order[Math.max(0, Math.min(i, last))], true);
    const first = () => RollTransport.first(music.count, (i) => music.starts[music.order[i]] >= roll.view()[0]);
    const acts = {
      ArrowRight: () => to(selected === null ? first() : place + 1), ArrowLeft: () => to(selected === null ? first() : place - 1),
      ArrowUp: () => roll.climb(1), ArrowDown: () => roll.climb(-1), Home: () => to(0), End: () => to(last),
      PageUp: () => roll.seek(transport.position - 10), PageDown: () => roll.seek(transport.position + 10),
      Enter: () => selected !== null && roll.seek(music.starts[selected]), Escape: () => roll.choose(null),
      "+": () => roll.zoom(1.5), "=": () => roll.zoom(1.5), "-": () => roll.zoom(1 / 1.5), 0: () => roll.fit(true),
    };
    acts[key]?.();
    return key in acts;
  },

  /** Select the next higher or lower note among those that sound when the selected one begins. */
  climb(step) {
    const { music, selected } = roll;
    if (selected === null) return;
    let best = null;
    const start = music.starts[selected], pitch = music.pitches[selected], interval = (note) => step * (music.pitches[note] - pitch);
    rollDrawing.each(start, start, (note) => { if (interval(note) > 0 && (best === null || interval(note) < interval(best))) best = note; });
    if (best !== null) roll.choose(best, true);
  },

  toggle() {
    if (roll.transport.playing) roll.transport.halt();
    else roll.transport.play();
  },

  seek(seconds) {
    roll.transport.seek(seconds);
    roll.bring(roll.transport.position);
  },

  point(note) {
    if (note === roll.hovered) return;
    roll.hovered = note;
    roll.window.classList.toggle("pointing", note !== null);
    roll.show();
    roll.draw();
  },

  /** Highlight a note that is hovered in the list. */
  highlight(note) {
    roll.highlighted = note;
    roll.draw();
  },

  /** Select a note; `reveal`: scroll it into view and announce it. */
  choose(note, reveal = false) {
    roll.selected = note;
    roll.highlighted = null;
    if (reveal && note !== null) {
      roll.hovered = null;
      roll.bring(roll.music.starts[note]);
      roll.status.textContent = `${roll.pitchName(note)}, ${roll.info(note)}${roll.arcs ? roll.arcs.speech(note) : ""}`;
    }
    roll.show();
    roll.draw();
  },

  /** The notes with arcs: the hovered or selected one and, during playback, those just struck. */
  arcNotes() {
    const { music, transport, AGO } = roll, note = roll.hovered ?? roll.selected, notes = note === null ? [] : [note];
    if (!roll.live.checked || !transport.playing) return notes;
    const at = transport.position;
    rollDrawing.each(at, at, (other) => { if (music.starts[other] > at - AGO && !roll.muted.has(music.tracks[other])) notes.push(other); });
    return notes;
  },

  info(note) {
    const { starts, ends, tracks, velocities, names } = roll.music, track = names.length > 1 ? `${viz.short(names[tracks[note]])}, ` : "";
    return `${roll.clock(starts[note], 1)} to ${roll.clock(ends[note], 1)}, ${track}velocity ${velocities[note]}`;
  },

  /** The panel: the note, and what it attended to. */
  show() {
    const note = roll.hovered ?? roll.selected;
    if (note === null) {
      const more = roll.arcs ? " to see what it looked at" : "";
      roll.panel.replaceChildren(viz.el("p", { class: "quiet" }, `Point at a note, or walk with the arrow keys${more}.`));
      return;
    }
    const name = viz.el("h2", { style: viz.series(roll.music.tracks[note]) }, roll.pitchName(note), " ", viz.el("span", { class: "quiet" }, `note ${note}`));
    roll.panel.replaceChildren(name, viz.el("p", { class: "quiet" }, roll.info(note)), ...(roll.arcs ? roll.arcs.list(note) : []));
  },

  // Drawing ---------------------------------------------------------------------------------------------------

  /** Update after playback started, stopped or jumped. */
  onPlayback() {
    const { transport } = roll, play = document.getElementById("play");
    play.textContent = transport.playing ? "Pause" : "Play";
    if (transport.playing && roll.follow.checked) roll.bring(transport.position, .1);
    roll.draw();
  },

  /** Redraw in the next animation frame; `all`: the notes too, not only the front canvas. */
  draw(all = false) {
    roll.everything ||= all;
    if (roll.waiting) return;
    roll.waiting = true;
    requestAnimationFrame(() => {
      roll.waiting = false;
      roll.paint();
      if (roll.transport.playing) roll.draw();
    });
  },

  paint() {
    const { music, scroller, transport, size } = roll, at = transport.position;
    if (!size.wide) return;
    if (transport.playing && roll.follow.checked && roll.x(at) > .88 * size.wide && scroller.scrollLeft + size.wide < scroller.scrollWidth - 1) {
      roll.scroll(roll.PAD + at * roll.scale - .1 * size.wide);
      roll.everything = true;
    }
    if (roll.everything) rollDrawing.notes(roll.back);
    roll.everything = false;
    rollDrawing.keys(roll.keys, rollDrawing.front(roll.front));
    roll.time.textContent = `${roll.clock(Math.floor(at))} / ${roll.clock(music.seconds)}`;
    const [from, until] = roll.view().map((seconds) => Math.max(0, Math.min(seconds, music.seconds)) / music.seconds);
    roll.map.hidden = roll.scale <= roll.least() * 1.001;
    Object.assign(roll.frame.style, { left: `${100 * from}%`, width: `${100 * (until - from)}%` });
    roll.head.style.left = `${100 * at / music.seconds}%`;
  },
};
