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
  #checked(number, failed) {
    if (number === failed) throw new Error(text.decode(this.#result()));
    return number;
  }

  /** A handle of a tokenizer trained on one text. */
  train(corpus, pattern, nMerges, bytesGreatest = false) {
    return this.#checked(this.#lent(utf8.encode(corpus), (at, n) => this.#lent(utf8.encode(pattern), (patternAt, patternN) =>
      this.#exports.pairloom_train(at, n, patternAt, patternN, nMerges, bytesGreatest))), 0);
  }
  /** A handle of the tokenizer of a model file of pairloom (bytes). */
  open(bytes) {
    return this.#checked(this.#lent(bytes, (at, n) => this.#exports.pairloom_load(at, n)), 0);
  }
  /** A handle of a tokenizer of ranks, as a .tiktoken file has them: tokens is a list of [bytes, id]. */
  fromRanks(tokens, pattern) {
    const sorted = [...tokens].sort((a, b) => a[1] - b[1]);
    const packed = (numbers) => new Uint8Array(Uint32Array.from(numbers).buffer);
    const all = new Uint8Array(sorted.reduce((sum, [bytes]) => sum + bytes.length, 0));
    sorted.reduce((at, [bytes]) => (all.set(bytes, at), at + bytes.length), 0);
    return this.#checked(this.#lent(packed(sorted.map(([, id]) => id)), (ids) =>
      this.#lent(packed(sorted.map(([bytes]) => bytes.length)), (lengths) =>
        this.#lent(all, (at, n) => this.#lent(new Uint8Array(4), (merges) => this.#lent(utf8.encode(pattern), (patternAt, patternN) =>
          this.#exports.pairloom_from_columns(ids, lengths, sorted.length, at, n, merges, 0, true, true, patternAt, patternN)))))), 0);
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
    this.#exports.pairloom_merges(tokenizer);
    const flat = this.#numbers();
    return Array.from({ length: flat.length / 3 }, (_, i) => Array.from(flat.subarray(3 * i, 3 * i + 3)));
  }
  nVocab(tokenizer) {
    return this.#exports.pairloom_n_vocab(tokenizer);
  }
}

/** The [bytes, rank] of a .tiktoken file: lines of base64, a space and a number. */
export function readTiktoken(content) {
  return content.split("\n").filter((line) => line.trim()).map((line, index) => {
    const [base64, rank, ...more] = line.trim().split(" ");
    if (!/^\d+$/.test(rank ?? "") || more.length) throw new Error(`line ${index + 1} is not base64, a space and a rank`);
    return [Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)), Number(rank)];
  });
}
