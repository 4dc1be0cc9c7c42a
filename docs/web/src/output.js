// The output of a program. Text is inserted as text; pages are in sandboxed frames.

const FRAME = "allow-scripts allow-downloads";
// The policy for a program's own HTML, which may not make requests; the pages of viz have a stricter one.
const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:";
const HERE = ["minigrad", "minigrad_models", "numpy"];
const PACKAGES = "a page has Python's standard library, NumPy and minigrad, which “import torch” gives as well. To use other packages, install minigrad on your computer.";
const ADVICE = /The module '([^']+)' is included in the Pyodide distribution[^]*/; // drops Pyodide's advice to fetch it, which the policy forbids
const MOST = 400; // parts of an output to keep

/**
 * An element that shows a runner's messages: `add(message)`, `error(error)`, `clear()`. `change(request)` asks
 * Python to recompute a graph with other numbers.
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
    const node = document.createElement(tag);
    node.className = `run-${kind}`;
    element.append(node);
    return node;
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
        const view = stream === "svg" ? picture(content, title) : frame(content, height, title);
        if (graph !== undefined) handleChanges(view, (request) => change({ ...request, graph }));
        const before = id && element.querySelector(`[data-id="${CSS.escape(id)}"]`);
        const place = before || part("div", "frame");
        if (id) place.dataset.id = id;
        place.replaceChildren(view);
        if (!before) text = null;
        return;
      }
      if (text?.dataset.stream !== stream) {
        text = part("pre", stream);
        text.dataset.stream = stream;
        text.tabIndex = 0;
      }
      text.textContent = appendText(text.textContent, content);
    },
    error({ kind, text: content }) {
      text = null;
      const node = part("pre", kind === "KeyboardInterrupt" ? "note" : "error");
      node.tabIndex = 0;
      node.textContent = content.replace(ADVICE, "No module named '$1'\n");
      const [, missing] = kind === "ModuleNotFoundError" ? /No module named '([^'.]+)/.exec(node.textContent) ?? [] : [];
      if (missing && !HERE.includes(missing)) part("p", "note").textContent = `There is no ${missing} here: ${PACKAGES}`;
    },
    note(content) {
      text = null;
      part("p", "note").textContent = content;
    },
  };
}

/** Append text; "\r" returns to the start of the line, as in a terminal, for progress bars. */
function appendText(before, more) {
  if (!more.includes("\r")) return before + more;
  const lines = (before + more).split("\n");
  return lines.map((line) => line.replace(/\r+$/, "").split("\r").pop()).join("\n");
}

/** An SVG picture as an image, so that its scripts cannot run. */
function picture(svg, title) {
  const image = document.createElement("img");
  image.alt = title || "picture";
  image.src = `data:image/svg+xml,${encodeURIComponent(svg.toWellFormed?.() ?? svg)}`;
  return image;
}

/** A page of viz, or other HTML, in a sandboxed frame with the site's colour scheme. */
export function frame(html, height, title) {
  const iframe = document.createElement("iframe");
  iframe.sandbox = FRAME;
  iframe.title = title || "picture";
  iframe.style.height = `${Math.min(Math.max(height ?? 320, 80), 1200)}px`;
  iframe.srcdoc = html.replace(/^\s*(<!doctype[^>]*>)?/i, `$1<meta http-equiv="Content-Security-Policy" content="${POLICY}">`);
  const attribute = "data-md-color-scheme"; // set by the site; other pages follow the system
  const follow = (send) => {
    const scheme = document.body.getAttribute(attribute);
    if (scheme) send({ scheme: scheme === "slate" ? "dark" : "light" });
  };
  const send = connect(iframe, ({ framed }) => framed === "new" && follow(send));
  const observer = new MutationObserver(() => (iframe.isConnected ? follow(send) : observer.disconnect()));
  observer.observe(document.body, { attributeFilter: [attribute] });
  return iframe;
}

/** Listen to messages from a page of viz in a frame; returns a function that sends messages to the page. */
function connect(iframe, onMessage) {
  const listen = ({ source, data }) => {
    if (!iframe.isConnected) removeEventListener("message", listen); // the output was cleared
    else if (source === iframe.contentWindow && data?.viz) onMessage(data.viz);
  };
  addEventListener("message", listen);
  return (message) => iframe.contentWindow?.postMessage({ viz: message }, "*");
}

/** Answer a graph page's requests to change its numbers. */
function handleChanges(iframe, change) {
  const send = connect(iframe, async ({ ready, change: request }) => {
    if (ready) send({ changeable: true });
    if (!request) return;
    const { node, at, text, undo } = request;
    try {
      send(await change({ node: Number(node), at: Number(at), text: String(text), undo: Boolean(undo) }));
    } catch (error) {
      send({ failed: error.message });
    }
  });
}
