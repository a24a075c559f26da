// The playground: the real core in the page. What is typed and loaded never leaves the browser, and is put into the page
// as text, never as HTML.
import { Core } from "./core.js";
import { element, shown } from "./display.js";
import { Learning, wordsOf } from "./learning.js";
import { MOST_SHOWN, TokenList } from "./tokens.js";

const PATTERNS = ["gpt2", "cl100k", "o200k", "llama3", "qwen2", "qwen3.5", "nanochat", "tekken", "kimi", "deepseek", "starcoder", "cl100k-runs", "seed", "digits", "digit-runs"];
const SAMPLE = `low low low low low lower lower newest newest newest newest newest newest widest widest widest
Byte-pair encoding starts from bytes and merges the most frequent pair of neighbours, again and again.
The merges are learned in order; the earliest are the most frequent. The newest are the longest.
`;
// Recounting all pairs for each step is the naive trainer; more text would make the slider slow.
const MOST_WATCHED = 200_000;

const utf8 = new TextEncoder();
const field = (label, input) => element("label", { className: "pl-field" }, element("span", {}, label), input);

function build(root, core) {
  let tokenizer = 0;
  let learning = null;
  let bytesOf = new Map();

  const corpus = element("textarea", { id: "pl-corpus", rows: 6, value: SAMPLE, spellcheck: false });
  const pattern = element("select", { id: "pl-pattern" }, ...PATTERNS.map((name) => element("option", {}, name)));
  const size = element("input", { id: "pl-merges", type: "number", min: 0, max: 50000, value: 60 });
  const ties = element("select", { id: "pl-ties" }, element("option", { value: "ids" }, "least ids"), element("option", { value: "bytes" }, "greatest bytes"));
  const trainButton = element("button", { id: "pl-train", type: "button" }, "Train");
  const file = element("input", { id: "pl-file", type: "file", multiple: true, accept: ".json,.tiktoken,.txt" });
  const input = element("textarea", { id: "pl-text", rows: 4, value: "the lowest and the newest tokens", spellcheck: false });
  const told = element("p", { id: "pl-told", role: "status" });
  const ids = element("code", { id: "pl-ids" });
  const from = element("p", { id: "pl-from" });
  const step = element("input", { id: "pl-step", type: "range", min: 0, value: 0, "aria-label": "Merges learned" });
  const said = element("output", { id: "pl-said" });
  const pairs = element("tbody", { id: "pl-pairs" });
  const token = (id) => {
    if (!bytesOf.has(id)) bytesOf.set(id, core.decode(tokenizer, [id]));
    return bytesOf.get(id);
  };
  const describe = (id) => ({ bytes: token(id), merges: core.mergesOf(tokenizer, id), isSpecial: core.isSpecial(tokenizer, id) });
  const tokens = new TokenList(token, describe);
  const watched = element("div", { id: "pl-watched" },
    element("h2", {}, "Watch the merges being learned"), field("Merges learned", step), said,
    element("table", {}, element("thead", {}, element("tr", {}, ...["pair", "count", "what comes of it"].map((name) => element("th", { scope: "col" }, name)))), pairs));

  root.replaceChildren(
    element("h2", {}, "A tokenizer"),
    field("Train on this text", corpus),
    element("div", { className: "pl-row" }, field("Pattern", pattern), field("Merges", size), field("Ties go to", ties), trainButton),
    element("div", { className: "pl-row" }, field("or load a tokenizer from disk: a tokenizer.json, a tekken.json, pairloom's .json, vocab.json and merges.txt chosen together, or a .tiktoken, which the pattern above splits", file)),
    from,
    element("h2", {}, "Your text as tokens"),
    field("Type here", input), told, tokens.root, tokens.panel,
    element("details", {}, element("summary", {}, "ids"), ids),
    watched,
  );

  const guarded = (act) => () => Promise.resolve().then(act).catch((error) => {
    told.textContent = `${error.message}`;
    told.classList.add("pl-error");
  });

  function encode() {
    told.classList.remove("pl-error");
    const began = performance.now();
    const found = core.encode(tokenizer, input.value);
    const took = performance.now() - began;
    const n = utf8.encode(input.value).length;
    told.textContent = `${n.toLocaleString("en")} bytes, ${found.length.toLocaleString("en")} tokens`
      + (found.length ? `, ${(n / found.length).toFixed(3)} bytes per token` : "") + `; encoded in ${took.toFixed(1)} ms`
      + (found.length > MOST_SHOWN ? `. The first ${MOST_SHOWN.toLocaleString("en")} are shown.` : ".");
    tokens.fill(found);
    ids.textContent = found.subarray(0, MOST_SHOWN).join(" ");
    root.dataset.encodeMs = took;
    root.dataset.firstMs ??= took;
  }

  function take(handle, what) {
    if (tokenizer) core.drop(tokenizer);
    tokenizer = handle;
    bytesOf = new Map();
    from.textContent = `${what}: ${core.nVocab(tokenizer).toLocaleString("en")} ids.`;
  }

  function train() {
    const began = performance.now();
    const greatest = ties.value === "bytes";
    take(core.train(corpus.value, pattern.value, Math.max(0, Math.floor(Number(size.value)) || 0), greatest), "Trained on the text");
    from.textContent += ` It took ${(performance.now() - began).toFixed(1)} ms.`;
    const bytes = utf8.encode(corpus.value);
    const merges = core.merges(tokenizer);
    watched.hidden = false;
    if (bytes.length > MOST_WATCHED) {
      learning = null;
      step.max = 0;
      pairs.replaceChildren();
      said.textContent = `Merges are watched on texts of up to ${MOST_WATCHED.toLocaleString("en")} bytes.`;
    } else {
      learning = new Learning(wordsOf(bytes, core.split(tokenizer, corpus.value)), merges);
      step.max = merges.length;
      step.value = 0;
      watch();
    }
    encode();
  }

  function watch() {
    if (!learning) return;
    const at = Number(step.value);
    learning.goTo(at);
    const merge = learning.merges[at];
    const best = learning.best(8);
    if (merge && !best.some(([, left, right]) => left === merge[0] && right === merge[1])) {
      // Among many equals the winner by greatest bytes may not be among the first.
      best.pop();
      best.push([best[0][0], merge[0], merge[1]]);
    }
    pairs.replaceChildren(...best.map(([count, left, right]) => {
      const wins = merge && left === merge[0] && right === merge[1];
      return element("tr", wins ? { className: "pl-wins" } : {},
        element("td", {}, element("code", {}, shown(token(left))), " + ", element("code", {}, shown(token(right)))),
        element("td", {}, count.toLocaleString("en")),
        element("td", {}, wins ? `merged to id ${merge[2]}` : ""));
    }));
    const equal = best.filter(([count]) => count === best[0][0]).length;
    said.textContent = merge
      ? `Step ${at + 1} of ${learning.merges.length}: “${shown(token(merge[0]))}” + “${shown(token(merge[1]))}” comes ${best[0][0]} times`
        + (equal > 1 ? `, as do others: the tie goes to the ${ties.value === "bytes" ? "greatest bytes" : "least ids"}.` : ".")
      : `All ${learning.merges.length} merges are learned.`;
    step.setAttribute("aria-valuetext", said.textContent);
  }

  async function load() {
    const files = Array.from(file.files);
    const merges = files.find((each) => each.name.endsWith(".txt"));
    const chosen = files.find((each) => each !== merges);
    if (!chosen) return;
    const [bytes, pairs] = await Promise.all([chosen, merges ?? new Blob()].map(async (each) => new Uint8Array(await each.arrayBuffer())));
    const began = performance.now();
    take(core.open(bytes, pattern.value, pairs), chosen.name);
    from.textContent += ` Loading took ${(performance.now() - began).toFixed(0)} ms.`;
    watched.hidden = true;
    encode();
  }

  trainButton.addEventListener("click", guarded(train));
  file.addEventListener("change", guarded(load));
  input.addEventListener("input", guarded(encode));
  step.addEventListener("input", guarded(watch));
  train();
}

const root = document.getElementById("pairloom-playground");
if (root) {
  const began = performance.now();
  try {
    const core = await Core.load(new URL("pairloom.wasm", import.meta.url));
    root.dataset.loadMs = performance.now() - began;
    build(root, core);
    root.dataset.ready = "yes";
  } catch (error) {
    root.replaceChildren(element("p", { className: "pl-error", role: "alert" }, error.message));
    root.dataset.ready = "failed";
  }
}
