// The core of pairloom, compiled to WebAssembly, as a class.
//
// crates/wasm/src/lib.rs describes the functions: what they take is written into the module's memory, what they give is
// read from there.

const utf8 = new TextEncoder();
const text = new TextDecoder();

export class Core {
  #exports;

  constructor(instance) {
    this.#exports = instance.exports;
  }

  /** The module at a URL; an Error with a sentence for the reader where that is impossible. */
  static async load(url) {
    if (typeof WebAssembly !== "object") {
      throw new Error("This browser has WebAssembly turned off, and the playground is the real engine compiled to it. "
        + "Turn it on for this page, or use pairloom view on your own machine.");
    }
    let response;
    try {
      response = await fetch(url);
    } catch {
      throw new Error("The engine could not be fetched. A page that is opened from disk may not fetch files: "
        + "run python -m http.server --directory site and open http://localhost:8000/playground.html.");
    }
    if (!response.ok) {
      throw new Error("This site was built without the engine: rustc lacked the target wasm32-unknown-unknown. "
        + "Add it (rustup target add wasm32-unknown-unknown) and run make docs again.");
    }
    const { instance } = await WebAssembly.instantiate(await response.arrayBuffer(), {});
    return new Core(instance);
  }

  #lent(bytes, use) {
    const at = this.#exports.pairloom_alloc(bytes.length);
    new Uint8Array(this.#exports.memory.buffer, at, bytes.length).set(bytes);
    try {
      return use(at, bytes.length);
    } finally {
      this.#exports.pairloom_free(at, bytes.length);
    }
  }
  #result() {
    const { memory, pairloom_result, pairloom_result_len } = this.#exports;
    return new Uint8Array(memory.buffer, pairloom_result(), pairloom_result_len()).slice();
  }
  #numbers() {
    return new Uint32Array(this.#result().buffer);
  }
  #rows(width) {
    const flat = this.#numbers();
    return Array.from({ length: flat.length / width }, (_, i) => Array.from(flat.subarray(width * i, width * i + width)));
  }
  #checked(number, failed) {
    if (number === failed) throw new Error(text.decode(this.#result()));
    return number;
  }

  /** A handle of a tokenizer trained on one text. */
  train(corpus, pattern, nMerges, bytesGreatest = false) {
    return this.#checked(this.#lent(utf8.encode(corpus), (at, n) => this.#lent(utf8.encode(pattern), (patternAt, patternN) =>
      this.#exports.pairloom_train(at, n, patternAt, patternN, nMerges, bytesGreatest))), 0);
  }
  /** A handle of the tokenizer of a file (bytes): pairloom's own, a tokenizer.json, a tekken.json, or a .tiktoken, split by
      `pattern`; or of a vocab.json with its merges.txt. */
  open(bytes, pattern, merges = new Uint8Array()) {
    return this.#checked(this.#lent(bytes, (at, n) => this.#lent(merges, (mergesAt, mergesN) =>
      this.#lent(utf8.encode(pattern), (patternAt, patternN) =>
        this.#exports.pairloom_load(at, n, mergesAt, mergesN, patternAt, patternN)))), 0);
  }
  drop(tokenizer) {
    this.#exports.pairloom_drop(tokenizer);
  }
  /** The ids of a text. */
  encode(tokenizer, string, isOrdinary = false) {
    this.#checked(this.#lent(utf8.encode(string), (at, n) => this.#exports.pairloom_encode(tokenizer, at, n, isOrdinary)), -1);
    return this.#numbers();
  }
  /** The bytes of ids. */
  decode(tokenizer, ids) {
    const packed = new Uint8Array(Uint32Array.from(ids).buffer);
    this.#checked(this.#lent(packed, (at, n) => this.#exports.pairloom_decode(tokenizer, at, n / 4)), -1);
    return this.#result();
  }
  /** Where the pretokens of a text end, in bytes. */
  split(tokenizer, string) {
    this.#checked(this.#lent(utf8.encode(string), (at, n) => this.#exports.pairloom_split(tokenizer, at, n)), -1);
    return this.#numbers();
  }
  /** [left, right, merged id] of each merge, in rank order. */
  merges(tokenizer) {
    this.#checked(this.#exports.pairloom_merges(tokenizer), -1);
    return this.#rows(3);
  }
  /** [rank, left, right, merged id] of each merge that makes a token, in the order in which they are done. */
  mergesOf(tokenizer, id) {
    this.#exports.pairloom_merges_of(tokenizer, id);
    return this.#rows(4);
  }
  isSpecial(tokenizer, id) {
    return this.#exports.pairloom_is_special(tokenizer, id) !== 0;
  }
  nVocab(tokenizer) {
    return this.#exports.pairloom_n_vocab(tokenizer);
  }
}
