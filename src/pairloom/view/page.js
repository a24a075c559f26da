// The view page: texts as tokens, a panel for one token, and the merges of its pretoken step by step.
//
// All text goes into the page as text nodes and attributes, never as HTML. A text is divided into blocks; only blocks
// near the window hold an element for each token, the others their plain text, so that a megabyte stays quick.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const element = (tag, className, ...children) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    made.append(...children);
    return made;
  };
  const number = (value) => value.toLocaleString("en");

  // Tokens -----------------------------------------------------------------------------------------------------------

  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
  const bytesOf = (hex) => Uint8Array.from({ length: hex.length / 2 }, (_, i) => parseInt(hex.substr(2 * i, 2), 16));
  const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0").toUpperCase()).join(" ");

  // Token: bytes; rank, left and right where merging makes it; whether it is special.
  function tokenizerOf(raw) {
    const special = new Set(raw.special);
    const tokens = new Map();
    raw.ids.forEach((id, i) => {
      const [rank, left, right] = raw.nodes[i] || [null, null, null];
      tokens.set(id, { id, bytes: bytesOf(raw.hex[i]), rank, left, right, special: special.has(id) });
    });
    return { ...raw, tokens };
  }
  const tokenizers = data.tokenizers.map(tokenizerOf);

  // The bytes as [kind, text]: "text" is whole characters, "hex" bytes that are none.
  function decoded(bytes) {
    try {
      return [["text", strict.decode(bytes)]];
    } catch {
      // Some bytes are no whole character: look at each.
    }
    const parts = [];
    const add = (kind, text, joint) => {
      const last = parts[parts.length - 1];
      if (last && last[0] === kind) last[1] += joint + text;
      else parts.push([kind, text]);
    };
    for (let at = 0; at < bytes.length;) {
      const lead = bytes[at];
      const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      try {
        add("text", strict.decode(bytes.subarray(at, at + length)), "");
        at += length;
      } catch {
        add("hex", hexOf(bytes.subarray(at, at + 1)), " ");
        at += 1;
      }
    }
    return parts;
  }

  // Characters that show nothing, or change the order of others: shown by number. Joiners inside a token stay, for emoji.
  const HIDDEN = "[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Co}\\p{Cn}\\u034f\\u115f\\u1160\\u3164\\uffa0]";
  const SPACES = "[\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000]";
  const invisible = new RegExp(`${HIDDEN}|${SPACES}`, "u");
  const pieces = new RegExp(`( +)|(\\r\\n|[\\n\\r\\t])|(${SPACES})|(${HIDDEN})`, "gu");
  const hiddenInText = new RegExp(`(?![\\n\\t])${HIDDEN}`, "gu");
  const codeOf = (character) => "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  const GLYPHS = { "\n": "⏎", "\r": "␍", "\r\n": "␍⏎", "\t": "→" };

  // The nodes that show a token's bytes; copying them gives the text, except for what is shown by number.
  function nodesOf(bytes) {
    const nodes = [];
    for (const [kind, text] of decoded(bytes)) {
      if (kind === "hex") {
        nodes.push(element("span", "g", text));
        continue;
      }
      let done = 0;
      for (const found of text.matchAll(pieces)) {
        const [whole, spaces, control, space] = found;
        const joins = (whole === "\u200d" || whole === "\u200c") && found.index > 0 && found.index + 1 < text.length;
        if (joins) continue;
        if (found.index > done) nodes.push(text.slice(done, found.index));
        done = found.index + whole.length;
        if (spaces || control) {
          const shown = element("span", "w", whole);
          shown.dataset.g = spaces ? "·".repeat(spaces.length) : GLYPHS[control];
          nodes.push(shown);
        } else {
          nodes.push(element("span", "g", codeOf(space || whole)));
        }
      }
      if (done < text.length) nodes.push(text.slice(done));
    }
    return nodes;
  }

  // A token in words, for screen readers.
  function spoken(bytes) {
    return decoded(bytes).map(([kind, text]) => kind === "hex" ? ` bytes ${text} ` : text.replace(pieces,
      (whole, spaces, control) => spaces ? (spaces.length > 1 ? ` ${spaces.length} spaces ` : " space ")
        : control ? { "\n": " line feed ", "\r": " carriage return ", "\r\n": " carriage return, line feed ", "\t": " tab " }[control]
          : ` ${codeOf(whole)} `)).join("").trim();
  }

  // One line for the plain text of a block, without what could change the order of the text around it.
  const plain = (text) => text.replace(hiddenInText, (character) => `[${codeOf(character)}]`);

  // Texts ------------------------------------------------------------------------------------------------------------

  // Side of a text: ids, where each ends in bytes, where pretokens end in tokens.
  function sideOf(raw, tokenizer) {
    const ends = new Uint32Array(raw.ids.length);
    let end = 0;
    raw.ids.forEach((id, i) => { ends[i] = end += tokenizer.tokens.get(id).bytes.length; });
    const pretokenEnds = new Uint32Array(raw.pretokens.length);
    let at = 0;
    raw.pretokens.forEach((n, i) => { pretokenEnds[i] = at += n; });
    return { tokenizer, ids: raw.ids, ends, pretokenEnds, differs: null, counts: null, stop: 0 };
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

  // Marks tokens that have no token of the same bytes at the same place on the other side.
  function markDifferences(one, other) {
    one.differs = new Uint8Array(one.ids.length);
    for (let i = 0, j = 0; i < one.ids.length; i++) {
      const start = startOf(one, i);
      while (j < other.ids.length && startOf(other, j) < start) j++;
      one.differs[i] = j < other.ids.length && startOf(other, j) === start && other.ends[j] === one.ends[i] ? 0 : 1;
    }
  }

  const FEW = 200, SOME = 800, MANY = 1600;

  // Divides a text: each block ends where tokens end on all sides, after a line feed where there is one.
  function blocksOf(sides) {
    const blocks = [], first = sides.map(() => 0), lead = sides[0];
    let j = 0;
    for (let i = 0; i < lead.ids.length; i++) {
      const end = lead.ends[i];
      const other = sides[1];
      if (other) {
        while (j < other.ids.length && other.ends[j] < end) j++;
        if (j >= other.ids.length || other.ends[j] !== end) continue;
      }
      const n = i + 1 - first[0];
      const bytes = lead.tokenizer.tokens.get(lead.ids[i]).bytes;
      const line = bytes[bytes.length - 1] === 10;
      const last = i + 1 === lead.ids.length;
      const space = !last && lead.tokenizer.tokens.get(lead.ids[i + 1]).bytes[0] === 32;
      if (last || (n >= FEW && line) || (n >= SOME && space) || n >= MANY) {
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

  function textOf(side, from, to) {
    const bytes = new Uint8Array((to ? side.ends[to - 1] : 0) - startOf(side, from));
    for (let i = from, at = 0; i < to; i++) {
      const token = side.tokenizer.tokens.get(side.ids[i]).bytes;
      bytes.set(token, at);
      at += token.length;
    }
    return lenient.decode(bytes);
  }

  const letters = ["A", "B"];
  const nameOf = (side) => tokenizers.length > 1 ? `${letters[tokenizers.indexOf(side.tokenizer)]}: ${side.tokenizer.name}` : side.tokenizer.name;
  const cells = new Map(); // element -> cell
  let current = null; // { cell, index } of the token that had the focus last
  let pinned = null;
  let shownPlace = null; // the token in the panel

  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) for (const child of entry.target.children) {
      const cell = cells.get(child);
      if (entry.isIntersecting) fill(cell);
      else if (!child.contains(document.activeElement)) empty(cell);
    }
  }, { rootMargin: "1200px 0px" });

  // Elements for the tokens of a cell.
  function fill(cell) {
    if (cell.filled) return;
    cell.filled = true;
    const { side, from, to, root } = cell;
    const spans = [];
    for (let i = from; i < to; i++) {
      const token = side.tokenizer.tokens.get(side.ids[i]);
      const span = element("span", token.special ? "t special" : `t c${i % 4}`, ...nodesOf(token.bytes));
      const differs = side.differs && side.differs[i];
      if (differs) span.classList.add("differs");
      span.dataset.i = i;
      span.tabIndex = -1;
      span.setAttribute("role", "option");
      span.setAttribute("aria-selected", "false");
      span.setAttribute("aria-label", `${spoken(token.bytes)}, id ${token.id}${token.special ? ", special token" : ""}${differs ? ", differs" : ""}`);
      spans.push(span);
    }
    root.replaceChildren(...spans);
    root.setAttribute("role", "listbox");
    root.setAttribute("aria-label", `Tokens ${from + 1} to ${to} of ${side.ids.length}, ${nameOf(side)}`);
    tabStop(cell, 0);
    if (shownPlace && shownPlace.cell === cell) mark();
  }
  function empty(cell) {
    if (!cell.filled) return;
    cell.filled = false;
    cell.root.replaceChildren(plain(textOf(cell.side, cell.from, cell.to)));
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

  function buildText(raw, index) {
    const sides = raw.sides.map((side, s) => sideOf(side, tokenizers[s]));
    const text = { sides, cellsOf: sides.map(() => []) };
    const section = element("section");
    section.id = `text-${index}`;
    const title = element("h2", "", raw.name);
    title.id = `title-${index}`;
    section.setAttribute("aria-labelledby", title.id);
    const bar = element("div", "bar", title);
    if (sides.length === 2) {
      markDifferences(sides[0], sides[1]);
      markDifferences(sides[1], sides[0]);
      const n = sides.map((side) => side.differs.reduce((sum, d) => sum + d, 0));
      const next = element("button", "", "Next difference");
      next.type = "button";
      next.disabled = n[0] + n[1] === 0;
      next.addEventListener("click", () => toDifference(text, 1));
      const told = n[0] + n[1] ? `tokens that differ: A ${number(n[0])}, B ${number(n[1])}` : "the same token boundaries";
      bar.append(element("span", "differences", told), next);
    }
    section.append(bar);
    const grid = element("div", "sides");
    if (sides.length === 2) sides.forEach((side) => grid.append(element("h3", "", nameOf(side))));
    for (const block of blocksOf(sides)) {
      const row = element("div", "block");
      sides.forEach((side, s) => {
        const [from, to] = block.ranges[s];
        const root = element("div", block.line ? "cell" : "cell cut");
        root.dir = "auto";
        const cell = { text, side, from, to, root, filled: true };
        cells.set(root, cell);
        text.cellsOf[s].push(cell);
        row.append(root);
        empty(cell);
      });
      grid.append(row);
    }
    section.append(grid);
    $("texts").append(section);
    for (const row of grid.querySelectorAll(".block")) watcher.observe(row);
    return text;
  }

  // Moving about -----------------------------------------------------------------------------------------------------

  const spanOf = (cell, index) => cell.root.children[index - cell.from];
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

  const located = (target) => {
    const span = target instanceof Element ? target.closest(".t[data-i]") : null;
    const cell = span && cells.get(span.parentElement);
    return cell ? { cell, index: Number(span.dataset.i) } : null;
  };
  const main = $("texts");
  main.addEventListener("pointerover", (event) => {
    const place = located(event.target);
    if (place && !pinned && event.pointerType !== "touch") show(place);
  });
  main.addEventListener("focusin", (event) => {
    const cell = cells.get(event.target);
    if (cell) {
      focusToken(cell.text, cell.side, cell.side.stop);
      return;
    }
    const place = located(event.target);
    if (!place) return;
    const { text, side } = place.cell;
    tabStop(cellAt(text, text.sides.indexOf(side), side.stop), -1);
    side.stop = place.index;
    tabStop(place.cell, 0);
    current = place;
    if (!pinned) show(place);
  });
  main.addEventListener("click", (event) => {
    const place = located(event.target);
    if (place) pin(place);
  });
  main.addEventListener("keydown", (event) => {
    const place = located(event.target);
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
  $("unpin").addEventListener("click", unpin);
  $("panel").addEventListener("keydown", (event) => {
    if (event.key === "Escape") unpin();
  });
  function pin(place) {
    unpin();
    pinned = place;
    spanOf(place.cell, place.index).setAttribute("aria-selected", "true");
    show(place);
    $("unpin").hidden = false;
  }
  function unpin() {
    if (!pinned) return;
    if (pinned.cell.filled) spanOf(pinned.cell, pinned.index).setAttribute("aria-selected", "false");
    pinned = null;
    $("unpin").hidden = true;
  }

  // The panel --------------------------------------------------------------------------------------------------------

  function show(place) {
    const { side } = place.cell, i = place.index;
    if (shownPlace && shownPlace.cell.side === side && shownPlace.index === i) return;
    shownPlace = place;
    mark();
    const [first, end] = pretokenOf(side, i);
    const token = side.tokenizer.tokens.get(side.ids[i]);
    $("panel").hidden = false;
    $("panel-title").textContent = `Token ${number(i + 1)} of ${number(side.ids.length)}` + (tokenizers.length > 1 ? `, ${letters[tokenizers.indexOf(side.tokenizer)]}` : "");
    $("literal").replaceChildren(...nodesOf(token.bytes.subarray(0, 2048)), token.bytes.length > 2048 ? " …" : "");
    const facts = [
      ["id", String(token.id)],
      ["bytes", `${hexOf(token.bytes.subarray(0, 64))}${token.bytes.length > 64 ? " …" : ""} (${number(token.bytes.length)})`],
      ["rank", rankOf(token, side.tokenizer)],
      ["at", `bytes ${number(startOf(side, i))} to ${number(side.ends[i])}, pretoken of ${number(end - first)} token${end - first > 1 ? "s" : ""}`],
      ["in this text", countOf(side, token.id) > 1 ? `${number(countOf(side, token.id))} times` : "once"],
      ...partialCharacters(side, i, first, end).map((told) => ["part of", told]),
    ];
    $("facts").replaceChildren(...facts.flatMap(([term, fact]) => [element("dt", "", term), element("dd", "", fact)]));
    $("tree").replaceChildren(treeOf(token, side.tokenizer));
    replay(side, first, end);
  }
  // Marks the shown token and the others of its pretoken.
  function mark() {
    for (const marked of document.querySelectorAll(".mate, .here")) marked.classList.remove("mate", "here");
    const { cell, index } = shownPlace;
    if (!cell.filled) return;
    const [first, end] = pretokenOf(cell.side, index);
    for (let k = Math.max(first, cell.from); k < Math.min(end, cell.to); k++) spanOf(cell, k).classList.add("mate");
    spanOf(cell, index).classList.add("here");
  }
  function rankOf(token, tokenizer) {
    if (token.special) return "special token: never merged";
    if (token.rank !== null) return tokenizer.rule === "ranks" ? `${token.rank} (its id)` : `${token.rank}`;
    return token.bytes.length === 1 ? "a byte: merging starts from these" : "none: pretokens that are this token are looked up whole";
  }
  function countOf(side, id) {
    if (!side.counts) {
      side.counts = new Map();
      for (const each of side.ids) side.counts.set(each, (side.counts.get(each) || 0) + 1);
    }
    return side.counts.get(id);
  }
  // The characters that the token holds only in part.
  function partialCharacters(side, i, first, end) {
    const start = startOf(side, i), stop = side.ends[i];
    let from = i, to = i + 1;
    while (from > first && start - startOf(side, from) < 4) from--;
    while (to < end && side.ends[to - 1] - stop < 4) to++;
    const text = new Uint8Array(side.ends[to - 1] - startOf(side, from));
    for (let k = from; k < to; k++) text.set(side.tokenizer.tokens.get(side.ids[k]).bytes, startOf(side, k) - startOf(side, from));
    const a = start - startOf(side, from), b = stop - startOf(side, from), told = [];
    const leadOf = (at) => {
      while (at > 0 && (text[at] & 0xc0) === 0x80) at--;
      return at;
    };
    for (const lead of new Set([leadOf(a), leadOf(b - 1)])) {
      const length = text[lead] < 0x80 ? 1 : text[lead] < 0xe0 ? 2 : text[lead] < 0xf0 ? 3 : 4;
      if (lead >= a && lead + length <= b) continue;
      try {
        const character = strict.decode(text.subarray(lead, lead + length));
        told.push(`${invisible.test(character) ? "" : character + " "}${codeOf(character)}, ${Math.min(b, lead + length) - Math.max(a, lead)} of its ${length} bytes`);
      } catch {
        // Not a character either.
      }
    }
    return told;
  }

  const MOST_NODES = 400;
  function nodeOf(token, note) {
    return element("span", "node", ...nodesOf(token.bytes.subarray(0, 64)), token.bytes.length > 64 ? "…" : "", element("small", "", note));
  }
  // The tree of a token as nested lists, breadth first, so that a huge one is cut off at the bottom.
  function treeOf(root, tokenizer) {
    const top = element("ul"), open = [[root, top]];
    for (let n = 0; open.length && n < MOST_NODES; n++) {
      const [token, list] = open.shift();
      const item = element("li", "", nodeOf(token, token.rank === null ? `id ${token.id}` : `id ${token.id} · rank ${token.rank}`));
      list.append(item);
      if (token.rank !== null) {
        const below = element("ul");
        item.append(below);
        open.push([tokenizer.tokens.get(token.left), below], [tokenizer.tokens.get(token.right), below]);
      }
    }
    if (open.length) open[0][1].append(element("li", "", element("span", "node", `… ${open.length} more`)));
    return top;
  }

  // Replaying the merges of a pretoken -------------------------------------------------------------------------------

  const MOST_REPLAYED = 4096; // bytes
  let steps = [], start = [], onStep = () => {};

  // The merges of a pretoken in the order in which the encoder does them. A merge is never undone, so all of them are in
  // the trees of its tokens; of those whose two parts are there, the one of lowest rank comes first, leftmost first.
  function mergesOf(side, first, end) {
    const { tokens } = side.tokenizer;
    let leaves = [];
    const grow = (token, parent) => {
      const node = { token, parent };
      if (token.rank === null) leaves.push(node);
      else {
        node.left = grow(tokens.get(token.left), node);
        node.right = grow(tokens.get(token.right), node);
      }
      return node;
    };
    for (let i = first; i < end; i++) grow(tokens.get(side.ids[i]), null);
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
    const slider = $("step");
    const known = side.tokenizer.tokens.get(side.ids[first]);
    steps = [];
    start = [];
    let reason = "";
    if (known.special) reason = "A special token is found before the text is split into pretokens. It is never merged.";
    else if (length > MOST_REPLAYED) reason = `This pretoken has ${number(length)} bytes; merges are replayed up to ${number(MOST_REPLAYED)}.`;
    else [start, steps] = mergesOf(side, first, end);
    $("controls").hidden = !steps.length;
    slider.max = steps.length;
    slider.value = steps.length;
    if (!reason && !steps.length) {
      reason = start.length === 1 && start[0].bytes.length > 1
        ? "The whole pretoken is a token, which is looked up before any merging."
        : "Nothing merges here: each byte stays a token.";
    }
    onStep = () => drawStep(side.tokenizer, Number(slider.value), reason);
    onStep();
  }
  function drawStep(tokenizer, n, reason) {
    let symbols = start.slice();
    for (const { at, token } of steps.slice(0, n)) symbols.splice(at, 2, token);
    const made = n > 0 ? steps[n - 1].at : -1;
    const next = n < steps.length ? steps[n].at : -1;
    const shown = symbols.slice(0, 600).map((token, k) => {
      const node = nodeOf(token, String(token.id));
      if (k === made) node.classList.add("made");
      if (next >= 0 && (k === next || k === next + 1)) node.classList.add("next");
      return node;
    });
    if (symbols.length > 600) shown.push(element("span", "node", `… ${symbols.length - 600} more`));
    $("symbols").replaceChildren(...shown);
    const named = (token) => `‘${spoken(token.bytes) || " "}’ (${token.id})`;
    const made_ = n > 0 ? steps[n - 1].token : null;
    const told = reason || `Step ${n} of ${steps.length}: ` + (made_
      ? `${named(tokenizer.tokens.get(made_.left))} + ${named(tokenizer.tokens.get(made_.right))} → ${named(made_)}, rank ${made_.rank}.`
      : `${symbols.length} bytes.`) + (next >= 0 ? ` Next: rank ${steps[n].token.rank}.` : " No pair is left that merges.");
    $("said").textContent = told;
    $("step").setAttribute("aria-valuetext", told);
    $("back").disabled = n === 0;
    $("forth").disabled = n === steps.length;
  }
  $("step").addEventListener("input", () => onStep());
  for (const [id, change] of [["back", -1], ["forth", 1]]) {
    $(id).addEventListener("click", () => {
      $("step").value = Number($("step").value) + change;
      onStep();
    });
  }

  const texts = data.texts.map(buildText);
  if (texts.length && texts[0].sides[0].ids.length) {
    const cell = texts[0].cellsOf[0][0];
    fill(cell);
    show({ cell, index: 0 });
  }
  document.documentElement.dataset.ready = "yes";
})();
