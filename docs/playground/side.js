// One tokenizer's side of the text: how many tokens, those of the part that is shown, and their ids.
import { element } from "./display.js";

// Elements for more tokens would make typing slow.
export const MAX_SHOWN = 4000;

const utf8 = new TextEncoder();
const number = (n) => n.toLocaleString("en");

/** token(id): a token as display.js takes it; the merge that makes it is looked up when it is asked for. */
function tokensOf(tokenizer, lengths) {
  const tokens = new Map();
  return (id) => {
    let token = tokens.get(id);
    if (!token) {
      const special = tokenizer.isSpecial(id);
      let made = null;
      const merge = () => (made ??= (special ? undefined : tokenizer.mergesOf(id).at(-1)) ?? [null, null, null]);
      // The bytes of the second of two: some tokenizers drop a space at the beginning of a text.
      const bytes = tokenizer.decodeBytes([id, id]).subarray(tokenizer.decodeBytes([id]).length);
      token = { id, bytes, special, get rank() { return merge()[0]; }, get left() { return merge()[1]; }, get right() { return merge()[2]; } };
      tokens.set(id, token);
      lengths[id] = bytes.length;
    }
    return token;
  };
}

export class Side {
  /** suffix: of the elements' ids, since there are two sides. */
  constructor(suffix = "") {
    this.told = element("p", { id: `pl-told${suffix}`, role: "status" });
    this.ids = element("code", { id: `pl-ids${suffix}`, className: "pl-ids", tabIndex: 0, role: "group", "aria-label": "Ids" });
  }

  /** Shows another tokenizer's tokens of a text. */
  use(tokenizer, name, text) {
    const session = this.#timed(() => tokenizer.session(text));
    this.session?.free();
    [this.tokenizer, this.session, this.name] = [tokenizer, session, name];
    this.start = null;
    this.lengths = new Uint32Array(tokenizer.vocabSize);
    this.token = tokensOf(tokenizer, this.lengths);
    this.nBytes = utf8.encode(text).length;
  }

  edit(start, end, more) {
    const gone = this.session.text.slice(start, end);
    const { keep } = this.#timed(() => this.session.replace(start, end, more));
    if (keep < this.first) this.start = null; // where the part begins is looked for again
    this.nBytes += utf8.encode(more).length - utf8.encode(gone).length;
  }

  #timed(encode) {
    const began = performance.now(), done = encode();
    this.ms = performance.now() - began;
    return done;
  }

  /** How many bytes a normaliser puts before the text: a space, as Llama's does. */
  get prefix() {
    const [id] = this.session.slice(0, 1);
    return Number(id !== undefined && this.token(id).bytes[0] === 32 && this.session.text[0] !== " ");
  }

  /** Finds the tokens of these bytes of the text. */
  find(start, end) {
    if (this.start !== start) Object.assign(this, { start, first: 0, from: start && -this.prefix });
    if (end >= this.nBytes) end = Infinity; // a normaliser can lengthen a text
    const ids = this.session.slice(this.first, this.first + end - this.from); // tokens have at least a byte
    let skipped = 0, last = 0;
    for (let at = this.from; last < ids.length && at < end; last++) {
      at += this.lengths[ids[last]] || this.token(ids[last]).bytes.length;
      if (at <= start) [skipped, this.from] = [last + 1, at];
    }
    this.first += skipped;
    this.shown = ids.subarray(skipped, Math.min(last, skipped + MAX_SHOWN));
  }

  /** Leaves tokens out until those of both sides begin at the same byte. */
  static align(one, other) {
    while (one.from !== other.from && one.shown.length && other.shown.length) {
      const early = one.from < other.from ? one : other;
      early.from += early.token(early.shown[0]).bytes.length;
      early.first++;
      early.shown = early.shown.subarray(1);
    }
  }

  /** Says what was found. */
  say() {
    this.ids.textContent = this.shown.join(" ");
    const n = this.session.length;
    this.told.textContent = `${this.name}: ${number(this.nBytes)} bytes, ${number(n)} tokens`
      + (n ? `, ${(this.nBytes / n).toFixed(3)} bytes per token` : "") + `; encoded in ${this.ms.toFixed(1)} ms`
      + (this.shown.length < n ? `. Tokens ${number(this.first + 1)} to ${number(this.first + this.shown.length)} are shown.` : ".");
  }
}
