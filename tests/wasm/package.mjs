// Uses the packed package as a stranger's script does: reads a job as JSON from standard input, prints what each way of encoding
// returns. A job has `file` (a path), `pattern` and `texts`.
import { readFileSync } from "node:fs";
import { Tokenizer } from "pairloom";

const job = JSON.parse(readFileSync(0, "utf8"));
const tokenizer = await Tokenizer.load(job.file, { pattern: job.pattern });

let state = 1;
const below = (n) => (state = (state * 48271) % 0x7fffffff) % n;
const isInside = (text, at) => /[\udc00-\udfff]/.test(text[at] ?? "");

/** What a pipe through a TransformStream makes of parts. */
async function piped(parts, stream) {
  const found = [];
  await ReadableStream.from(parts).pipeThrough(stream).pipeTo(new WritableStream({ write: (part) => void found.push(part) }));
  return found;
}

/** The ids of a text that was typed: begun as another, and edited until it is this one. */
function typed(text, before) {
  const session = tokenizer.session(before);
  const ids = Array.from(session.ids);
  const edit = (start, end, more) => {
    const change = session.replace(start, end, more);
    ids.splice(change.keep, change.removed, ...change.ids);
  };
  for (let turn = 0; turn < 4; turn++) {
    let [start, end] = [below(session.text.length + 1), below(session.text.length + 1)].sort((a, b) => a - b);
    while (isInside(session.text, start)) start--;
    while (isInside(session.text, end)) end++;
    edit(start, end, before.slice(0, below(4)).toWellFormed());
  }
  edit(0, session.text.length, text + before);
  edit(text.length, text.length + before.length, "");
  if (session.text !== text || session.ids.join() !== ids.join() || session.length !== ids.length) throw new Error("the changes are not the ids");
  session.free();
  return ids;
}

const texts = [];
for (const [i, text] of job.texts.entries()) {
  const ids = tokenizer.encode(text);
  const parts = [];
  for (let at = 0; at < text.length; ) parts.push(text.slice(at, (at += 1 + below(9))));
  const streamed = (await piped(parts, tokenizer.encodeStream())).flatMap((part) => Array.from(part));
  const decoder = tokenizer.decoder();
  const pushed = Array.from(ids, (id) => decoder.push(id)).join("") + decoder.finish();
  texts.push({
    ids: Array.from(ids), count: tokenizer.count(text), streamed, typed: typed(text, job.texts[(i + 1) % job.texts.length]),
    decoded: [tokenizer.decode(ids), pushed, (await piped([ids], tokenizer.decodeStream())).join("")],
  });
}
console.log(JSON.stringify({ texts, vocabSize: tokenizer.vocabSize }));
