// The canvases of a piano roll: a back canvas of notes, redrawn when the view moves, and a front canvas for playback.

const rollDrawing = {
  MOST: 1200, // columns of the overview
  DENSE: 10000, // minimum visible notes for writing pixels directly

  /** Resize and clear a canvas; returns its context, in CSS pixels. */
  resize(canvas, wide, high) {
    const ratio = devicePixelRatio || 1, [w, h] = [Math.round(wide * ratio), Math.round(high * ratio)];
    if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
    Object.assign(canvas.style, { width: `${wide}px`, height: `${high}px` });
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, wide, high);
    return context;
  },

  colours() {
    const theme = Object.fromEntries(["ink", "quiet", "line", "field", "accent"].map((name) => [name, viz.colour(name)]));
    const series = Array.from({ length: 8 }, (_, i) => viz.colour(`series-${i}`));
    const keys = viz.theme.get() === "dark" ? [theme.ink, theme.field] : [theme.field, theme.ink]; // white keys are light
    return { ...theme, series, keys, family: getComputedStyle(document.body).fontFamily };
  },

  black(pitch) { return [1, 3, 6, 8, 10].includes(pitch % 12); },

  /** The visible marks of the timeline, at least 64 pixels apart: [[seconds, text]]. */
  marks(from, until) {
    const room = 64 / roll.scale, { bars } = roll.music;
    if (roll.measure === "bars") {
      const mean = bars.length > 1 ? bars[bars.length - 1] / (bars.length - 1) : Infinity, marks = [];
      const step = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024].find((s) => s * mean >= room) || 2048;
      const begin = RollTransport.first(bars.length, (i) => bars[i] >= from);
      for (let i = Math.ceil(begin / step) * step; i < bars.length && bars[i] <= until; i += step) marks.push([bars[i], String(i + 1)]);
      return marks;
    }
    const step = [.1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800].find((s) => s >= room) || 3600, marks = [];
    for (let k = Math.max(0, Math.ceil(from / step)); k * step <= until; k++) marks.push([k * step, roll.clock(k * step, step < 1 ? 1 : 0)]);
    return marks;
  },

  /** Draw the back canvas: the visible rows, lines and notes. */
  notes(canvas) {
    const { music, RULER } = roll, { wide, high } = roll.size, context = rollDrawing.resize(canvas, wide, high);
    const { ink, quiet, line, series, family } = roll.colours, [low, top] = music.span, [from, until] = roll.view();
    context.fillStyle = ink;
    context.globalAlpha = .05;
    for (let pitch = low; pitch <= top; pitch++) {
      if (rollDrawing.black(pitch)) context.fillRect(0, roll.y(pitch), wide, roll.row);
    }
    context.globalAlpha = 1;
    context.font = `12px ${family}`;
    for (const [seconds, text] of rollDrawing.marks(from, until)) {
      const x = Math.round(roll.x(seconds)) + .5;
      context.fillStyle = line;
      context.fillRect(x - .5, RULER - 10, 1, high);
      context.fillStyle = quiet;
      context.fillText(text, x + 4, 15);
    }
    context.fillStyle = quiet;
    context.fillRect(0, RULER - 1, wide, 1);
    const notes = [], strength = (note) => (.3 + .7 * music.velocities[note] / 127) * (roll.muted.has(music.tracks[note]) ? .25 : 1);
    rollDrawing.each(from, until, (note) => { notes.push(note); });
    if (notes.length > rollDrawing.DENSE) return rollDrawing.dense(context, canvas, notes, strength);
    for (const note of notes) {
      context.fillStyle = series[music.tracks[note] % 8];
      context.globalAlpha = strength(note);
      context.fillRect(...rollDrawing.box(note));
    }
    context.globalAlpha = 1;
  },

  /** Write very many notes to an image buffer: a draw call for each is too slow. */
  dense(context, { width, height }, notes, strength) {
    const ratio = devicePixelRatio || 1, image = new ImageData(width, height), pixels = new Uint32Array(image.data.buffer);
    const shades = roll.colours.series.map((_, i) => viz.rgb(`series-${i}`)).map(([r, g, b]) => (b << 16) | (g << 8) | r);
    const { starts, ends, pitches, tracks, span } = roll.music, shift = roll.x(0) * ratio, scale = roll.scale * ratio;
    const high = Math.max(1, Math.round((roll.row - 1) * ratio)), tops = Array.from({ length: span[1] + 1 }, (_, pitch) => Math.round((roll.y(pitch) + .5) * ratio));
    for (const note of notes) {
      const left = Math.round(shift + starts[note] * scale), begin = Math.max(left, 0), wide = Math.max(Math.round((ends[note] - starts[note]) * scale), 1);
      const colour = ((Math.round(255 * strength(note)) << 24) | shades[tracks[note] % 8]) >>> 0, end = Math.max(begin, Math.min(left + wide, width));
      for (let row = 0, at = tops[pitches[note]] * width; row < high; row++, at += width) {
        for (let x = begin; x < end; x++) pixels[at + x] = colour;
      }
    }
    roll.scratch ||= viz.el("canvas");
    Object.assign(roll.scratch, { width, height }).getContext("2d").putImageData(image, 0, 0);
    context.drawImage(roll.scratch, 0, 0, width / ratio, height / ratio);
  },

  /** Call `act` for each note that sounds between two times, in order. */
  each(from, until, act) {
    const { order, starts, ends, reach } = roll.music;
    for (let i = RollTransport.first(order.length, (k) => reach[k] >= from); i < order.length; i++) {
      const note = order[i];
      if (starts[note] > until) break;
      if (ends[note] >= from) act(note);
    }
  },

  box(note) {
    const { starts, ends, pitches } = roll.music, x = roll.x(starts[note]);
    return [x, roll.y(pitches[note]) + .5, Math.max((ends[note] - starts[note]) * roll.scale - .5, 1.5), roll.row - 1];
  },

  /** Draw the front canvas: sounding notes, arcs, the selection and the playhead. Returns pressed keys' tracks. */
  front(canvas) {
    const { music, transport, RULER } = roll, { wide, high } = roll.size, context = rollDrawing.resize(canvas, wide, high);
    const { ink, accent, series } = roll.colours, at = transport.position, down = new Map();
    if (transport.playing || at > 0) {
      rollDrawing.each(at, at, (note) => {
        const track = music.tracks[note];
        if (music.ends[note] <= at || roll.muted.has(track)) return;
        down.set(music.pitches[note], track);
        context.fillStyle = series[track % 8];
        context.fillRect(...rollDrawing.box(note));
        rollDrawing.outline(context, note, ink, 1);
      });
    }
    const begin = (note) => [roll.x(music.starts[note]), roll.y(music.pitches[note]) + roll.row / 2];
    for (const note of roll.arcs ? roll.arcNotes() : []) roll.arcs.draw(context, note, begin, ink);
    for (const [note, width] of [[roll.selected, 2], [roll.hovered, 1.5], [roll.highlighted, 2.5]]) {
      if (note !== null) rollDrawing.outline(context, note, ink, width);
    }
    const x = roll.x(at);
    context.fillStyle = accent;
    context.fillRect(x - .75, RULER - 6, 1.5, high);
    context.beginPath();
    context.moveTo(x - 6, RULER - 13);
    context.lineTo(x + 6, RULER - 13);
    context.lineTo(x, RULER - 3);
    context.fill();
    return down;
  },

  outline(context, note, colour, width) {
    const [x, y, w, h] = rollDrawing.box(note);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.strokeRect(x - .5, y - .5, w + 1, h + 1);
  },

  /** The piano keys in the range of the notes; pressed ones have their track's colour. */
  keys(canvas, down) {
    const { KEYS, NAMES, music } = roll, context = rollDrawing.resize(canvas, NAMES + KEYS, roll.size.high);
    const { quiet, line, keys: [white, dark], series, family } = roll.colours, [low, top] = music.span;
    context.font = `${roll.row < 10 ? 11 : 12}px ${family}`;
    context.textAlign = "right";
    for (let pitch = low; pitch <= top; pitch++) {
      const y = roll.y(pitch), black = rollDrawing.black(pitch), long = black ? .62 * KEYS : KEYS;
      context.fillStyle = down.has(pitch) ? series[down.get(pitch) % 8] : black ? dark : white;
      context.fillRect(NAMES, y, long, roll.row);
      context.strokeStyle = black ? dark : line;
      context.lineWidth = 1;
      context.strokeRect(NAMES + .5, y + .5, long - 1, roll.row - 1);
      if (pitch % 12) continue;
      context.fillStyle = quiet;
      context.fillText(roll.nameOf(pitch), NAMES - 6, y + roll.row / 2 + 4);
    }
  },

  /** The overview strip: all notes, with time scaled to its width. */
  overview(canvas) {
    const { music } = roll, [low, top] = music.span, wide = rollDrawing.MOST, high = 3 * (top - low + 1);
    Object.assign(canvas, { width: wide, height: high });
    const context = canvas.getContext("2d"), scale = wide / music.seconds;
    context.globalAlpha = .8;
    let colour = "";
    for (const note of music.order) {
      const { starts, ends, pitches, tracks } = music, own = roll.colours.series[tracks[note] % 8];
      if (own !== colour) context.fillStyle = colour = own;
      context.fillRect(starts[note] * scale, 3 * (top - pitches[note]), Math.max((ends[note] - starts[note]) * scale, 1.5), 3);
    }
  },
};
