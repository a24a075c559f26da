// The playground: the real core in the page. What is typed and loaded never leaves the browser, and is put into the page
// as text, never as HTML.
import { readBy, Tokenizer } from "./pairloom/index.js";
import { Editor } from "./editor.js";
import { element, tokenView } from "./display.js";
import { MAX_SHOWN, Side } from "./side.js";
import { Watching } from "./watching.js";

const PATTERNS = ["gpt2", "cl100k", "o200k", "llama3", "qwen2", "qwen3.5", "nanochat", "tekken", "kimi", "deepseek", "starcoder", "cl100k-runs", "seed", "digits", "digit-runs"];
const SAMPLE = `low low low low low lower lower newest newest newest newest newest newest widest widest widest
Byte-pair encoding starts from bytes and merges the most frequent pair of neighbours, again and again.
The merges are learned in order; the earliest are the most frequent. The newest are the longest.
`;
const TOY = {
  corpus: "low low low low low lower lower widest widest widest newest newest newest newest newest newest",
  pattern: String.raw`\S+|\s+`, merges: "6", ties: "bytes_greatest",
};
const MENU = {
  trained: "the one trained here", toy: "CS336's toy: low, lower, newest, widest", english: "English, 4,000 tokens",
  code: "Python code, 4,000 tokens", languages: "17 languages, 700 tokens",
};
const MAX_LINK_CHARS = 6000;
// The panel of a token follows the text when nothing was typed for so many milliseconds.
const PATIENCE = 500;

const utf8 = new TextEncoder();
const option = (value, label = value) => element("option", { value }, label);

/** A label, its input, and where its errors are said. */
function field(label, input, ...more) {
  const error = element("span", { className: "pl-error", id: `${input.id}-error`, role: "alert" });
  input.setAttribute("aria-describedby", error.id);
  return element("div", { className: "pl-field" }, element("label", { htmlFor: input.id }, label), input, ...more, error);
}
function complain(input, message = "") {
  document.getElementById(`${input.id}-error`).textContent = message;
  input.setAttribute("aria-invalid", String(message !== ""));
}
/** Runs what an input asks for; an error is said beside it. */
const guarded = (input, act) => async () => {
  try {
    complain(input);
    await act();
  } catch (error) {
    complain(input, error.message);
  }
};

async function build(root) {
  const menu = element("select", { id: "pl-menu" }, ...Object.entries(MENU).map(([key, label]) => option(key, label)));
  const corpus = element("textarea", { id: "pl-corpus", rows: 6, value: SAMPLE, spellcheck: false });
  const pattern = element("select", { id: "pl-pattern" }, ...PATTERNS.map((name) => option(name)), option(TOY.pattern, "words and white space"));
  const size = element("input", { id: "pl-merges", type: "number", min: 0, max: 50000, value: 60 });
  const ties = element("select", { id: "pl-ties" }, option("ids_least", "lowest ids"), option("bytes_greatest", "greatest bytes"));
  const trainButton = element("button", { id: "pl-train", type: "button" }, "Train");
  const file = element("input", { id: "pl-file", type: "file", multiple: true });
  const url = element("input", { id: "pl-url", type: "url", placeholder: "https://…/tokenizer.json" });
  const urlButton = element("button", { id: "pl-load", type: "button" }, "Load");
  const input = element("textarea", { id: "pl-text", rows: 6, value: "the lowest and the newest tokens", spellcheck: false });
  const other = element("select", { id: "pl-other" }, option("", "nothing"), ...Object.entries(MENU).map(([key, label]) => option(key, label)));
  const linkButton = element("button", { id: "pl-link", type: "button" }, "Copy a link to this");
  const from = element("p", { id: "pl-from", role: "status" });
  const sides = [new Side(), new Side("-2")];
  const view = tokenView({ prefix: "pl-" });
  const watching = new Watching();
  const known = new Map(); // tokenizers by their key in the menus
  let opened = null; // what a .tiktoken that another pattern may split was opened from

  function draw() {
    const began = performance.now();
    const start = editor.startBytes, end = start + utf8.encode(input.value).length;
    const shown = sides.filter((side) => side.session);
    shown.forEach((side) => side.find(start, end));
    if (shown.length === 2) Side.align(...shown);
    shown.forEach((side) => side.say());
    view.show(shown.map(({ name, token }) => ({ name, rule: "", token })), [{ sides: shown.map((side) => ({ ids: Array.from(side.shown), pretokens: null })) }], PATIENCE);
    view.drawAll(MAX_SHOWN);
    Object.assign(root.dataset, { encodeMs: sides[0].ms, drawMs: performance.now() - began });
    root.dataset.firstMs ??= sides[0].ms;
  }
  const editor = new Editor(input, (...edit) => sides.filter((side) => side.session).forEach((side) => side.edit(...edit)), draw);

  const settings = () => ({ pattern: pattern.value, tieBreak: ties.value });
  const trainToy = () => Tokenizer.train(TOY.corpus, Number(TOY.merges), { pattern: TOY.pattern, tieBreak: TOY.ties });
  async function tokenizerOf(key) {
    if (!known.has(key)) known.set(key, await (key === "toy" ? trainToy() : Tokenizer.load(new URL(`${key}.json`, import.meta.url))));
    return known.get(key);
  }
  const nameOf = (key) => MENU[key] ?? key;

  function show(key, about = nameOf(key)) {
    const tokenizer = known.get(key);
    from.textContent = `${about}: ${tokenizer.vocabSize.toLocaleString("en")} ids.`;
    menu.value = key;
    sides[0].use(tokenizer, nameOf(key), editor.text);
    if (other.value === key) sides[1].use(tokenizer, nameOf(key), editor.text);
    draw();
  }

  async function train() {
    const began = performance.now();
    const tokenizer = await Tokenizer.train(corpus.value, Math.max(0, Math.floor(Number(size.value)) || 0), settings());
    const key = corpus.value === TOY.corpus && pattern.value === TOY.pattern ? "toy" : "trained";
    known.set(key, tokenizer);
    show(key, `Trained on the text in ${(performance.now() - began).toFixed(1)} ms`);
    watching.of(tokenizer, corpus.value, (id) => sides[0].token(id).bytes, ties.value);
  }

  async function choose() {
    if (menu.value === "toy") {
      [corpus.value, pattern.value, size.value, ties.value] = [TOY.corpus, TOY.pattern, TOY.merges, TOY.ties];
      return train();
    }
    if (menu.value === "trained") return train();
    const key = menu.value;
    await tokenizerOf(key);
    watching.of(null);
    show(key);
  }

  async function compare() {
    const key = other.value, tokenizer = key && (key === "trained" && !known.has(key) ? await Tokenizer.train(corpus.value, Number(size.value), settings()) : await tokenizerOf(key));
    sides[1].told.hidden = sides[1].ids.hidden = !key;
    if (key) sides[1].use(tokenizer, nameOf(key), editor.text);
    else sides[1].session = null;
    draw();
  }

  async function take(name, bytes, merges) {
    const began = performance.now();
    const isRanks = /^\S+ \d+\s/.test(new TextDecoder().decode(bytes.subarray(0, 4096)));
    const tokenizer = await Tokenizer.fromBytes(bytes, { pattern: isRanks ? pattern.value : "", merges });
    if (!known.has(name)) [menu, other].forEach((select) => select.append(option(name)));
    known.set(name, tokenizer);
    opened = isRanks ? [name, bytes, merges] : null;
    watching.of(null);
    show(name, name);
    from.textContent += ` Loading took ${(performance.now() - began).toFixed(0)} ms.`;
  }

  /** A name that the menus do not have: models to compare are often all called tokenizer.json. */
  function fresh(name) {
    let key = name;
    for (let n = 2; !key || key in MENU || known.has(key); n++) key = `${name} (${n})`;
    return key;
  }

  async function open() {
    const files = Array.from(file.files);
    const merges = files.find((each) => each.name.endsWith(".txt"));
    const chosen = files.find((each) => each !== merges);
    if (!chosen) throw new Error("Choose a tokenizer file, or vocab.json and merges.txt together.");
    const [bytes, pairs] = await Promise.all([chosen, merges ?? new Blob()].map(async (each) => new Uint8Array(await each.arrayBuffer())));
    await take(fresh(chosen.name), bytes, pairs);
  }

  async function fetchModel() {
    let response;
    try {
      response = await fetch(new URL(url.value));
    } catch (error) {
      throw new Error(error instanceof TypeError && URL.canParse(url.value)
        ? "The browser could not fetch it: the address is wrong, or the server does not allow other sites to read it. Download the file and open it above."
        : "This is not an address: an address starts with https://");
    }
    if (!response.ok) throw new Error(`The server answered ${response.status} ${response.statusText}.`);
    await take(fresh(url.value.split("/").at(-1)), new Uint8Array(await response.arrayBuffer()));
  }

  /** Pattern, merges and ties act at once, if they can. */
  const setting = (changed) => guarded(changed, async () => {
    if (["trained", "toy"].includes(menu.value)) await train();
    else if (changed === pattern && opened?.[0] === menu.value) await take(...opened);
    else throw new Error("This setting is used in training" + (changed === pattern ? " and for .tiktoken files" : "") + ": press Train.");
  });

  async function copyLink() {
    const held = { text: editor.text, model: known.has(menu.value) && !MENU[menu.value] ? "trained" : menu.value, with: other.value in MENU ? other.value : "" };
    if (held.model === "trained") Object.assign(held, { corpus: corpus.value, pattern: pattern.value, merges: size.value, ties: ties.value });
    const fragment = `${new URLSearchParams(held)}`;
    if (fragment.length > MAX_LINK_CHARS) throw new Error(`A link can have ${MAX_LINK_CHARS.toLocaleString("en")} characters, but this text and these settings need ${fragment.length.toLocaleString("en")}: shorten the text.`);
    history.replaceState(null, "", `#${fragment}`);
    await navigator.clipboard?.writeText(location.href).catch(() => undefined);
    linkButton.textContent = "The link is copied, and it is in the address bar";
  }

  function fromLink() {
    const held = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    if (held.text === undefined) return;
    for (const [name, each] of Object.entries({ text: input, model: menu, with: other, corpus, pattern, merges: size, ties })) {
      if (held[name] !== undefined) each.value = held[name];
    }
    if (!menu.value) menu.value = "trained";
  }

  root.replaceChildren(
    element("h2", {}, "A tokenizer"),
    field("Tokenizer", menu), from,
    field("Train on this text", corpus),
    element("div", { className: "pl-row" }, field("Pattern", pattern), field("Merges", size), field("Ties go to", ties), trainButton),
    element("div", { className: "pl-row" },
      field("or open a tokenizer.json, tekken.json, .tiktoken (the pattern above splits it), vocab.json with merges.txt, or pairloom's own", file),
      field("or load one from an address", url, urlButton)),
    element("h2", {}, "Your text as tokens"),
    field("Type here", input), editor.pager,
    element("div", { className: "pl-row" }, field("Compare with", other), field("", linkButton)),
    ...sides.map((side) => side.told),
    element("div", { className: "pl-beside" }, element("div", { id: "pl-tokens", className: "pl-tokens" }, view.root), element("div", {}, ...sides.map((side) => side.ids))), view.panel,
    watching.root,
  );
  fromLink();
  editor.set(input.value);

  trainButton.addEventListener("click", guarded(corpus, train));
  corpus.addEventListener("input", () => complain(corpus, "The text has changed: press Train to learn from it."));
  for (const each of [pattern, size, ties]) each.addEventListener("change", setting(each));
  menu.addEventListener("change", guarded(menu, choose));
  other.addEventListener("change", guarded(other, compare));
  file.addEventListener("change", guarded(file, open));
  urlButton.addEventListener("click", guarded(url, fetchModel));
  linkButton.addEventListener("click", guarded(linkButton, copyLink));
  input.addEventListener("input", guarded(input, () => {
    try {
      editor.typed();
    } catch (error) {
      // One side may have taken what the other refused, a byte that it has no token for.
      for (const side of sides) if (side.session && side.session.text !== editor.text) side.use(side.tokenizer, side.name, editor.text);
      throw error;
    }
    draw();
  }));
  addEventListener("hashchange", () => location.hash.startsWith("#text=") && location.reload());
  await (menu.value === "trained" ? train() : choose());
  await compare();
}

/** The engine and the tokenizers of the menu; an Error with a sentence for the reader where that is impossible. */
async function fetched(location) {
  const inPage = globalThis.pairloomFiles?.[String(location).split("/").at(-1)];
  if (inPage) return Uint8Array.from(atob(inPage), (character) => character.charCodeAt(0));
  const response = await fetch(location).catch(() => {
    throw new Error(`${location} could not be fetched: check the network connection`);
  });
  if (!response.ok) {
    throw new Error("This site was built without the engine, because rustc lacked the target wasm32-unknown-unknown. "
      + "Add it (rustup target add wasm32-unknown-unknown) and run make docs again.");
  }
  return new Uint8Array(await response.arrayBuffer());
}

const root = document.getElementById("pairloom-playground");
if (root) {
  const began = performance.now();
  try {
    if (typeof WebAssembly !== "object") {
      throw new Error("WebAssembly is turned off in this browser, but the playground needs it. "
        + "Turn it on for this page, or use pairloom view on your own machine.");
    }
    readBy(fetched);
    (await Tokenizer.train("", 0)).free();
    root.dataset.loadMs = performance.now() - began;
    await build(root);
    root.dataset.ready = "yes";
  } catch (error) {
    root.replaceChildren(element("p", { className: "pl-error", role: "alert" }, error.message));
    root.dataset.ready = "failed";
  }
}
