// What a program writes and shows, below it. Text stays text; pages stand in frames without this page's rights.

const FRAME = "allow-scripts allow-downloads";
// Below the policy of a page of viz, which is stricter: what a program's own HTML may do, and ask for nothing.
const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:";
const HERE = ["minigrad", "minigrad_models", "numpy"];
const PACKAGES = "a page has Python's standard library, NumPy and minigrad, which “import torch” gives as well. To use other packages, install minigrad on your computer.";
const ADVICE = /The module '([^']+)' is included in the Pyodide distribution[^]*/; // and how to fetch it, which no page may
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
      shown.textContent = content.replace(ADVICE, "No module named '$1'\n");
      const [, missing] = kind === "ModuleNotFoundError" ? /No module named '([^'.]+)/.exec(shown.textContent) ?? [] : [];
      if (missing && !HERE.includes(missing)) part("p", "note").textContent = `There is no ${missing} here: ${PACKAGES}`;
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
  made.src = `data:image/svg+xml,${encodeURIComponent(svg.toWellFormed?.() ?? svg)}`;
  return made;
}

/** A page of viz, or other HTML, in a frame of an origin of its own, light or dark as the site is. */
export function frame(html, height, title) {
  const made = document.createElement("iframe");
  made.sandbox = FRAME;
  made.title = title || "picture";
  made.style.height = `${Math.min(Math.max(height ?? 320, 80), 1200)}px`;
  made.srcdoc = html.replace(/^\s*(<!doctype[^>]*>)?/i, `$1<meta http-equiv="Content-Security-Policy" content="${POLICY}">`);
  const attribute = "data-md-color-scheme"; // the site's own; other pages are as the system is
  const follow = (tell) => {
    const scheme = document.body.getAttribute(attribute);
    if (scheme) tell({ scheme: scheme === "slate" ? "dark" : "light" });
  };
  const tell = converse(made, ({ framed }) => framed === "new" && follow(tell));
  const observer = new MutationObserver(() => (made.isConnected ? follow(tell) : observer.disconnect()));
  observer.observe(document.body, { attributeFilter: [attribute] });
  return made;
}

/** Hear what a page of viz in a frame tells its surroundings; what comes back tells it something. */
function converse(made, hear) {
  const listen = ({ source, data }) => {
    if (!made.isConnected) removeEventListener("message", listen); // the output has been cleared
    else if (source === made.contentWindow && data?.viz) hear(data.viz);
  };
  addEventListener("message", listen);
  return (message) => made.contentWindow?.postMessage({ viz: message }, "*");
}

/** Answer a graph's page that wants its numbers changed. */
function answered(made, change) {
  const tell = converse(made, async ({ ready, change: wanted }) => {
    if (ready) tell({ changeable: true });
    if (!wanted) return;
    const { node, at, text, undo } = wanted;
    try {
      tell(await change({ node: Number(node), at: Number(at), text: String(text), undo: Boolean(undo) }));
    } catch (error) {
      tell({ failed: error.message });
    }
  });
}
