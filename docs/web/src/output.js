// A program's output, below it. Text stays text; pages are in frames without this page's rights.

const FRAME = "allow-scripts allow-downloads";
// The policy for a program's own HTML, which may not make requests; the pages of viz have a stricter one.
const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:";
const HERE = ["minigrad", "minigrad_models", "numpy"];
const PACKAGES = "a page has Python's standard library, NumPy and minigrad, which “import torch” gives as well. To use other packages, install minigrad on your computer.";
const ADVICE = /The module '([^']+)' is included in the Pyodide distribution[^]*/; // the message continues with advice on fetching it, which no page may do
const MOST = 400; // parts of an output to keep

/**
 * An element that shows a runner's messages: `add(message)`, `error(error)`, `clear()`. `change(change)` requests from
 * Python a graph with other numbers.
 */
export function createOutput(parent, change) {
  const element = document.createElement("div");
  element.className = "run-output";
  element.setAttribute("role", "log");
  element.setAttribute("aria-live", "polite");
  element.setAttribute("aria-label", "Output");
  element.hidden = true;
  parent.append(element);
  let text = null; // the part that receives text

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

/** A text after more has been written: "\r" returns to the start of the line, as in a terminal, for progress bars. */
function written(before, more) {
  if (!more.includes("\r")) return before + more;
  const lines = (before + more).split("\n");
  return lines.map((line) => line.replace(/\r+$/, "").split("\r").pop()).join("\n");
}

/** A vector picture as an image, in which nothing can run. */
function picture(svg, title) {
  const made = document.createElement("img");
  made.alt = title || "picture";
  made.src = `data:image/svg+xml,${encodeURIComponent(svg.toWellFormed?.() ?? svg)}`;
  return made;
}

/** A page of viz, or other HTML, in a frame with a separate origin, light or dark like the site. */
export function frame(html, height, title) {
  const made = document.createElement("iframe");
  made.sandbox = FRAME;
  made.title = title || "picture";
  made.style.height = `${Math.min(Math.max(height ?? 320, 80), 1200)}px`;
  made.srcdoc = html.replace(/^\s*(<!doctype[^>]*>)?/i, `$1<meta http-equiv="Content-Security-Policy" content="${POLICY}">`);
  const attribute = "data-md-color-scheme"; // set by the site; other pages follow the system
  const follow = (tell) => {
    const scheme = document.body.getAttribute(attribute);
    if (scheme) tell({ scheme: scheme === "slate" ? "dark" : "light" });
  };
  const tell = converse(made, ({ framed }) => framed === "new" && follow(tell));
  const observer = new MutationObserver(() => (made.isConnected ? follow(tell) : observer.disconnect()));
  observer.observe(document.body, { attributeFilter: [attribute] });
  return made;
}

/** Listen to messages from a page of viz in a frame; returns a function that sends messages to the page. */
function converse(made, hear) {
  const listen = ({ source, data }) => {
    if (!made.isConnected) removeEventListener("message", listen); // the output was cleared
    else if (source === made.contentWindow && data?.viz) hear(data.viz);
  };
  addEventListener("message", listen);
  return (message) => made.contentWindow?.postMessage({ viz: message }, "*");
}

/** Answer a graph page's requests to change its numbers. */
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
