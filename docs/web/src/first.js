// Starts Python while the page that needs it is still being read: playground.js comes with an editor, and later.

import { Runner } from "./runner.js";

export const runner = new Runner();
runner.start().catch(() => {}); // the page asks again, and tells
