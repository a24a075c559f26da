/** Whether literals of special tokens in a text become their ids (the default), or are text. */
export interface Specials {
  specials?: "recognise" | "ordinary";
}
/** `pattern`: how a file that does not say it splits text: a name ("gpt2", "cl100k", "o200k" ...) or a regex. A `.tiktoken`
    needs it; vocab.json and merges.txt are GPT-2's without it; a file that says it refuses it.
    `merges`: the bytes of merges.txt where the file is vocab.json. */
export interface FileOptions {
  pattern?: string;
  merges?: Uint8Array | ArrayBuffer;
}
export type Ids = ArrayLike<number> & Iterable<number>;

interface Handle {
  /** Frees the memory now, not when the collector does; later calls throw an Error. */
  free(): void;
}

/** An immutable tokenizer. Arguments of a wrong type throw a TypeError. */
export interface Tokenizer extends Handle {
  /** The ids of a text. */
  encode(text: string, options?: Specials): Uint32Array;
  /** How many ids a text has. */
  count(text: string, options?: Specials): number;
  /** The text of ids; what is not UTF-8 becomes what the tokenizer's file says (an Error where that is "strict"). */
  decode(ids: Ids): string;
  /** The bytes of ids. */
  decodeBytes(ids: Ids): Uint8Array;
  /** A text that is edited: each edit encodes only what it changes. */
  session(text?: string): Session;
  /** Text of ids that come one by one. */
  decoder(): Decoder;
  /** Parts of a text in, their ids out as soon as later text cannot change them; as `encode` of the whole. */
  encodeStream(options?: Specials): TransformStream<string, Uint32Array>;
  /** Ids in, whole characters out. */
  decodeStream(): TransformStream<number | Ids, string>;
  /** The largest id, + 1. */
  readonly vocabSize: number;
  isSpecial(id: number): boolean;
  /** Where the pretokens of a text end, in bytes of UTF-8. */
  split(text: string): Uint32Array;
  /** [left, right, merged id] of each merge, by rank. */
  merges(): [number, number, number][];
  /** [rank, left, right, merged id] of each merge that makes a token, in the order in which they are done. */
  mergesOf(id: number): [number, number, number, number][];
}

export declare class Tokenizer {
  private constructor();
  /** The tokenizer of a file of any format that pairloom reads, recognised by its contents. */
  static fromBytes(bytes: Uint8Array | ArrayBuffer, options?: FileOptions): Promise<Tokenizer>;
  /** The same of a URL; under node also of a path. */
  static load(location: string | URL, options?: FileOptions): Promise<Tokenizer>;
  /** Trains on one text. */
  static train(text: string, nMerges: number, options?: { pattern?: string; tieBreak?: "ids_least" | "bytes_greatest" }): Promise<Tokenizer>;
}

/** The first `keep` ids stay, the `removed` ids after them go, and `ids` take their place. */
export interface Change {
  keep: number;
  removed: number;
  ids: Uint32Array;
}
/** Offsets count as in JavaScript's strings. On an error nothing has changed. */
export interface Session extends Handle {
  readonly text: string;
  /** A copy of all ids: always those of `encode(text)`. */
  readonly ids: Uint32Array;
  /** A copy of some of them, as of an array. */
  slice(start: number, end?: number): Uint32Array;
  /** How many ids there are. */
  readonly length: number;
  append(text: string): Change;
  /** Cuts the text back to a length. */
  truncate(length: number): Change;
  replace(start: number, end: number, text: string): Change;
}
export interface Decoder extends Handle {
  /** The characters that are complete now. */
  push(ids: number | Ids): string;
  /** What is left, where the ids end inside a character. */
  finish(): string;
}

/** Reads the engine and the files of `Tokenizer.load` by this function, for example from an archive or a cache. */
export declare function readBy(read: (location: string | URL) => Uint8Array | ArrayBuffer | Promise<Uint8Array | ArrayBuffer>): void;
/** What reads them in a browser. */
export declare function readByFetch(location: string | URL): Promise<Uint8Array>;
