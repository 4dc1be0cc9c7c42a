// Runs Python for a page. The files are loaded from this site once, and stay unpacked in the browser's cache. The program runs
// in a frame with a separate origin (frame.js), so that it can never access this page.

import inside from "inside"; // frame.js and worker.js, as text

const CACHE = "minigrad-python-";
const PATIENCE = 1500; // ms for a program to react to Stop; then its interpreter is abandoned

const MEGA = 1e6;

const base = new URL("../python/", import.meta.url);

/** Python's files: {version, files: [{name, path, bytes, sha256}]}. */
async function readManifest() {
  return (await fetch(new URL("manifest.json", base), { cache: "no-cache" })).json();
}

/** The compressed size of Python's files, in bytes. */
const bytesOf = ({ files }) => files.reduce((sum, file) => sum + file.bytes, 0);

/** The size of the Python download, as text. */
export async function downloadText() {
  return `Python, NumPy and minigrad are a download of ${(bytesOf(await readManifest()) / MEGA).toFixed(1)} MB, once.`;
}

/** Fetch Python's files from the cache or the site: take(name, bytes) for each, progress({ loaded, total }). */
async function fetchFiles(take, progress) {
  const manifest = await readManifest();
  const store = await openCache(CACHE + manifest.version);
  const total = bytesOf(manifest);
  let loaded = 0;
  const count = (bytes) => progress({ loaded: (loaded += bytes), total });
  await Promise.all(manifest.files.map(async (file) => take(file.name, await fetchFile(file, store, count))));
}

/** The cache of this version; older caches are deleted. Without a cache (a private window): null. */
async function openCache(name) {
  try {
    for (const key of await caches.keys()) if (key.startsWith(CACHE) && key !== name) await caches.delete(key);
    return await caches.open(name);
  } catch {
    return null;
  }
}

/** The bytes of a file, which is compressed for transport, whatever the server does, and cached unpacked for speed. */
async function fetchFile({ path, sha256 }, store, count) {
  const url = new URL(path, base);
  const hit = await store?.match(url);
  if (hit) return hit.arrayBuffer();
  const response = await fetch(url, { integrity: `sha256-${sha256}` });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`);
  const packed = await response.blob();
  count(packed.size);
  const bytes = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  store?.put(url, new Response(bytes)).catch(() => {}); // in the background; a full disk is not an error
  return bytes;
}

/** The document of the frame, whose policy forbids all requests. */
function frameDocument(script) {
  const policy =
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:; connect-src blob:";
  return `<!doctype html><meta http-equiv="Content-Security-Policy" content="${policy}"><script>${script}</script>`;
}

/**
 * An interpreter: `run` and others send requests, one at a time, in order. Messages before an answer go to `listen`.
 */
export class Runner {
  constructor(listen = () => {}) {
    this.listen = listen;
    this.waiting = new Map(); // by id: the callbacks for the answer
    this.next = 0;
    this.started = null;
  }

  /** Start Python, once. Resolves when it can run programs. */
  start() {
    this.started ??= this.#start();
    return this.started;
  }

  /** The frame opens and its worker starts while the files are loading; it receives each file on arrival. */
  async #start() {
    const attempt = (this.attempt = {});
    const isCurrent = () => attempt === this.attempt;
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    const ready = new Promise((resolve, reject) => (this.ready = { resolve, reject })); // rejected when the start is abandoned
    port1.onmessage = ({ data }) => isCurrent() && this.#onMessage(data);
    const frameReady = this.#open(port2);
    const take = (name, bytes) => port1.postMessage({ type: "part", name, bytes }, [bytes]);
    const filesReady = fetchFiles(take, (progress) => isCurrent() && this.listen({ type: "loading", ...progress }));
    try {
      await Promise.all([frameReady, filesReady, ready]);
    } catch (error) {
      if (isCurrent()) this.#end(error);
      throw error;
    }
  }

  /** The frame, whose script starts the worker and forwards messages between it and the port. */
  async #open(port) {
    const frame = (this.frame = document.createElement("iframe"));
    frame.hidden = true;
    frame.title = "Python";
    frame.sandbox = "allow-scripts";
    frame.allow = "cross-origin-isolated";
    frame.srcdoc = frameDocument(inside.frame);
    (document.body ?? document.documentElement).append(frame);
    await new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
    frame.contentWindow?.postMessage(inside.worker, "*", [port]); // null: this start was abandoned
  }

  #onMessage(message) {
    if (message.type === "ready") {
      this.stoppable = message.stoppable;
      this.ready.resolve();
    } else if (message.type === "answer") {
      this.waiting.get(message.id)?.resolve(message.value);
      this.waiting.delete(message.id);
    } else if (message.type === "broken") {
      this.#end(new Error(`Python has stopped, and restarts at the next request: ${message.why}`));
    } else {
      this.listen(message);
    }
  }

  /** Ask the interpreter (cells.py, ACTS), and wait for the answer. */
  async ask(type, message = {}) {
    await this.start();
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.port.postMessage({ ...message, type, id });
    });
  }

  /** Run a program; resolves to {error}, which is null or {kind, text, line}. With {check}, also to {wrong}. */
  run(code, name = "program", more = {}) {
    return this.ask("run", { ...more, code, name });
  }

  /** Change numbers of a graph on the page: {changed} or {failed}. */
  async change(request) {
    if (this.busy) return { failed: "a program is running: stop it, or wait" };
    return this.ask("change", request);
  }

  /** Write a file for the program. */
  async write(path, bytes) {
    await this.start();
    this.port.postMessage({ type: "file", path, bytes });
  }

  /** Whether something is running or waiting. */
  get busy() {
    return this.waiting.size > 0;
  }

  /** Stop the program: like Ctrl-C, or, if that takes too long, by abandoning the interpreter and its state. */
  async stop() {
    if (this.port && this.stoppable && this.busy) {
      const end = performance.now() + PATIENCE;
      while (this.busy && performance.now() < end) {
        this.port.postMessage({ type: "stop" }); // repeatedly: a program may catch the first
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      if (!this.busy) return;
    }
    this.restart("stopped; all names are lost");
  }

  /** Abandon the interpreter. The next request starts another. */
  restart(why = "restarted") {
    this.#end(new Error(why));
  }

  #end(error) {
    this.attempt = null;
    this.frame?.remove();
    this.port?.close();
    this.frame = this.port = this.started = null;
    this.ready?.reject(error); // rejects the promise of an abandoned start
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject } of waiting) reject(error);
  }
}

/** The progress of loading Python, as text. */
export function progressText(message) {
  if (message.type === "progress") return `${message.what} …`;
  const [loaded, total] = [message.loaded / MEGA, message.total / MEGA];
  return `loading Python: ${loaded.toFixed(1)} of ${total.toFixed(1)} MB (only once, then cached) …`;
}
