// Runs the WebAssembly module under node: reads a job as JSON from standard input, prints its results as JSON.
//
//     node run.mjs MODULE.wasm <job.json
//
// A job has `train` ({text, pattern, n_merges, bytes_greatest}) or `file` (a model file in base64; vocab.json with
// `merges`) and `pattern`, `texts`,
// and `trees` (ids). The result has `merges`, for each text its `ids`, its `pretokens` and whether it `returns` by decoding,
// and for each id of `trees` the merges that make it.
import { readFileSync } from "node:fs";

const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
const core = instance.exports;
const job = JSON.parse(readFileSync(0, "utf8"));

/** Calls `use` with the address and the length of a copy of `bytes` in the module's memory. */
function lent(bytes, use) {
  const at = core.pairloom_alloc(bytes.length);
  new Uint8Array(core.memory.buffer, at, bytes.length).set(bytes);
  try {
    return use(at, bytes.length);
  } finally {
    core.pairloom_free(at, bytes.length);
  }
}

const result = () =>
  new Uint8Array(core.memory.buffer, core.pairloom_result(), core.pairloom_result_len()).slice();
const numbers = () => Array.from(new Uint32Array(result().buffer));
const utf8 = new TextEncoder();

function checked(number, failed) {
  if (number === failed) throw new Error(new TextDecoder().decode(result()));
  return number;
}

let tokenizer;
try {
  if (job.file !== undefined) {
    tokenizer = checked(
      lent(Buffer.from(job.file, "base64"), (at, n) =>
        lent(Buffer.from(job.merges ?? "", "base64"), (merges_at, merges_n) =>
          lent(utf8.encode(job.pattern), (pattern_at, pattern_n) =>
            core.pairloom_load(at, n, merges_at, merges_n, pattern_at, pattern_n),
          ),
        ),
      ),
      0,
    );
  } else {
    const { text, pattern, n_merges, bytes_greatest } = job.train;
    tokenizer = checked(
      lent(utf8.encode(text), (at, n) =>
        lent(utf8.encode(pattern), (pattern_at, pattern_n) =>
          core.pairloom_train(at, n, pattern_at, pattern_n, n_merges, bytes_greatest),
        ),
      ),
      0,
    );
  }
  core.pairloom_merges(tokenizer);
  const merges = numbers();
  const texts = job.texts.map((text) => {
    const bytes = utf8.encode(text);
    checked(lent(bytes, (at, n) => core.pairloom_encode(tokenizer, at, n, false)), -1);
    const ids = numbers();
    checked(lent(bytes, (at, n) => core.pairloom_split(tokenizer, at, n)), -1);
    const pretokens = numbers();
    const packed = new Uint8Array(new Uint32Array(ids).buffer);
    checked(lent(packed, (at, n) => core.pairloom_decode(tokenizer, at, n / 4)), -1);
    return { ids, pretokens, returns: Buffer.compare(result(), bytes) === 0 };
  });
  const trees = job.trees.map((id) => {
    core.pairloom_merges_of(tokenizer, id);
    return numbers();
  });
  core.pairloom_drop(tokenizer);
  console.log(JSON.stringify({ merges, texts, trees }));
} catch (error) {
  console.log(JSON.stringify({ error: error instanceof WebAssembly.RuntimeError ? new TextDecoder().decode(result()) : error.message }));
}
