// What the package refuses, frees and survives.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import * as pairloom from "pairloom";

const { Tokenizer } = pairloom;
const tokenizer = await Tokenizer.train("low low lower newest newest widest", 20);

for (const wrong of [null, undefined, 5, {}, ["a"], new Uint8Array(2)]) {
  assert.throws(() => tokenizer.encode(wrong), { name: "TypeError", message: /text must be a string, not / });
  assert.throws(() => tokenizer.session(wrong ?? null), TypeError);
  assert.throws(() => tokenizer.count(wrong), TypeError);
}
assert.throws(() => tokenizer.encode(null), /not null/);
assert.throws(() => tokenizer.encode("a\ud800b"), { name: "TypeError", message: /surrogate/ });
assert.throws(() => tokenizer.encode("a", { specials: "none" }), /"recognise" or "ordinary", not none/);
for (const wrong of [null, "12", 5, [1.5], [-1], [2 ** 32], ["1"], [1n], [null], new Map(), new DataView(new ArrayBuffer(8))]) assert.throws(() => tokenizer.decode(wrong), TypeError);
assert.throws(() => tokenizer.decode([1, 99_999]), /99999/);

// What other libraries' calls pass is refused, not ignored.
for (const call of [() => tokenizer.encode("a", []), () => tokenizer.count("a", "all"), () => tokenizer.encode("a", { specials: "ordinary" }, []), () => tokenizer.encodeStream(null)]) {
  assert.throws(call, { name: "TypeError", message: /is no option here; the options are an object with specials$/ });
}
assert.throws(() => tokenizer.encode("a", { add_special_tokens: false }), /^TypeError: add_special_tokens is no option here/);
for (const call of [() => tokenizer.decode([97], { skip_special_tokens: true }), () => tokenizer.session("a", { specials: "ordinary" }), () => tokenizer.decodeStream([])]) {
  assert.throws(call, { name: "TypeError", message: /is no option here; there are none$/ });
}
await assert.rejects(Tokenizer.train("a", 5, { vocabSize: 300 }), /vocabSize is no option here; the options are an object with pattern and tieBreak/);
await assert.rejects(Tokenizer.fromBytes(new Uint8Array(1), "cl100k"), /string is no option here; the options are an object with pattern and merges/);
assert.throws(() => tokenizer.mergesOf(-1), TypeError);
await assert.rejects(Tokenizer.fromBytes("{}"), /bytes must be bytes/);
await assert.rejects(Tokenizer.fromBytes(new TextEncoder().encode("{}")), /the file/);
await assert.rejects(Tokenizer.load("no such file"), /ENOENT/);
await assert.rejects(Tokenizer.train("a", 1.5), TypeError);
await assert.rejects(Tokenizer.train("a", 5, { tieBreak: "bytes" }), /"ids_least" or "bytes_greatest", not bytes/);
await assert.rejects(Tokenizer.train("a", 5, { pattern: "(" }), /\(/);
await assert.rejects(Tokenizer.train("a", -1), /nMerges must be an integer from 0 to 4294967295, not -1/);
await assert.rejects(Tokenizer.train("a", "5"), /nMerges must be .*, not string/);
await assert.rejects(Tokenizer.train("a", 5, { pattern: "cl10k" }), /no pattern is named 'cl10k'; the names are gpt2, cl100k/);
await assert.rejects(Tokenizer.train("a", 5, { pattern: "" }), /no pattern is named ''; the names are gpt2, cl100k/);
const ranks = new TextEncoder().encode("YQ== 0\nYg== 1\nYWI= 2\n");
await assert.rejects(Tokenizer.fromBytes(ranks), /a \.tiktoken file contains neither the pattern .*; load it with pattern=/);
await assert.rejects(Tokenizer.fromBytes(ranks, { pattern: "cl10k" }), /no pattern is named 'cl10k'/);
const vocab = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`<${i}>`, i]));
await assert.rejects(Tokenizer.fromBytes(new TextEncoder().encode(JSON.stringify(vocab))), /needs its merges\.txt/);
writeFileSync("ranks.tiktoken", ranks);
const ofUrl = await Tokenizer.load(import.meta.resolve("./ranks.tiktoken"), { pattern: "gpt2" });
assert.deepEqual(Array.from(ofUrl.encode("abb")), [2, 1]);
assert.throws(() => new Tokenizer(), /Tokenizer.fromBytes/);
assert.equal(tokenizer.decode(tokenizer.encode("\ufefflow \0 😀")), "\ufefflow \0 😀");
assert.equal(tokenizer.decodeBytes([0xf0, 0x9f]).length, 2);
assert.equal(tokenizer.decode([0xf0, 0x9f]), "\ufffd");
assert.equal(Object.keys(tokenizer).length, 0);

const session = tokenizer.session("low 😀 low");
const before = Array.from(session.ids), { keep, removed, ids } = session.append("est");
assert.deepEqual(before.toSpliced(keep, removed, ...ids), Array.from(tokenizer.encode("low 😀 lowest")));
assert.throws(() => session.replace(5, 5, "x"), /inside a surrogate pair/);
assert.throws(() => session.replace(3, 2, ""), RangeError);
assert.throws(() => session.truncate(99), RangeError);
assert.equal(session.text, "low 😀 lowest");
const all = Array.from(session.ids);
for (const args of [[-2], [0, -1], [1, undefined], [-3, -1], [2, 99]]) assert.deepEqual(Array.from(session.slice(...args)), all.slice(...args));

// A freed handle; what it made lives on.
const decoder = tokenizer.decoder();
tokenizer.free();
tokenizer.free();
for (const call of [() => tokenizer.encode("a"), () => tokenizer.decode([1]), () => tokenizer.vocabSize, () => tokenizer.session(), () => tokenizer.encodeStream()]) {
  assert.throws(call, { message: "this Tokenizer was freed" });
}
assert.throws(() => decoder.push([0xc3, 9999]), /9999/); // changes nothing
assert.equal(decoder.push([108, 111]) + decoder.push(119), "low");
assert.equal(session.append(" low").ids.length > 0, true);
session.free();
assert.throws(() => session.append(""), /this Session was freed/);

// The collector frees what nobody freed: the memory of the engine does not grow without end.
if (globalThis.gc) {
  let memory;
  for (let i = 0; i < 60; i++) {
    (await Tokenizer.train("low lower ".repeat(5), 20)).encode("low ".repeat(50_000));
    await new Promise((done) => setTimeout(done));
    globalThis.gc();
    await new Promise((done) => setTimeout(done));
    if (i === 20) memory = process.memoryUsage().rss;
  }
  assert.ok(process.memoryUsage().rss < memory + 40e6, "tokenizers that nobody holds are freed");
}

// In a worker.
writeFileSync("worker.mjs", `import { parentPort } from "node:worker_threads"; import { Tokenizer } from "pairloom";
parentPort.postMessage((await Tokenizer.train("aaaa aaaa", 2)).encode("aaaa"));`);
const answer = await new Promise((done, failed) => new Worker("./worker.mjs").once("message", done).once("error", failed));
assert.deepEqual(Array.from(answer), [257]);

// A trap: the tokenizers of that engine say so from then on, and a new one is of a new engine.
const module = new URL(import.meta.resolve("pairloom/pairloom.wasm"));
pairloom.readBy(() => import("node:fs/promises").then(({ readFile }) => readFile(module)));
const real = WebAssembly.instantiate;
let isTrapping = false;
WebAssembly.instantiate = async (...args) => {
  const { instance } = await real(...args);
  const pairloom_split = (...each) => {
    if (isTrapping) throw new WebAssembly.RuntimeError("unreachable");
    return instance.exports.pairloom_split(...each);
  };
  return { instance: { exports: { ...instance.exports, pairloom_split } } };
};
const fresh = await import(`${import.meta.resolve("pairloom").replace("node.js", "index.js")}?again`);
fresh.readBy(() => import("node:fs/promises").then(({ readFile }) => readFile(module)));
const first = await fresh.Tokenizer.train("ab ab", 1), other = await fresh.Tokenizer.train("ab ab", 1);
assert.deepEqual(Array.from(first.split("ab ab")), [2, 5]);
isTrapping = true;
assert.throws(() => first.split("ab ab"), /pairloom stopped: unreachable.*Load the tokenizer again/);
for (const call of [() => first.encode("ab"), () => other.encode("ab"), () => other.session()]) {
  assert.throws(call, /stopped in an earlier call \(unreachable\); load the tokenizer again/);
}
isTrapping = false;
assert.deepEqual(Array.from((await fresh.Tokenizer.train("ab ab", 1)).encode("ab")), [256]);
first.free();
console.log("passed");
