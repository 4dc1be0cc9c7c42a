// A program in a link's hash: compressed, so that it stays short. It is only ever read into the editor, never run.

const MOST = 100_000; // characters

const stream = async (bytes, through) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(through)).arrayBuffer());

/** The hash that carries a program. */
export async function hashOf(program) {
  const packed = await stream(new TextEncoder().encode(program), new CompressionStream("deflate-raw"));
  const text = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return `#program=${text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** The program in a hash, or null. Throws if it is damaged or too long. */
export async function programOf(hash) {
  const match = /^#program=([\w-]+)$/.exec(hash);
  if (!match) return null;
  const bytes = Uint8Array.from(atob(match[1].replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length > MOST) throw new Error(`the program in the link has more than ${MOST} characters`);
  }
  return text + decoder.decode();
}
