// Starts Python while the page is still loading: playground.js, with its editor, arrives later.

import { Runner } from "./runner.js";

export const runner = new Runner();
runner.start().catch(() => {}); // the page tries again, and reports the error
