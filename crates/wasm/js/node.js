// Under node files come from disk, unless they are URLs of the network.
import { readFile } from "node:fs/promises";
import { readBy, readByFetch } from "./index.js";

readBy((location) => (/^https?:/.test(String(location)) ? readByFetch(location) : readFile(/^file:/.test(location) ? new URL(location) : location)));
export * from "./index.js";
