// What a program writes and shows, below it. Text stays text; pages stand in frames without this page's rights.

const FRAME = "allow-scripts allow-downloads";
const MOST = 400; // parts of an output that are kept

/**
 * An element that shows messages of a runner: `add(message)`, `error(error)`, `clear()`. `change(change)` asks Python for
 * a graph with other numbers.
 */
export function createOutput(parent, change) {
  const element = document.createElement("div");
  element.className = "run-output";
  element.setAttribute("role", "log");
  element.setAttribute("aria-live", "polite");
  element.setAttribute("aria-label", "Output");
  element.hidden = true;
  parent.append(element);
  let text = null; // the part that text is added to

  const part = (tag, kind) => {
    element.hidden = false;
    while (element.childElementCount >= MOST) element.firstElementChild.remove();
    const made = document.createElement(tag);
    made.className = `run-${kind}`;
    element.append(made);
    return made;
  };

  return {
    element,
    clear() {
      element.replaceChildren();
      element.hidden = true;
      text = null;
    },
    add({ stream, text: content, height, title, id, graph }) {
      if (stream === "html" || stream === "svg") {
        const made = stream === "svg" ? picture(content, title) : frame(content, height, title);
        if (graph !== undefined) answered(made, (asked) => change({ ...asked, graph }));
        const before = id && element.querySelector(`[data-id="${CSS.escape(id)}"]`);
        const place = before || part("div", "frame");
        if (id) place.dataset.id = id;
        place.replaceChildren(made);
        if (!before) text = null;
        return;
      }
      if (text?.dataset.stream !== stream) {
        text = part("pre", stream);
        text.dataset.stream = stream;
        text.tabIndex = 0;
      }
      text.textContent = written(text.textContent, content);
    },
    error({ kind, text: content }) {
      text = null;
      const shown = part("pre", kind === "KeyboardInterrupt" ? "note" : "error");
      shown.tabIndex = 0;
      shown.textContent = content;
    },
    note(content) {
      text = null;
      part("p", "note").textContent = content;
    },
  };
}

/** Text after more is written: "\r" goes back to the line's begin, as a terminal does for a progress bar. */
function written(before, more) {
  if (!more.includes("\r")) return before + more;
  const lines = (before + more).split("\n");
  return lines.map((line) => line.replace(/\r+$/, "").split("\r").pop()).join("\n");
}

/** A vector picture, as an image: nothing in it runs. */
function picture(svg, title) {
  const made = document.createElement("img");
  made.alt = title || "picture";
  made.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  return made;
}

/** A page of viz, or other HTML, in a frame of an origin of its own. */
export function frame(html, height, title) {
  const made = document.createElement("iframe");
  made.sandbox = FRAME;
  made.title = title || "picture";
  made.style.height = `${Math.min(Math.max(height ?? 320, 80), 1200)}px`;
  made.srcdoc = html;
  return made;
}

/** Answer a graph's page that wants its numbers changed. */
function answered(made, change) {
  const tell = (message) => made.contentWindow?.postMessage({ viz: message }, "*");
  const hear = async ({ source, data }) => {
    if (!made.isConnected) return removeEventListener("message", hear); // the output has been cleared
    if (source !== made.contentWindow || !data?.viz) return null;
    if (data.viz.ready) return tell({ changeable: true });
    if (!data.viz.change) return null;
    const { node, at, text, undo } = data.viz.change;
    try {
      return tell(await change({ node: Number(node), at: Number(at), text: String(text), undo: Boolean(undo) }));
    } catch (error) {
      return tell({ failed: error.message });
    }
  };
  addEventListener("message", hear);
}
