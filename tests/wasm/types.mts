// A program of a stranger's in TypeScript, compiled and not run: every declaration is used, and wrong uses are errors.
import { Tokenizer, readBy, readByFetch } from "pairloom";
import type { Change, Decoder, Ids, Session } from "pairloom";

readBy((location) => readByFetch(location));
const tokenizer: Tokenizer = await Tokenizer.load(new URL("https://example.com/o200k.tiktoken"), { pattern: "o200k" });
const trained = await Tokenizer.train("low lower", 10, { tieBreak: "bytes_greatest" });
const read = await Tokenizer.fromBytes(new Uint8Array(2), { merges: new ArrayBuffer(2) });
const isOne: boolean = read instanceof Tokenizer && trained.isSpecial(1);

const ids: Uint32Array = tokenizer.encode("text", { specials: "ordinary" });
const some: Ids = [1, 2, 3];
const text: string = tokenizer.decode(ids) + tokenizer.decode(some);
const bytes: Uint8Array = tokenizer.decodeBytes(ids);
const numbers: number[] = [tokenizer.count(text), tokenizer.vocabSize, bytes.length, ...tokenizer.split(text)];
const ranks: number[][] = [...tokenizer.merges(), ...tokenizer.mergesOf(300)];

const session: Session = tokenizer.session();
const changes: Change[] = [session.append("a"), session.replace(0, 1, "b"), session.truncate(0)];
numbers.push(session.length, session.text.length, ...session.ids, ...session.slice(0), changes[0].keep, ranks.length);
session.free();

const decoder: Decoder = tokenizer.decoder();
export const shown: string = decoder.push(1) + decoder.push(ids) + decoder.finish() + String(isOne) + String(numbers);
export const idStream: ReadableStream<Uint32Array> = new ReadableStream<string>().pipeThrough(tokenizer.encodeStream());
export const textStream: ReadableStream<string> = idStream.pipeThrough(tokenizer.decodeStream());

// @ts-expect-error A number is no text.
tokenizer.encode(1);
// @ts-expect-error There are two ways.
tokenizer.count("text", { specials: "all" });
// @ts-expect-error Ids are numbers.
tokenizer.decode("text");
// @ts-expect-error It is not changed.
tokenizer.vocabSize = 1;
// @ts-expect-error A tokenizer is loaded or trained.
new Tokenizer();
// @ts-expect-error The file is missing.
await Tokenizer.load();
