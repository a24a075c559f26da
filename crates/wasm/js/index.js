// Classes over the core of pairloom, compiled to WebAssembly. crates/wasm/src/lib.rs describes the module's functions:
// arguments are written into its memory, and results are read from there.

const utf8 = new TextEncoder();
const decoded = (bytes) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
const KEY = Symbol("pairloom");

/** Fetches the bytes of a URL. */
export async function readByFetch(location) {
  const response = await fetch(location);
  if (!response.ok) throw new Error(`${location} could not be fetched: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

let read = readByFetch;
/** Sets the function that reads the engine and the files of `Tokenizer.load`: it returns bytes, or a promise of them. */
export function readBy(reader) {
  read = reader;
}

// One instance of the module. After a trap its memory is in an unknown state, so each later call is refused.
class Engine {
  #exports;
  #trap = "";
  static #ready = null;

  /** The engine that all tokenizers share. After a trap or a failed load, a new one. */
  static async get() {
    const known = await Engine.#ready?.catch(() => null);
    if (!known || known.#trap) Engine.#ready = Engine.#load();
    return Engine.#ready;
  }
  static async #load() {
    const bytes = await read(new URL("pairloom.wasm", import.meta.url));
    const { instance } = await WebAssembly.instantiate(bytes, {});
    const engine = new Engine();
    engine.#exports = instance.exports;
    return engine;
  }

  call(name, ...args) {
    if (this.#trap) throw new Error(`pairloom stopped in an earlier call (${this.#trap}); load the tokenizer again`);
    try {
      return this.#exports[`pairloom_${name}`](...args);
    } catch (error) {
      this.#trap = error.message;
      const message = decoded(this.result());
      if (message.startsWith("panicked")) this.#trap = message;
      throw new Error(`pairloom stopped: ${this.#trap}. Either its 4 GiB of memory are full, or this is a bug. Load the tokenizer again.`, { cause: error });
    }
  }
  /** Copies each of these bytes into the module's memory, and calls `use` with their addresses and lengths. */
  withCopies(all, use) {
    const copies = all.map((bytes) => {
      const at = this.call("alloc", bytes.length) >>> 0;
      new Uint8Array(this.#exports.memory.buffer, at, bytes.length).set(bytes);
      return [at, bytes.length];
    });
    try {
      return use(...copies.flat());
    } finally {
      if (!this.#trap) copies.forEach(([at, n]) => this.call("free", at, n));
    }
  }
  result() {
    const { memory, pairloom_result, pairloom_result_len } = this.#exports;
    return new Uint8Array(memory.buffer, pairloom_result() >>> 0, pairloom_result_len() >>> 0).slice();
  }
  checked(number, failed = -1) {
    if (number === failed) throw new Error(decoded(this.result()));
    return number;
  }
  numbers() {
    return new Uint32Array(this.result().buffer);
  }
  rows(width) {
    const flat = this.numbers();
    return Array.from({ length: flat.length / width }, (_, i) => Array.from(flat.subarray(width * i, width * i + width)));
  }
}

function freed({ engine, drop, at }) {
  try {
    engine.call(drop, at);
  } catch {
    // The engine has stopped; its memory is freed with it.
  }
}
const unused = new FinalizationRegistry(freed);

// An object with memory in the engine, until free() or until nothing refers to it.
class Handle {
  #at;
  #drop;
  constructor(key, engine, at, drop) {
    if (key !== KEY) throw new TypeError("use Tokenizer.fromBytes, Tokenizer.load or Tokenizer.train, and the methods of a tokenizer");
    Object.defineProperty(this, "engine", { value: engine });
    [this.#at, this.#drop] = [at >>> 0, drop];
    unused.register(this, { engine, drop, at: this.#at }, this);
  }
  /** Frees the memory now; later calls are errors, and freeing again does nothing. */
  free() {
    if (!this.#at) return;
    unused.unregister(this);
    const at = this.#at;
    this.#at = 0;
    freed({ engine: this.engine, drop: this.#drop, at });
  }
  called(name, ...args) {
    if (!this.#at) throw new Error(`this ${this.constructor.name} was freed`);
    return this.engine.call(name, this.#at, ...args);
  }
}

function textOf(text, name = "text") {
  if (typeof text !== "string") throw new TypeError(`${name} must be a string, not ${kindOf(text)}`);
  if (!text.isWellFormed()) throw new TypeError(`${name} contains half of a surrogate pair, which is not a character; text.toWellFormed() replaces it`);
  return utf8.encode(text);
}
function bytesOf(bytes, name) {
  if (bytes instanceof ArrayBuffer) return new Uint8Array(bytes);
  if (ArrayBuffer.isView(bytes)) return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  throw new TypeError(`${name} must be bytes (a Uint8Array or an ArrayBuffer), not ${kindOf(bytes)}`);
}
function idOf(id, name = "id") {
  if (!Number.isInteger(id) || id < 0 || id > 0xffffffff) throw new TypeError(`${name} must be an integer from 0 to 4294967295, not ${typeof id === "number" ? id : kindOf(id)}`);
  return id;
}
function packed(ids) {
  if (!Array.isArray(ids) && (!ArrayBuffer.isView(ids) || ids instanceof DataView)) throw new TypeError(`ids must be an array of ids, not ${kindOf(ids)}`);
  for (let i = 0; !(ids instanceof Uint32Array) && i < ids.length; i++) idOf(ids[i], `ids[${i}]`);
  return new Uint8Array(Uint32Array.from(ids).buffer);
}
function chosen(value, name, values) {
  if (!values.includes(value)) throw new TypeError(`${name} must be ${values.map((each) => `"${each}"`).join(" or ")}, not ${String(value)}`);
  return values.indexOf(value);
}
/** Returns the options of a call, and refuses what is not one: ignored, it would silently return other ids than were asked for. */
function optionsOf([options = {}, ...more], ...names) {
  const isObject = options !== null && typeof options === "object" && !Array.isArray(options);
  const wrong = more.length ? "a further argument" : isObject ? Object.keys(options).find((name) => !names.includes(name)) : kindOf(options);
  if (wrong === undefined) return options;
  throw new TypeError(`${wrong} is no option here; ${names.length ? `the options are an object with ${names.join(" and ")}` : "there are none"}`);
}
const kindOf = (value) => (value === null ? "null" : Array.isArray(value) ? "an array" : typeof value);
const SPECIALS = ["recognise", "ordinary"];

export class Tokenizer extends Handle {
  static async fromBytes(bytes, ...more) {
    const { pattern = "", merges = new Uint8Array() } = optionsOf(more, "pattern", "merges");
    const all = [bytesOf(bytes, "bytes"), bytesOf(merges, "merges"), textOf(pattern, "pattern")];
    const engine = await Engine.get();
    return new Tokenizer(KEY, engine, engine.checked(engine.withCopies(all, (...args) => engine.call("load", ...args)), 0), "drop");
  }
  static async load(location, ...more) {
    return Tokenizer.fromBytes(await read(location), ...more);
  }
  static async train(text, nMerges, ...more) {
    const { pattern = "gpt2", tieBreak = "ids_least" } = optionsOf(more, "pattern", "tieBreak");
    const all = [textOf(text), textOf(pattern, "pattern")], greatest = chosen(tieBreak, "tieBreak", ["ids_least", "bytes_greatest"]);
    const engine = await Engine.get();
    const trained = engine.withCopies(all, (...args) => engine.call("train", ...args, idOf(nMerges, "nMerges"), greatest));
    return new Tokenizer(KEY, engine, engine.checked(trained, 0), "drop");
  }

  #encoded(text, more) {
    const { specials = "recognise" } = optionsOf(more, "specials");
    const flag = chosen(specials, "specials", SPECIALS);
    return this.engine.checked(this.engine.withCopies([textOf(text)], (at, n) => this.called("encode", at, n, flag)));
  }
  encode(text, ...more) {
    this.#encoded(text, more);
    return this.engine.numbers();
  }
  count(text, ...more) {
    return this.#encoded(text, more);
  }
  #decoded(ids, isText, more) {
    optionsOf(more);
    this.engine.checked(this.engine.withCopies([packed(ids)], (at, n) => this.called("decode", at, n / 4, isText)));
    return this.engine.result();
  }
  decode(ids, ...more) {
    return decoded(this.#decoded(ids, true, more));
  }
  decodeBytes(ids, ...more) {
    return this.#decoded(ids, false, more);
  }
  /** Makes a session: an edited text, and its ids. */
  session(text = "", ...more) {
    optionsOf(more);
    const session = new Session(KEY, this.engine, this.called("stream", 0), "stream_drop");
    session.append(text);
    return session;
  }
  decoder(...more) {
    optionsOf(more);
    return new Decoder(KEY, this.engine, this.called("stream", 3), "stream_drop");
  }
  decodeStream(...more) {
    return transformer(this.decoder(...more));
  }
  encodeStream(...more) {
    const { specials = "recognise" } = optionsOf(more, "specials");
    const kind = 1 + chosen(specials, "specials", SPECIALS);
    return transformer(new Encoder(KEY, this.engine, this.called("stream", kind), "stream_drop"));
  }

  get vocabSize() {
    return this.called("n_vocab");
  }
  isSpecial(id) {
    return this.called("is_special", idOf(id)) !== 0;
  }
  split(text) {
    this.engine.checked(this.engine.withCopies([textOf(text)], (at, n) => this.called("split", at, n)));
    return this.engine.numbers();
  }
  merges() {
    this.engine.checked(this.called("merges"));
    return this.engine.rows(3);
  }
  mergesOf(id) {
    this.called("merges_of", idOf(id));
    return this.engine.rows(4);
  }
}

// Pushes to a stream of the module, and leaves its output as the result.
function pushed(stream, bytes, start, end, isLast) {
  stream.engine.checked(stream.engine.withCopies([bytes], (at, n) => stream.called("stream_push", at, n, start, end, isLast)));
}

class Decoder extends Handle {
  push(ids) {
    pushed(this, packed(typeof ids === "number" ? [ids] : ids), 0, 0, false);
    return decoded(this.engine.result());
  }
  finish() {
    pushed(this, new Uint8Array(), 0, 0, true);
    return decoded(this.engine.result());
  }
}

class Encoder extends Handle {
  #half = ""; // the first half of a surrogate pair that a part ended in
  push(text) {
    textOf(typeof text === "string" ? "" : text);
    const whole = this.#half + text, isHalf = /[\ud800-\udbff]$/.test(whole);
    const bytes = textOf(isHalf ? whole.slice(0, -1) : whole);
    this.#half = isHalf ? whole.at(-1) : "";
    pushed(this, bytes, 0, 0, false);
    return this.engine.numbers();
  }
  finish() {
    pushed(this, textOf(this.#half), 0, 0, true);
    return this.engine.numbers();
  }
}

function transformer(stream) {
  const put = (part, controller) => part.length && controller.enqueue(part);
  return new TransformStream({
    transform: (part, controller) => put(stream.push(part), controller),
    flush: (controller) => {
      put(stream.finish(), controller);
      stream.free();
    },
  });
}

/** Offsets count UTF-16 units, as in JavaScript's strings. */
class Session extends Handle {
  #text = "";
  #hasPairs = false; // without surrogate pairs an offset is a number of characters
  #ids = new Uint32Array(64);
  #n = 0;

  get text() {
    return this.#text;
  }
  get ids() {
    return this.slice(0);
  }
  slice(start, end) {
    return this.#ids.subarray(0, this.#n).slice(start, end);
  }
  get length() {
    return this.#n;
  }
  append(text) {
    return this.replace(this.#text.length, this.#text.length, text);
  }
  truncate(length) {
    return this.replace(length, this.#text.length, "");
  }
  replace(start, end, text) {
    const bytes = textOf(text);
    if (!(idOf(start, "start") <= idOf(end, "end") && end <= this.#text.length)) {
      throw new RangeError(`there is no range from ${start} to ${end} in a text of ${this.#text.length}`);
    }
    const from = this.#characters(0, start);
    pushed(this, bytes, from, from + this.#characters(start, end), false);
    const [keep, removed] = this.engine.numbers(), ids = this.engine.numbers().subarray(2);
    const n = this.#n - removed + ids.length;
    if (n > this.#ids.length) {
      const longer = new Uint32Array(2 * n);
      longer.set(this.#ids);
      this.#ids = longer;
    }
    this.#ids.copyWithin(keep + ids.length, keep + removed, this.#n);
    this.#ids.set(ids, keep);
    this.#n = n;
    this.#text = this.#text.slice(0, start) + text + this.#text.slice(end);
    this.#hasPairs ||= bytes.some((byte) => byte >= 0xf0);
    return { keep, removed, ids };
  }
  #characters(start, end) {
    if (!this.#hasPairs) return end - start;
    let n = end - start;
    for (let at = start; at < end; at++) n -= (this.#text.charCodeAt(at) & 0xfc00) === 0xdc00;
    if ((this.#text.charCodeAt(end) & 0xfc00) === 0xdc00) throw new RangeError(`offset ${end} is inside a surrogate pair`);
    return n;
  }
}
