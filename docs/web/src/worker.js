// Python in a separate worker: Pyodide, NumPy and minigrad, all received as bytes. It makes no network requests.

"use strict";

const HOME = "https://minigrad.invalid/"; // the address at which Pyodide expects its files: requests for them are answered below
const SITE_PACKAGES = "/lib/python3.11/site-packages";
const SCRIPTS = ["pyodide.js", "pyodide.asm.js"];
const PACKAGES = ["numpy.tar", "minigrad.tar"];
const KINDS = { wasm: "application/wasm", json: "application/json", zip: "application/zip" };

let pyodide, cells, interrupt;
const waiting = []; // messages that arrived while Python was starting
const parts = new Map(); // by name: a promise of a file's bytes, and its resolver

const say = (message, transfer = []) => self.postMessage(message, transfer);

/** A file from the page, by name; it may not have arrived yet. */
function part(name) {
  if (!parts.has(name)) {
    const entry = {};
    entry.bytes = new Promise((resolve) => (entry.take = resolve));
    parts.set(name, entry);
  }
  return parts.get(name);
}

/** Serve Pyodide's requests from the files. */
self.fetch = async (request) => {
  const name = String(request.url ?? request).replace(HOME, "");
  const type = KINDS[name.split(".").pop()];
  if (cells || !type) throw new TypeError(`this page has no file ${name}, and no network`);
  return new Response(await part(name).bytes, { headers: { "Content-Type": type } });
};

/** Put the files of a tar archive (packs.py) into site-packages. */
function unpack(archive) {
  const text = (from, length) => new TextDecoder().decode(archive.subarray(from, from + length)).replace(/\0.*/s, "");
  const folders = new Set();
  for (let at = 0; archive[at]; ) {
    const [name, prefix] = [text(at, 100), text(at + 345, 155)];
    const size = parseInt(text(at + 124, 12), 8);
    const path = `${SITE_PACKAGES}/${prefix ? `${prefix}/` : ""}${name}`;
    const folder = path.slice(0, path.lastIndexOf("/"));
    if (!folders.has(folder)) pyodide.FS.mkdirTree(folder);
    folders.add(folder);
    pyodide.FS.writeFile(path, archive.subarray(at + 512, at + 512 + size), { canOwn: true });
    at += 512 + 512 * Math.ceil(size / 512);
  }
}

/** Start Python, unpack the packages, and report the progress. */
async function start(flag) {
  for (const name of SCRIPTS) importScripts(URL.createObjectURL(new Blob([await part(name).bytes])));
  say({ type: "progress", what: "starting Python" });
  pyodide = await loadPyodide({ indexURL: HOME, fullStdLib: false, stdin: () => null });
  pyodide._module.mergeLibSymbols({ backtrace: () => 0 }, "libc"); // NumPy calls it for large temporaries
  interrupt = flag ? new Uint8Array(flag) : null;
  if (interrupt) pyodide.setInterruptBuffer(interrupt);
  say({ type: "progress", what: "unpacking NumPy and minigrad" });
  for (const name of PACKAGES) unpack(new Uint8Array(await part(name).bytes));
  say({ type: "progress", what: "importing minigrad" });
  pyodide.registerJsModule("_page", { say: (text) => say(JSON.parse(text)) });
  cells = pyodide.pyimport("minigrad_page.cells");
  parts.clear();
  say({ type: "ready", stoppable: Boolean(interrupt) });
  while (waiting.length) act(waiting.shift());
}

/** Process a request from the page; errors are also answers. */
function act(message) {
  if (interrupt) interrupt[0] = 0;
  const { type, id } = message;
  try {
    const answer = cells.act(JSON.stringify(message));
    say({ type: "answer", id, value: JSON.parse(answer) });
  } catch (error) {
    // Python errors are part of an answer: an error here has broken the interpreter.
    say({ type: "broken", id, request: type, why: String(error).slice(0, 2000) });
  }
}

self.onmessage = async ({ data }) => {
  if (data.type === "start") {
    try {
      await start(data.flag);
    } catch (error) {
      say({ type: "broken", why: String(error?.stack ?? error).slice(0, 2000) });
    }
  } else if (data.type === "part") {
    part(data.name).take(data.bytes);
  } else if (data.type === "file") {
    pyodide.FS.mkdirTree(data.path.replace(/\/[^/]*$/, ""));
    pyodide.FS.writeFile(data.path, new Uint8Array(data.bytes));
  } else if (cells) {
    act(data);
  } else {
    waiting.push(data);
  }
};
