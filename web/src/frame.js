// Between the page and Python's worker: a document of an origin of its own, without network and storage, in which the
// worker lives. What a program reaches from Python ("import js") is this origin, never the page's.

"use strict";

let worker, flag, port;

/** Start the worker, and give it the files. */
function begin({ script, files, packages }) {
  const url = URL.createObjectURL(new Blob(script, { type: "text/javascript" }));
  worker = new Worker(url);
  worker.onmessage = ({ data }) => port.postMessage(data);
  worker.onerror = (event) => {
    event.preventDefault();
    port.postMessage({ type: "broken", why: event.message || "the interpreter has stopped" });
  };
  flag = self.crossOriginIsolated ? new SharedArrayBuffer(1) : null;
  const buffers = [...Object.values(files), ...Object.values(packages)];
  worker.postMessage({ type: "start", files, packages, flag }, buffers);
}

addEventListener("message", ({ data, source, ports }) => {
  if (source !== parent || !ports.length || port) return; // the page alone, and once
  port = ports[0];
  port.onmessage = ({ data: message }) => {
    if (message.type === "stop") {
      if (flag) new Uint8Array(flag)[0] = 2; // SIGINT
    } else {
      worker.postMessage(message);
    }
  };
  begin(data);
});
