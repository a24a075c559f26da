// In node, files are read from disk, unless they are http(s) URLs.
import { readFile } from "node:fs/promises";
import { readBy, readByFetch } from "./index.js";

readBy((location) => (/^https?:/.test(String(location)) ? readByFetch(location) : readFile(/^file:/.test(location) ? new URL(location) : location)));
export * from "./index.js";
