// Between the page and Python's worker: a document with a separate origin, without network or storage, that hosts
// the worker. Python programs ("import js") can access only this origin, never the page's.

"use strict";

/** Start the worker, and forward messages between it and the page. */
function begin(script, port) {
  const worker = new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  worker.onmessage = ({ data }) => port.postMessage(data);
  worker.onerror = (event) => {
    event.preventDefault();
    port.postMessage({ type: "broken", why: event.message || "the interpreter has stopped" });
  };
  const flag = self.crossOriginIsolated ? new SharedArrayBuffer(1) : null;
  worker.postMessage({ type: "start", flag });
  port.onmessage = ({ data }) => {
    if (data.type === "stop") {
      if (flag) new Uint8Array(flag)[0] = 2; // SIGINT
    } else {
      worker.postMessage(data, data.bytes ? [data.bytes] : []);
    }
  };
}

let started = false;
addEventListener("message", ({ data, source, ports }) => {
  if (source !== parent || !ports.length || started) return; // only from the page, and only once
  started = true;
  begin(data, ports[0]);
});
