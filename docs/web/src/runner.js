// Runs Python for a page. The files come from this site, once; then they lie in the browser's cache, unpacked. The program
// runs in a frame of an origin of its own (frame.js), so that whatever it does, it does not reach this page.

import inside from "inside"; // frame.js and worker.js, as text

const CACHE = "minigrad-python-";
const PATIENCE = 1500; // ms for a program to notice that it is to stop; then its interpreter is given up

const MEGA = 1e6;

const base = new URL("../python/", import.meta.url);

/** What Python is made of: {version, files: [{name, path, bytes, sha256}]}. */
async function readManifest() {
  return (await fetch(new URL("manifest.json", base), { cache: "no-cache" })).json();
}

/** Bytes of Python's files as they travel. */
const bytesOf = ({ files }) => files.reduce((sum, file) => sum + file.bytes, 0);

/** How large a download Python is, in words. */
export async function downloadText() {
  return `Python, NumPy and minigrad are a download of ${(bytesOf(await readManifest()) / MEGA).toFixed(1)} MB, once.`;
}

/** Fetch Python's files, from the cache or the site: take(name, bytes) gets each, progress() how many bytes have come. */
async function fetchFiles(take, progress) {
  const manifest = await readManifest();
  const store = await openCache(CACHE + manifest.version);
  const total = bytesOf(manifest);
  let came = 0;
  const count = (bytes) => progress({ came: (came += bytes), total });
  await Promise.all(manifest.files.map(async (file) => take(file.name, await fetchFile(file, store, count))));
}

/** The cache of this version; those of older ones are thrown away. Without a cache (a private window): null. */
async function openCache(name) {
  try {
    for (const key of await caches.keys()) if (key.startsWith(CACHE) && key !== name) await caches.delete(key);
    return await caches.open(name);
  } catch {
    return null;
  }
}

/** The bytes of a file. It travels compressed, whatever the server does, and is kept unpacked, which is faster. */
async function fetchFile({ path, sha256 }, store, count) {
  const url = new URL(path, base);
  const kept = await store?.match(url);
  if (kept) return kept.arrayBuffer();
  const response = await fetch(url, { integrity: `sha256-${sha256}` });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`);
  const packed = await response.blob();
  count(packed.size);
  const bytes = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  store?.put(url, new Response(bytes)).catch(() => {}); // meanwhile; a full disk is no reason to stop
  return bytes;
}

/** The document of the frame: its own policy forbids it every request. */
function frameDocument(script) {
  const policy =
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:; connect-src blob:";
  return `<!doctype html><meta http-equiv="Content-Security-Policy" content="${policy}"><script>${script}</script>`;
}

/**
 * An interpreter: `run` and others ask it, one at a time, in order. What comes meanwhile goes to `listen`.
 */
export class Runner {
  constructor(listen = () => {}) {
    this.listen = listen;
    this.waiting = new Map(); // by id: what to call with the answer
    this.next = 0;
    this.started = null;
  }

  /** Start Python, once. Resolves when it can run something. */
  start() {
    this.started ??= this.#start();
    return this.started;
  }

  /** The frame opens, and the worker in it begins, while the files come; it gets each when it is there. */
  async #start() {
    const attempt = (this.attempt = {});
    const ours = () => attempt === this.attempt;
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    const ready = new Promise((resolve, reject) => (this.ready = { resolve, reject })); // rejected when it is given up
    port1.onmessage = ({ data }) => ours() && this.#hear(data);
    const opened = this.#open(port2);
    const take = (name, bytes) => port1.postMessage({ type: "part", name, bytes }, [bytes]);
    const fetched = fetchFiles(take, (loaded) => ours() && this.listen({ type: "loading", ...loaded }));
    try {
      await Promise.all([opened, fetched, ready]);
    } catch (error) {
      if (ours()) this.#end(error);
      throw error;
    }
  }

  /** The frame, with its script, which starts the worker and hands messages on between it and the port. */
  async #open(port) {
    const frame = (this.frame = document.createElement("iframe"));
    frame.hidden = true;
    frame.title = "Python";
    frame.sandbox = "allow-scripts";
    frame.allow = "cross-origin-isolated";
    frame.srcdoc = frameDocument(inside.frame);
    (document.body ?? document.documentElement).append(frame);
    await new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
    frame.contentWindow?.postMessage(inside.worker, "*", [port]); // null: this start has been given up
  }

  #hear(message) {
    if (message.type === "ready") {
      this.stoppable = message.stoppable;
      this.ready.resolve();
    } else if (message.type === "answer") {
      this.waiting.get(message.id)?.resolve(message.value);
      this.waiting.delete(message.id);
    } else if (message.type === "broken") {
      this.#end(new Error(`Python has stopped, and is started anew when it is needed again: ${message.why}`));
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

  /** Run a program; resolves to {error}, which is null or {kind, text, line}. */
  run(code, name = "program") {
    return this.ask("run", { code, name });
  }

  /** Other numbers for a graph on the page: {changed} or {failed}. */
  async change(asked) {
    if (this.busy) return { failed: "a program is running: stop it, or wait" };
    return this.ask("change", asked);
  }

  /** Put a file where the program finds it. */
  async write(path, bytes) {
    await this.start();
    this.port.postMessage({ type: "file", path, bytes });
  }

  /** Whether something is running or waiting. */
  get busy() {
    return this.waiting.size > 0;
  }

  /** Stop what runs: as Ctrl-C does, or, if that does not help in time, by giving up the interpreter and its state. */
  async stop() {
    if (this.port && this.stoppable && this.busy) {
      const end = performance.now() + PATIENCE;
      while (this.busy && performance.now() < end) {
        this.port.postMessage({ type: "stop" }); // again and again: a program may catch the first
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      if (!this.busy) return;
    }
    this.restart("stopped, with all names: they are gone");
  }

  /** Give up the interpreter. The next question starts another. */
  restart(why = "restarted") {
    this.#end(new Error(why));
  }

  #end(error) {
    this.attempt = null;
    this.frame?.remove();
    this.port?.close();
    this.frame = this.port = this.started = null;
    this.ready?.reject(error); // whoever waits for a start that is given up hears of it
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject } of waiting) reject(error);
  }
}

/** How far the loading of Python has come, in words. */
export function progressText(message) {
  if (message.type === "progress") return `${message.what} …`;
  const [came, total] = [message.came / MEGA, message.total / MEGA];
  return `loading Python: ${came.toFixed(1)} of ${total.toFixed(1)} MB (once: then they are kept) …`;
}
