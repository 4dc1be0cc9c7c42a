// Panning and zooming of a drawing: by drag, wheel (see viz.wheel) or pinch, and fitting it into its viewport.
"use strict";

class GraphCamera {
  /** `svg` is the viewport, `port` contains the drawing, and `whole()` returns its size: { width, height }. */
  constructor(svg, port, whole) {
    Object.assign(this, { svg, port, whole });
    this.at = { x: 0, y: 0, scale: 1 };
    this.moved = false; // by the user, which disables automatic fitting
    this.dragged = false; // the next click ends a drag, and is ignored
    this.listen();
  }

  /** The size of the viewport; a default for a frame that has none yet. */
  size() {
    const { width, height } = this.svg.getBoundingClientRect();
    return width && height ? { width, height } : { width: 1280, height: 720 };
  }

  scaleToFit() {
    const { width, height } = this.size(), whole = this.whole();
    return Math.min(width / (whole.width + 16), height / (whole.height + 16), 1.15);
  }

  fit() {
    const { width, height } = this.size(), whole = this.whole();
    const scale = this.scaleToFit();
    this.look({ scale, x: (width - whole.width * scale) / 2, y: (height - whole.height * scale) / 2 });
    this.moved = false;
  }

  look({ x, y, scale }) {
    this.at = { x, y, scale };
    this.port.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }

  /** Zoom around a point of the viewport, which stays fixed. */
  zoom(factor, x, y) {
    const box = this.svg.getBoundingClientRect();
    x ??= box.width / 2;
    y ??= box.height / 2;
    const scale = Math.min(Math.max(this.at.scale * factor, 0.05), 4), change = scale / this.at.scale;
    this.look({ scale, x: x - (x - this.at.x) * change, y: y - (y - this.at.y) * change });
    this.moved = true;
  }

  /** Pan, and zoom out if necessary, to bring a place into the viewport. */
  bring(place) {
    const { width, height } = this.svg.getBoundingClientRect(), margin = 24;
    const least = place.width > 400 || place.height > 200 ? 0.4 : Math.max(this.at.scale, 0.7);
    const fit = Math.min((width - 2 * margin) / place.width, (height - 2 * margin) / place.height);
    const scale = Math.min(Math.max(this.at.scale, Math.min(0.7, fit)), Math.max(fit, least));
    let { x, y } = this.at;
    if (scale !== this.at.scale) {
      x = width / 2 - (place.x + place.width / 2) * scale;
      y = height / 2 - (place.y + place.height / 2) * scale;
    }
    const clamp = (begin, low, size, room) => { // if it does not fit, show its start
      const first = margin - low * scale, last = room - margin - (low + size) * scale;
      return last < first ? first : Math.min(Math.max(begin, first), last);
    };
    this.look({ x: clamp(x, place.x, place.width, width), y: clamp(y, place.y, place.height, height), scale });
    this.moved = true;
  }

  listen() {
    const down = new Map(); // active pointers, and their positions
    let start = null;
    const spread = () => {
      const [a, b] = [...down.values()];
      return Math.hypot(a.x - b.x, a.y - b.y);
    };
    this.svg.addEventListener("pointerdown", ({ pointerId, clientX: x, clientY: y }) => {
      down.set(pointerId, { x, y });
      start = { x, y };
      this.dragged = false;
    });
    window.addEventListener("pointermove", ({ pointerId, clientX: x, clientY: y }) => {
      const last = down.get(pointerId);
      if (!last) return;
      const before = down.size === 2 ? spread() : 0;
      down.set(pointerId, { x, y });
      if (down.size === 2) this.zoomAt(spread() / (before || 1), x, y);
      else if (this.dragged || Math.hypot(x - start.x, y - start.y) > 4) {
        this.dragged = this.moved = true;
        this.svg.classList.add("moving");
        this.look({ ...this.at, x: this.at.x + x - last.x, y: this.at.y + y - last.y });
      }
    });
    const up = ({ pointerId }) => {
      down.delete(pointerId);
      this.svg.classList.remove("moving");
    };
    for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, up);
    this.svg.addEventListener("click", (event) => {
      if (this.dragged) event.stopImmediatePropagation();
    }, true);
    viz.wheel(this.svg, (factor, event) => this.zoomAt(factor, event.clientX, event.clientY));
  }

  /** Zoom around a point in client coordinates. */
  zoomAt(factor, x, y) {
    const box = this.svg.getBoundingClientRect();
    this.zoom(factor, x - box.left, y - box.top);
  }
}
