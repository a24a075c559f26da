// Texts as tokens, a panel for one token, and the merges of its pretoken step by step: the view page, notebooks and the
// playground draw by this module. It imports nothing, so that a page can hold it.
//
// All text goes into the page as text nodes and attributes, never as HTML. A text is divided into blocks; only blocks
// near the window hold an element for each token, the others their plain text, so that a megabyte stays quick. The text
// nodes of a block are its text, character for character: marks and numbers are drawn by the style sheet. So copying
// returns the text.

/** An element: `properties` are properties or attributes. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}
const span = (className, ...children) => element("span", { className }, ...children);
const number = (value) => value.toLocaleString("en");

// Bytes ------------------------------------------------------------------------------------------------------------

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
export const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0").toUpperCase()).join(" ");
const lengthOf = (lead) => (lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4);

// The bytes as [kind, text]: "text" is whole characters, "hex" bytes that are none.
function decoded(bytes) {
  const parts = [];
  const add = (kind, text, joint) => {
    const last = parts[parts.length - 1];
    if (last && last[0] === kind) last[1] += joint + text;
    else parts.push([kind, text]);
  };
  for (let at = 0, end; at < bytes.length; at = end) {
    // Up to the next byte that starts no character: an exception takes a hundred times as long as a look.
    for (end = at; end < bytes.length && isWhole(bytes, end);) end += lengthOf(bytes[end]);
    try {
      if (end > at) add("text", strict.decode(bytes.subarray(at, end)), "");
      else add("hex", hexOf(bytes.subarray(at, ++end)), " ");
    } catch {
      add("hex", hexOf(bytes.subarray(at, end)), " "); // what no text has: surrogates, more bytes than needed
    }
  }
  return parts;
}
// Whether a character starts here and all its bytes follow.
function isWhole(bytes, at) {
  const length = lengthOf(bytes[at]);
  if (at + length > bytes.length || (bytes[at] & 0xc0) === 0x80) return false;
  for (let k = 1; k < length; k++) if ((bytes[at + k] & 0xc0) !== 0x80) return false;
  return true;
}

// Characters that show nothing, or change the order of others: shown by number. Joiners inside a token stay, for emoji.
const HIDDEN = "[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Co}\\p{Cn}\\u034f\\u115f\\u1160\\u3164\\uffa0]";
const SPACES = "[\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000]";
const invisible = new RegExp(`${HIDDEN}|${SPACES}`, "u");
const pieces = new RegExp(`( +)|(\\r\\n|[\\n\\r\\t])|(${SPACES}|${HIDDEN})`, "gu");
const hiddenInText = new RegExp(`()()(?![\\n\\r\\t])(${HIDDEN})`, "gu");
const codeOf = (character) => "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
const GLYPHS = { "\n": "⏎", "\r": "␍", "\r\n": "␍⏎", "\t": "→" };

// The nodes that show whole characters; their text is `text`.
function textNodes(text, which = pieces) {
  const nodes = [];
  let done = 0;
  for (const { 0: whole, 1: spaces, 2: control, index } of text.matchAll(which)) {
    const joins = (whole === "\u200d" || whole === "\u200c") && index > 0 && index + 1 < text.length;
    if (joins) continue;
    if (index > done) nodes.push(text.slice(done, index));
    done = index + whole.length;
    const mark = spaces ? "·".repeat(spaces.length) : GLYPHS[control];
    const className = mark ? (/[\r\n]/.test(whole) ? "w end" : "w") : "g";
    nodes.push(element("span", { className, "data-g": mark || codeOf(whole) }, whole));
  }
  if (done < text.length) nodes.push(text.slice(done));
  return nodes;
}

/** The nodes that show a token's bytes, apart from its text: bytes that are no whole character by number. */
export const nodesOf = (bytes) => decoded(bytes).flatMap(([kind, text]) => (kind === "hex" ? [span("g", text)] : textNodes(text)));

/** A token in words, for screen readers and sentences. */
export function spoken(bytes) {
  return decoded(bytes).map(([kind, text]) => kind === "hex" ? ` bytes ${text} ` : text.replace(pieces,
    (whole, spaces, control) => spaces ? (spaces.length > 1 ? ` ${spaces.length} spaces ` : " space ")
      : control ? { "\n": " line feed ", "\r": " carriage return ", "\r\n": " carriage return, line feed ", "\t": " tab " }[control]
        : ` ${codeOf(whole)} `)).join("").trim();
}

/** A token on one line of plain text. */
export const shown = (bytes) => decoded(bytes).map(([kind, text]) => kind === "hex" ? `⟨${text}⟩` : text.replace(pieces,
  (whole, spaces, control) => spaces ? "·".repeat(spaces.length) : control ? GLYPHS[control] : `⟨${codeOf(whole)}⟩`)).join("");

/** A token inside a sentence: isolated, so that Arabic does not change the order of what surrounds it. */
export const named = (bytes) => element("bdi", { className: "named" }, ...nodesOf(bytes));

// Texts ------------------------------------------------------------------------------------------------------------

// Side of a text: ids, where each ends in bytes, where pretokens end in tokens; of a part of a text each token is one.
function sideOf({ ids, pretokens }, tokenizer) {
  const ends = new Uint32Array(ids.length);
  for (let i = 0, end = 0; i < ids.length; i++) ends[i] = end += tokenizer.token(ids[i]).bytes.length;
  let at = 0;
  const pretokenEnds = Uint32Array.from(pretokens || ids, (n) => (at += pretokens ? n : 1));
  return { tokenizer, ids, ends, pretokenEnds, isPart: !pretokens, prefix: 0, differs: null, counts: null, stop: 0 };
}
const startOf = (side, i) => (i ? side.ends[i - 1] : 0);
// The first index whose value is greater than `value`.
function after(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] > value) high = middle; else low = middle + 1;
  }
  return low;
}
// The pretoken of token i: [first token, end).
function pretokenOf(side, i) {
  const which = after(side.pretokenEnds, i);
  return [which ? side.pretokenEnds[which - 1] : 0, side.pretokenEnds[which]];
}

// Finds the side whose normaliser puts a space before the text, as Llama's does: the other side's places are after it.
function findPrefix(one, other) {
  const [a, b] = [one, other].map((side) => bytesOf(side, 0, side.ids.length));
  const isAfter = (long, short, n) => short.subarray(0, long.length - n).every((byte, i) => byte === long[i + n]);
  if (isAfter(a, b, 0)) return;
  if (a[0] === 32 && isAfter(a, b, 1)) one.prefix = 1;
  else if (b[0] === 32 && isAfter(b, a, 1)) other.prefix = 1;
}
// Where token i starts and ends in the text that both sides have.
const placeOf = (side, i) => [Math.max(0, startOf(side, i) - side.prefix), Math.max(0, side.ends[i] - side.prefix)];

// Marks tokens that have no token of the same bytes at the same place on the other side.
function markDifferences(one, other) {
  one.differs = new Uint8Array(one.ids.length);
  for (let i = 0, j = 0; i < one.ids.length; i++) {
    const [start, end] = placeOf(one, i);
    let place = [];
    for (; j < other.ids.length; j++) {
      place = placeOf(other, j);
      if (place[0] > start || (place[0] === start && (place[1] > start || end === start))) break;
    }
    one.differs[i] = j < other.ids.length && place[0] === start && place[1] === end ? 0 : 1;
  }
}

// Text that is typed has small blocks, since a block is drawn anew as a whole.
const FEW = 200, SOME = 800, MANY = 1600, FEW_TYPED = 20;

// Divides a text: each block ends where tokens end on all sides, after a line feed where there is one.
function blocksOf(sides) {
  const blocks = [], first = sides.map(() => 0), lead = sides[0], few = lead.isPart ? FEW_TYPED : FEW;
  let j = 0;
  for (let i = 0; i < lead.ids.length; i++) {
    const other = sides[1];
    if (other) {
      const end = lead.ends[i] - lead.prefix + other.prefix;
      while (j < other.ids.length && other.ends[j] < end) j++;
      if (j >= other.ids.length || other.ends[j] !== end) continue;
    }
    const n = i + 1 - first[0];
    const bytes = lead.tokenizer.token(lead.ids[i]).bytes;
    const line = bytes[bytes.length - 1] === 10;
    const last = i + 1 === lead.ids.length;
    const following = last ? 0 : lead.tokenizer.token(lead.ids[i + 1]).bytes[0];
    const space = following === 32;
    if ((following & 0xc0) === 0x80) continue; // inside a character
    if (last || (n >= few && line) || (n >= SOME && space) || n >= MANY) {
      blocks.push({ ranges: sides.map((side, s) => [first[s], s ? j + 1 : i + 1]), line: line || last });
      first[0] = i + 1;
      if (other) first[1] = j + 1;
    }
  }
  // Where a normaliser changes the text, the sides may never end together.
  if (sides.some((side, s) => first[s] < side.ids.length)) {
    blocks.push({ ranges: sides.map((side, s) => [first[s], side.ids.length]), line: true });
  }
  return blocks;
}


function bytesOf(side, from, to) {
  const bytes = new Uint8Array((to ? side.ends[to - 1] : 0) - startOf(side, from));
  for (let i = from, at = 0; i < to; i++) {
    const token = side.tokenizer.token(side.ids[i]).bytes;
    bytes.set(token, at);
    at += token.length;
  }
  return bytes;
}

const segmenter = Intl.Segmenter && new Intl.Segmenter("und", { granularity: "grapheme" });
const clustersOf = (text) => (segmenter ? segmenter.segment(text)
  : Array.from(text.matchAll(/./gsu), ({ 0: segment, index }) => ({ segment, index })));
// Letters of scripts written from right to left, which join: one word of them.
const LEFTWARDS = /(?:(?=[\p{L}\p{M}])[\p{scx=Arab}\p{scx=Hebr}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}\p{scx=Adlm}]|[\u200c\u200d])+/gu;
const LONGEST_WORD = 80; // bytes: a longer one would not fit its line
const isLeftwards = (text) => /(?=\p{L})[\p{scx=Arab}\p{scx=Hebr}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}\p{scx=Adlm}]/u.test(text);

/** Tokens [from, to) as units [first, end): tokens that hold parts of what a reader sees as one character are one unit,
    so that it can be drawn whole over them; of a word whose letters join, all tokens if a letter is cut. */
function unitsOf(side, from, to, bytes, text) {
  const start = startOf(side, from);
  const joined = new Uint8Array(bytes.length + 1); // 1: tokens that meet here belong together
  const ends = new Uint8Array(bytes.length + 1);
  for (let i = from; i < to; i++) ends[side.ends[i] - start] = 1;
  const offsets = new Uint32Array(text.length + 1); // of UTF-16 units, in bytes
  let at = 0;
  for (let k = 0; k < text.length;) {
    const width = text.codePointAt(k) > 0xffff ? 2 : 1;
    offsets.fill(at, k, k + width);
    at += lengthOf(bytes[at]);
    k += width;
  }
  offsets[text.length] = at;
  // Bytes that are no text at all, which no tokenizer makes of a text, stay apart.
  if (at === bytes.length && at > text.length) {
    for (const { segment, index } of clustersOf(text)) {
      if (segment !== "\r\n") joined.fill(1, offsets[index] + 1, offsets[index + segment.length]);
    }
    for (const { 0: word, index } of text.matchAll(LEFTWARDS)) {
      const [first, end] = [offsets[index] + 1, offsets[index + word.length]];
      if (end - first < LONGEST_WORD && ends.subarray(first, end).some((is, k) => is && joined[first + k])) joined.fill(1, first, end);
    }
  }
  const units = [];
  for (let i = from, first = from; i < to; i++) {
    if (i + 1 < to && joined[side.ends[i] - start]) continue;
    units.push([first, i + 1]);
    first = i + 1;
  }
  return units;
}

// The view ---------------------------------------------------------------------------------------------------------

const MAX_NODES = 400;
const MAX_REPLAYED_BYTES = 4096; // bytes
const MIN_TREE_SIZE = 8; // pixels

/** Texts as tokens, and a panel for one of them: {root, panel, show, drawAll}; root and panel are elements to place.

    show(tokenizers, texts) shows other texts. tokenizers: one or two of {name, rule, token(id)}, where a token is {id,
    bytes, special, rank, left, right}; the last three are null where no merge makes it. texts: {name, sides}, a side for
    each tokenizer: {ids, pretokens}, the number of tokens in each pretoken, or null where the ids are of a part of a text:
    then nothing is said of places and pretokens. A text has a title if it has a name. patience: milliseconds until the panel
    follows, for texts that are typed.
    isSheet() tells whether the panel covers the texts, and so opens only for a token that is kept. prefix: of the
    elements' ids, where a page has several views. */
export function tokenView({ isSheet = () => false, prefix = "" } = {}) {
  let tokenizers = [], texts = [];
  const cells = new Map(); // element -> cell
  let current = null; // { cell, index } of the token that had the focus last
  let pinned = null;
  let shownPlace = null; // the token in the panel
  let steps = [], start = [], onStep = () => {}, later = 0;

  const made = (tag, id, properties = {}, ...children) => element(tag, { id: prefix + id, className: id, ...properties }, ...children);
  const scrolled = (id, label) => made("div", id, { tabIndex: 0, role: "region", "aria-labelledby": label.id });
  const main = made("div", "texts");
  const title = made("h2", "panel-title"), literal = made("p", "literal", { dir: "auto" }), facts = made("dl", "facts");
  const unpinButton = made("button", "unpin", { type: "button", hidden: true });
  const treeTitle = made("h3", "tree-title", {}, "Merge tree"), tree = scrolled("tree", treeTitle);
  const stepsTitle = made("h3", "steps-title"), symbols = scrolled("symbols", stepsTitle);
  const step = made("input", "replay", { type: "range", min: 0, value: 0, "aria-label": "Merges done" });
  const back = made("button", "back", { type: "button", "aria-label": "Previous merge" }, "◀");
  const forth = made("button", "forth", { type: "button", "aria-label": "Next merge" }, "▶");
  const controls = made("div", "controls", {}, back, step, forth);
  const said = made("output", "replayed", { for: step.id });
  const panel = made("aside", "panel", { "aria-labelledby": title.id, hidden: true },
    element("div", { className: "bar" }, title, unpinButton), element("div", { className: "what" }, literal, facts),
    element("div", { className: "made" }, treeTitle, tree), element("div", { className: "steps" }, stepsTitle, symbols, controls, said));

  const letters = ["A", "B"];
  const letterOf = (side) => letters[tokenizers.indexOf(side.tokenizer)];
  const nameOf = (side) => tokenizers.length > 1 ? `${letterOf(side)}: ${side.tokenizer.name}` : side.tokenizer.name;

  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) for (const child of entry.target.children) {
      const cell = cells.get(child);
      if (!cell) continue;
      if (entry.isIntersecting) fill(cell);
      else if (!child.contains(document.activeElement)) empty(cell);
    }
  }, { rootMargin: "1200px 0px" });

  // Elements for the tokens of a cell.
  function fill(cell) {
    if (cell.filled) return;
    cell.filled = true;
    const { side, from, to, root } = cell;
    const bytes = bytesOf(side, from, to);
    cell.spans = [];
    const nodes = [];
    for (const [first, end] of unitsOf(side, from, to, bytes, lenient.decode(bytes))) {
      const spans = [];
      for (let i = first; i < end; i++) spans.push(tokenElement(cell, i, end - first > 1));
      cell.spans.push(...spans);
      nodes.push(end - first > 1 ? unitElement(side, first, end, spans) : spans[0]);
    }
    root.replaceChildren(...nodes);
    root.setAttribute("role", "listbox");
    label(cell);
    tabStop(cell, 0);
    if (shownPlace && shownPlace.cell === cell) mark();
  }
  const label = ({ root, side, from, to }) => root.setAttribute("aria-label", `Tokens ${from + 1} to ${to} of ${side.ids.length}, ${nameOf(side)}`);
  // What it shows is the same wherever its cell stands, so that a cell can be kept while text is typed before it.
  function tokenElement({ side, from }, i, isPart) {
    const token = side.tokenizer.token(side.ids[i]);
    const differs = side.differs && side.differs[i];
    const parts = isPart ? partialCharacters(side, i).map(({ character, share }) => `, ${share} of ${character || "a character"}`).join("") : "";
    return element("span", {
      className: `t ${token.special ? "special" : `c${(i - from) % 4}`}${differs ? " differs" : ""}`, "data-i": i - from, tabIndex: -1, role: "option", "aria-selected": "false",
      "aria-label": `${spoken(token.bytes)}${parts}, id ${token.id}${token.special ? ", special token" : ""}${differs ? ", differs" : ""}`,
    }, ...(isPart ? [] : nodesOf(token.bytes)));
  }
  // What several tokens hold together, drawn over them; each is as wide as its share of the characters.
  function unitElement(side, first, end, spans) {
    const bytes = bytesOf(side, first, end), text = lenient.decode(bytes);
    let length = 1, at = 0;
    spans.forEach((each, k) => {
      let share = 0;
      for (; at < side.ends[first + k] - startOf(side, first); at++) {
        if ((bytes[at] & 0xc0) !== 0x80) length = lengthOf(bytes[at]);
        share += 1 / length;
      }
      each.style.flexGrow = share;
    });
    const direction = isLeftwards(text) ? "rtl" : "ltr";
    const unit = element("span", { className: "unit", dir: direction }, span("parts", ...spans),
      element("span", { className: "whole", "aria-hidden": "true" }, ...textNodes(text)));
    unit.style.minWidth = `${(end - first) * 0.4}em`;
    // The word's direction, for the text around it: to that, the unit is an object without one.
    return span(/\p{L}/u.test(text) ? `over ${direction}` : "over", unit);
  }
  function empty(cell) {
    if (!cell.filled) return;
    cell.filled = false;
    cell.root.replaceChildren(...textNodes(lenient.decode(bytesOf(cell.side, cell.from, cell.to)), hiddenInText));
    cell.root.removeAttribute("role");
    cell.root.removeAttribute("aria-label");
    tabStop(cell, 0);
  }
  // Makes the side's token that Tab reaches focusable (0) or not (-1); while the cell is not filled, the cell itself.
  function tabStop(cell, value) {
    const { stop } = cell.side, { root } = cell;
    root.removeAttribute("tabindex");
    if (stop < cell.from || stop >= cell.to) return;
    if (cell.filled) spanOf(cell, stop).tabIndex = value;
    else if (value === 0) root.tabIndex = 0;
  }

  // old: the text that was there before, whose rows are kept where they have the same tokens.
  function buildText(raw, index, old) {
    const sides = raw.sides.map((side, s) => sideOf(side, tokenizers[s]));
    const section = old ? old.section : element("section", { id: `${prefix}text-${index}` });
    const grid = old ? old.grid : element("div", { className: "sides" });
    const text = { sides, section, grid, rows: new Map(), cellsOf: sides.map(() => []) };
    const bar = element("div", { className: "bar" });
    if (raw.name) {
      bar.append(element("h2", { id: `${prefix}title-${index}` }, raw.name));
      section.setAttribute("aria-labelledby", `${prefix}title-${index}`);
    }
    if (sides.length === 2) {
      findPrefix(sides[0], sides[1]);
      markDifferences(sides[0], sides[1]);
      markDifferences(sides[1], sides[0]);
      const n = sides.map((side) => side.differs.reduce((sum, d) => sum + d, 0));
      const next = element("button", { type: "button", disabled: n[0] + n[1] === 0 }, "Next difference");
      next.addEventListener("click", () => toDifference(text, 1));
      const told = n[0] + n[1] ? `tokens that differ: A ${number(n[0])}, B ${number(n[1])}` : "the same token boundaries";
      bar.append(span("differences", told), next);
    }
    if (sides.length === 2 && !old) sides.forEach((side) => grid.append(element("h3", {}, nameOf(side))));
    const rows = blocksOf(sides).map((block) => {
      const key = JSON.stringify([block.line, ...sides.map(({ ids, differs }, s) => [ids.slice(...block.ranges[s]), differs && Array.from(differs.subarray(...block.ranges[s]))])]);
      const known = old && old.rows.get(key), kept = known && known.shift();
      const row = kept ? kept[0].root.parentElement : element("div", { className: "block" });
      const made = sides.map((side, s) => {
        const [from, to] = block.ranges[s];
        const root = kept ? kept[s].root : element("div", { className: block.line ? "cell" : "cell cut" });
        const cell = { text, side, from, to, root, filled: kept ? kept[s].filled : true, spans: kept ? kept[s].spans : [] };
        cells.set(root, cell);
        text.cellsOf[s].push(cell);
        if (!kept) {
          row.append(root);
          empty(cell);
        } else if (cell.filled) {
          label(cell);
          tabStop(cell, 0);
        }
        return cell;
      });
      text.rows.set(key, [...(text.rows.get(key) || []), made]);
      return row;
    });
    for (const row of grid.querySelectorAll(".block")) {
      if (cells.has(row.firstElementChild)) continue;
      watcher.unobserve(row);
      row.remove();
    }
    let next = grid.querySelector(".block");
    for (const row of rows) {
      if (row === next) next = next.nextElementSibling;
      else grid.insertBefore(row, next);
      watcher.observe(row);
    }
    if (old) section.firstElementChild.replaceWith(bar);
    else {
      section.append(bar, grid);
      main.append(section);
    }
    return text;
  }

  // Moving about -----------------------------------------------------------------------------------------------------

  const spanOf = (cell, index) => cell.spans[index - cell.from];
  function cellAt(text, s, index) {
    const all = text.cellsOf[s];
    let low = 0, high = all.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (all[middle].to > index) high = middle; else low = middle + 1;
    }
    return all[low];
  }
  function focusToken(text, side, index) {
    if (index < 0 || index >= side.ids.length) return;
    const cell = cellAt(text, text.sides.indexOf(side), index);
    fill(cell);
    spanOf(cell, index).focus();
  }
  // Focuses the next token that differs after the focused one, on the same side; from the start where none is focused.
  function toDifference(text, direction) {
    const here = current && current.cell.text === text ? current : null;
    let side = here ? here.cell.side : text.sides[0];
    if (!side.differs.includes(1)) side = text.sides.find((each) => each.differs.includes(1));
    if (!side) return;
    const n = side.ids.length;
    let at = here && here.cell.side === side ? here.index : direction > 0 ? -1 : n;
    for (let tried = 0; tried < n; tried++) {
      at = (at + direction + n) % n;
      if (side.differs[at]) break;
    }
    focusToken(text, side, at);
  }

  const located = ({ target }) => {
    const found = target instanceof Element ? target.closest(".t") : null;
    const cell = found && cells.get(found.closest(".cell"));
    return cell ? { cell, index: cell.from + Number(found.dataset.i) } : null;
  };
  main.addEventListener("pointerover", (event) => {
    const place = event.pointerType === "touch" ? null : located(event);
    if (place && !pinned) show(place);
  });
  main.addEventListener("focusin", (event) => {
    const cell = cells.get(event.target);
    if (cell) {
      focusToken(cell.text, cell.side, cell.side.stop);
      return;
    }
    const place = located(event);
    if (!place) return;
    const { text, side } = place.cell;
    tabStop(cellAt(text, text.sides.indexOf(side), side.stop), -1);
    side.stop = place.index;
    tabStop(place.cell, 0);
    current = place;
    if (!pinned) show(place);
  });
  main.addEventListener("keydown", (event) => {
    const place = located(event);
    if (!place || event.altKey || event.ctrlKey || event.metaKey) return;
    const { text, side } = place.cell, i = place.index;
    const [first, end] = pretokenOf(side, i);
    const moves = {
      ArrowLeft: () => focusToken(text, side, i - 1),
      ArrowRight: () => focusToken(text, side, i + 1),
      ArrowUp: () => focusToken(text, side, i > first ? first : first ? pretokenOf(side, first - 1)[0] : 0),
      ArrowDown: () => focusToken(text, side, end),
      Home: () => focusToken(text, side, 0),
      End: () => focusToken(text, side, side.ids.length - 1),
      Enter: () => pin(place),
      " ": () => pin(place),
      Escape: unpin,
      ...(side.differs ? { n: () => toDifference(text, 1), p: () => toDifference(text, -1) } : {}),
    };
    if (moves[event.key]) {
      event.preventDefault();
      moves[event.key]();
    }
  });
  main.addEventListener("click", (event) => {
    const place = getSelection().isCollapsed ? located(event) : null;
    if (place) pin(place);
  });
  document.addEventListener("click", (event) => {
    if (isSheet() && !panel.contains(event.target) && !located(event)) unpin();
  });
  unpinButton.addEventListener("click", unpin);
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") unpin();
  });
  function pin(place) {
    const again = pinned && pinned.cell === place.cell && pinned.index === place.index;
    unpin();
    if (again) return;
    pinned = place;
    const kept = spanOf(place.cell, place.index);
    kept.setAttribute("aria-selected", "true");
    unpinButton.textContent = isSheet() ? "Close" : "Release";
    unpinButton.hidden = false;
    show(place);
    if (isSheet()) kept.scrollIntoView({ block: "nearest" });
  }
  function unpin() {
    if (!pinned) return;
    if (pinned.cell.filled) spanOf(pinned.cell, pinned.index).setAttribute("aria-selected", "false");
    pinned = null;
    unpinButton.hidden = true;
    if (isSheet()) panel.hidden = true;
  }

  // What is copied is the text, of one side: not what the browser makes of blocks and white space.
  document.addEventListener("copy", (event) => {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed || panel.contains(selection.anchorNode)) return;
    const range = selection.getRangeAt(0), copied = [];
    let last = null, s = 0;
    for (const [root, { text, side }] of cells) {
      if (!range.intersectsNode(root)) continue;
      if (!last) s = text.sides.indexOf(side);
      if (text.sides[s] !== side) continue;
      const selected = document.createRange();
      selected.selectNodeContents(root);
      if (root.contains(range.startContainer)) selected.setStart(range.startContainer, range.startOffset);
      if (root.contains(range.endContainer)) selected.setEnd(range.endContainer, range.endOffset);
      if (last && last !== text) copied.push("\n");
      copied.push(selected.toString());
      last = text;
    }
    if (!last) return;
    event.clipboardData.setData("text/plain", copied.join(""));
    event.preventDefault();
  });

  // The panel --------------------------------------------------------------------------------------------------------

  function show(place) {
    clearTimeout(later);
    const { side } = place.cell, i = place.index;
    panel.hidden = isSheet() && !pinned;
    if (shownPlace && shownPlace.cell.side === side && shownPlace.index === i) {
      fitTree();
      return;
    }
    shownPlace = place;
    mark();
    const [first, end] = pretokenOf(side, i);
    const token = side.tokenizer.token(side.ids[i]);
    title.textContent = side.isPart ? `Token ${number(i + 1)}` : `Token ${number(i + 1)} of ${number(side.ids.length)}` + (tokenizers.length > 1 ? `, ${letterOf(side)}` : "");
    stepsTitle.textContent = side.isPart ? "Merging it" : "Merging its pretoken";
    literal.replaceChildren(...nodesOf(token.bytes.subarray(0, 2048)), token.bytes.length > 2048 ? " …" : "");
    const told = [
      ["id", [String(token.id)]],
      ["bytes", [`${hexOf(token.bytes.subarray(0, 64))}${token.bytes.length > 64 ? " …" : ""} (${number(token.bytes.length)})`]],
      ["rank", [rankOf(token, side.tokenizer)]],
      ...(side.isPart ? [] : [
        ["at", [`bytes ${number(startOf(side, i))} to ${number(side.ends[i])}, pretoken of ${number(end - first)} token${end - first > 1 ? "s" : ""}`]],
        ["in this text", [countOf(side, token.id) > 1 ? `${number(countOf(side, token.id))} times` : "once"]],
      ]),
      ...partialCharacters(side, i).map(({ character, code, share, n, length }) =>
        ["character", [`${share} of `, element("bdi", {}, character), ` ${code}, ${n} of its ${length} bytes`]]),
    ];
    facts.replaceChildren(...told.flatMap(([term, fact]) => [element("dt", {}, term), element("dd", {}, ...fact)]));
    tree.replaceChildren(treeOf(token, side.tokenizer));
    fitTree();
    replay(side, first, end);
  }
  // Marks the shown token and the others of its pretoken.
  function mark() {
    for (const marked of main.querySelectorAll(".mate, .here")) marked.classList.remove("mate", "here");
    const { cell, index } = shownPlace;
    if (!cell.filled) return;
    const [first, end] = pretokenOf(cell.side, index);
    for (let k = Math.max(first, cell.from); k < Math.min(end, cell.to); k++) spanOf(cell, k).classList.add("mate");
    spanOf(cell, index).classList.add("here");
  }
  function rankOf(token, tokenizer) {
    if (token.special) return "special token: never merged";
    if (token.rank !== null) return tokenizer.rule === "ranks" ? `${token.rank} (its id)` : `${token.rank}`;
    return token.bytes.length === 1 ? "none: a single byte" : "none: a pretoken equal to this token is looked up whole, or it is merged from characters";
  }
  function countOf(side, id) {
    if (!side.counts) {
      side.counts = new Map();
      for (const each of side.ids) side.counts.set(each, (side.counts.get(each) || 0) + 1);
    }
    return side.counts.get(id);
  }
  // The characters that the token holds only in part, and which part of how many it holds.
  function partialCharacters(side, i) {
    const from = Math.max(0, i - 3), to = Math.min(side.ids.length, i + 4); // a character has at most 4 bytes
    const zero = startOf(side, from), text = bytesOf(side, from, to), found = [];
    const a = startOf(side, i) - zero, b = side.ends[i] - zero;
    const leadOf = (at) => {
      while (at > 0 && (text[at] & 0xc0) === 0x80) at--;
      return at;
    };
    for (const lead of new Set(a < b ? [leadOf(a), leadOf(b - 1)] : [])) {
      const length = lengthOf(text[lead]);
      if (lead >= a && lead + length <= b) continue;
      try {
        const character = strict.decode(text.subarray(lead, lead + length));
        const first = after(side.ends, zero + lead), last = after(side.ends, zero + lead + length - 1);
        found.push({ character: invisible.test(character) ? "" : character, code: codeOf(character), length,
          n: Math.min(b, lead + length) - Math.max(a, lead), share: `part ${i - first + 1} of ${last - first + 1}` });
      } catch {
        // Not a character either.
      }
    }
    return found;
  }

  function nodeOf(token, ...notes) {
    return span("node", element("bdi", {}, ...nodesOf(token.bytes.subarray(0, 64)), token.bytes.length > 64 ? "…" : ""),
      ...notes.map((note) => element("small", {}, note)));
  }
  // The tree of a token as nested lists, breadth first, so that a huge one is cut off at the bottom.
  function treeOf(root, tokenizer) {
    const top = element("ul"), open = [[root, top]];
    for (let n = 0; open.length && n < MAX_NODES; n++) {
      const [token, list] = open.shift();
      const item = element("li", {}, nodeOf(token, ...(token.rank === null ? [String(token.id)] : [`id ${token.id}`, `rank ${token.rank}`])));
      list.append(item);
      if (token.rank !== null) {
        const below = element("ul");
        item.append(below);
        open.push([tokenizer.token(token.left), below], [tokenizer.token(token.right), below]);
      }
    }
    if (open.length) open[0][1].append(element("li", {}, span("node", `… ${open.length} more`)));
    return top;
  }
  // A tree is drawn smaller where it is wider than its box; one that would be too small to read scrolls.
  function fitTree() {
    tree.style.fontSize = "";
    if (!tree.clientWidth) return;
    let size = parseFloat(getComputedStyle(tree).fontSize);
    // Borders do not shrink, so a second and a third try may be needed.
    for (let tried = 0; tried < 3 && size > MIN_TREE_SIZE && tree.scrollWidth > tree.clientWidth; tried++) {
      size = Math.max(MIN_TREE_SIZE, Math.floor((10 * size * tree.clientWidth) / tree.scrollWidth) / 10);
      tree.style.fontSize = `${size}px`;
    }
  }
  let treeWidth = 0;
  new ResizeObserver(() => {
    if (tree.clientWidth !== treeWidth) fitTree();
    treeWidth = tree.clientWidth;
  }).observe(tree);

  // Replaying the merges of a pretoken -------------------------------------------------------------------------------

  // The merges of a pretoken in the order in which the encoder does them. A merge is never undone, so all of them are in
  // the trees of its tokens; of those whose two parts are there, the one of lowest rank comes first, leftmost first.
  function mergesOf({ ids, tokenizer }, first, end) {
    let leaves = [];
    const grow = (token, parent) => {
      const node = { token, parent };
      if (token.rank === null) leaves.push(node);
      else {
        node.left = grow(tokenizer.token(token.left), node);
        node.right = grow(tokenizer.token(token.right), node);
      }
      return node;
    };
    for (let i = first; i < end; i++) grow(tokenizer.token(ids[i]), null);
    const done = [];
    let symbols = leaves;
    for (;;) {
      let best = -1;
      for (let k = 0; k + 1 < symbols.length; k++) {
        const parent = symbols[k].parent;
        if (parent && parent.left === symbols[k] && parent.right === symbols[k + 1]
          && (best < 0 || parent.token.rank < symbols[best].parent.token.rank)) best = k;
      }
      if (best < 0) return [leaves.map((leaf) => leaf.token), done];
      done.push({ at: best, token: symbols[best].parent.token });
      symbols = [...symbols.slice(0, best), symbols[best].parent, ...symbols.slice(best + 2)];
    }
  }

  function replay(side, first, end) {
    const length = side.ends[end - 1] - startOf(side, first);
    steps = [];
    start = [];
    let reason = "";
    if (side.tokenizer.token(side.ids[first]).special) reason = "A special token is found before the text is split into pretokens. It is never merged.";
    else if (length > MAX_REPLAYED_BYTES) reason = `This pretoken has ${number(length)} bytes; merges are replayed up to ${number(MAX_REPLAYED_BYTES)}.`;
    else [start, steps] = mergesOf(side, first, end);
    controls.hidden = !steps.length;
    step.max = steps.length;
    step.value = steps.length;
    if (!reason && !steps.length) {
      reason = start.length === 1 && start[0].bytes.length > 1
        ? "No merges of bytes make this token: it is looked up whole, or merged from characters."
        : "Nothing merges here: each byte stays a token.";
    }
    onStep = () => drawStep(side.tokenizer, Number(step.value), reason);
    onStep();
  }
  function drawStep(tokenizer, n, reason) {
    const now = start.slice();
    for (const { at, token } of steps.slice(0, n)) now.splice(at, 2, token);
    const made = n > 0 ? steps[n - 1] : null;
    const next = n < steps.length ? steps[n].at : -1;
    symbols.replaceChildren(...now.slice(0, 600).map((token, k) => {
      const node = nodeOf(token, String(token.id));
      if (made && k === made.at) node.classList.add("made");
      if (next >= 0 && (k === next || k === next + 1)) node.classList.add("next");
      return node;
    }), ...(now.length > 600 ? [span("node", `… ${now.length - 600} more`)] : []));
    // The sentence in parts: tokens are parts of their own.
    const parts = made ? [tokenizer.token(made.token.left), " + ", tokenizer.token(made.token.right), " → ", made.token, `, rank ${made.token.rank}.`] : [`${start.length} bytes.`];
    const after = next >= 0 ? ` Next: rank ${steps[n].token.rank}.` : " No more pairs can be merged.";
    const sentence = reason ? [reason] : [`Step ${n} of ${steps.length}: `, ...parts, after];
    said.replaceChildren(...sentence.flatMap((each) => (each.bytes ? ["‘", named(each.bytes), `’ (${each.id})`] : [each])));
    step.setAttribute("aria-valuetext", sentence.map((each) => (each.bytes ? `‘${spoken(each.bytes)}’ (${each.id})` : each)).join(""));
    back.disabled = n === 0;
    forth.disabled = n === steps.length;
  }
  step.addEventListener("input", () => onStep());
  for (const [button, change] of [[back, -1], [forth, 1]]) {
    button.addEventListener("click", () => {
      step.value = Number(step.value) + change;
      onStep();
    });
  }

  return {
    root: main,
    panel,
    show(theTokenizers, theTexts, patience = 0) {
      unpin();
      const isSame = theTokenizers.length === tokenizers.length && theTexts.length === texts.length
        && theTokenizers.every(({ name, token }, i) => name === tokenizers[i].name && token === tokenizers[i].token);
      if (isSame) {
        for (const { sides, cellsOf } of texts) sides.forEach((side, s) => side.ids.length && tabStop(cellsOf[s].find((cell) => cell.to > side.stop), -1));
        for (const marked of main.querySelectorAll(".mate, .here")) marked.classList.remove("mate", "here");
      } else {
        watcher.disconnect();
        main.replaceChildren();
      }
      cells.clear();
      main.className = theTokenizers.length > 1 ? "texts two" : "texts one";
      clearTimeout(later);
      panel.hidden ||= !patience;
      current = shownPlace = null;
      tokenizers = theTokenizers;
      texts = theTexts.map((raw, index) => buildText(raw, index, isSame ? texts[index] : null));
      const side = texts.length ? texts[0].sides[0] : { ids: [] };
      if (!side.ids.length) {
        panel.hidden = true;
        return;
      }
      // A long token has something to show.
      const lengths = Array.from(side.ids.slice(0, 200), (id) => side.tokenizer.token(id).special ? 0 : side.tokenizer.token(id).bytes.length);
      const index = lengths.indexOf(Math.max(...lengths)), cell = cellAt(texts[0], 0, index);
      fill(cell);
      if (patience) later = setTimeout(() => show({ cell, index }), patience);
      else show({ cell, index });
    },
    /** Elements for all tokens of at most so many, wherever they are, as for printing. */
    drawAll(most) {
      let n = 0;
      for (const cell of cells.values()) if ((n += cell.to - cell.from) <= most) fill(cell);
    },
  };
}
