/** Whether special tokens' literals in a text become their ids (the default) or stay text. */
export interface Specials {
  specials?: "recognise" | "ordinary";
}
/** `pattern`: a name ("gpt2", "cl100k", "o200k" ...) or a regex, for files that store none: a `.tiktoken` needs it, and
    has no special tokens, so their literals stay text;
    vocab.json and merges.txt default to GPT-2's; a file with its own pattern refuses it.
    `merges`: the bytes of merges.txt, if the file is vocab.json. */
export interface FileOptions {
  pattern?: string;
  merges?: Uint8Array | ArrayBuffer;
}
export type Ids = ArrayLike<number> & Iterable<number>;

interface Handle {
  /** Frees the memory now instead of at garbage collection; later calls throw an Error. */
  free(): void;
}

/** An immutable tokenizer. Arguments of a wrong type throw a TypeError. */
export interface Tokenizer extends Handle {
  /** The ids of a text. */
  encode(text: string, options?: Specials): Uint32Array;
  /** The number of ids of a text. */
  count(text: string, options?: Specials): number;
  /** The text of ids. The tokenizer's file decides what malformed UTF-8 becomes ("strict" is an Error). */
  decode(ids: Ids): string;
  /** The bytes of ids. */
  decodeBytes(ids: Ids): Uint8Array;
  /** A text that you edit: each edit encodes only what it changes. */
  session(text?: string): Session;
  /** Decodes ids that arrive one by one. */
  decoder(): Decoder;
  /** Parts of a text in, ids out as soon as later text cannot change them: the ids that `encode` gives the whole text. */
  encodeStream(options?: Specials): TransformStream<string, Uint32Array>;
  /** Ids in, whole characters out. */
  decodeStream(): TransformStream<number | Ids, string>;
  /** The largest id, plus 1. */
  readonly vocabSize: number;
  isSpecial(id: number): boolean;
  /** The end of each pretoken of a text, in bytes of UTF-8. */
  split(text: string): Uint32Array;
  /** [left, right, merged id] of each merge, by rank. */
  merges(): [number, number, number][];
  /** [rank, left, right, merged id] of each merge that makes a token, in the order in which they are applied. */
  mergesOf(id: number): [number, number, number, number][];
}

export declare class Tokenizer {
  private constructor();
  /** Loads a file of any format that pairloom reads; the contents tell which. */
  static fromBytes(bytes: Uint8Array | ArrayBuffer, options?: FileOptions): Promise<Tokenizer>;
  /** Loads a file at a URL; in node also at a path. */
  static load(location: string | URL, options?: FileOptions): Promise<Tokenizer>;
  /** Trains on one text. Learns fewer merges if no pair is left. */
  static train(text: string, nMerges: number, options?: { pattern?: string; tieBreak?: "ids_least" | "bytes_greatest" }): Promise<Tokenizer>;
}

/** The first `keep` ids stay; `ids` replace the `removed` ids after them. */
export interface Change {
  keep: number;
  removed: number;
  ids: Uint32Array;
}
/** Offsets count UTF-16 units, as in JavaScript's strings. An error leaves the session unchanged. */
export interface Session extends Handle {
  readonly text: string;
  /** A copy of all ids, which are always those of `encode(text)`. */
  readonly ids: Uint32Array;
  /** A copy of some ids; arguments as for an array. */
  slice(start: number, end?: number): Uint32Array;
  /** The number of ids. */
  readonly length: number;
  append(text: string): Change;
  /** Cuts the text to a length. */
  truncate(length: number): Change;
  replace(start: number, end: number, text: string): Change;
}
export interface Decoder extends Handle {
  /** Returns the characters that are complete now. */
  push(ids: number | Ids): string;
  /** Returns the rest, if the ids end inside a character. */
  finish(): string;
}

/** Sets the function that reads the engine and the files of `Tokenizer.load`, for example from an archive or a cache. */
export declare function readBy(read: (location: string | URL) => Uint8Array | ArrayBuffer | Promise<Uint8Array | ArrayBuffer>): void;
/** The function that reads them in a browser. */
export declare function readByFetch(location: string | URL): Promise<Uint8Array>;
