// How merges are learned, one by one: the counts of pairs before each merge. It is the definition (recount all pairs), for
// texts of a page; the merges themselves come from the core, and each is checked to be a pair of the highest count.

export class Learning {
  /** words: [bytes, count] of each distinct pretoken. merges: [left, right, merged id], in rank order. */
  constructor(words, merges) {
    this.words = words;
    this.merges = merges;
    this.step = 0;
    this.symbols = words.map(([bytes]) => Array.from(bytes));
  }

  /** Goes to the state before merge `step`. */
  goTo(step) {
    if (step < this.step) {
      this.step = 0;
      this.symbols = this.words.map(([bytes]) => Array.from(bytes));
    }
    for (; this.step < step; this.step++) {
      const [left, right, merged] = this.merges[this.step];
      this.symbols = this.symbols.map((word) => apply(word, left, right, merged));
    }
  }

  /** The most frequent pairs now: [count, left, right], the highest first, and of equals the least ids first. */
  best(n) {
    const counts = new Map();
    this.symbols.forEach((word, index) => {
      const count = this.words[index][1];
      for (let i = 0; i + 1 < word.length; i++) {
        const key = word[i] * 0x1000000 + word[i + 1];
        counts.set(key, (counts.get(key) ?? 0) + count);
      }
    });
    return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, n)
      .map(([key, count]) => [count, Math.floor(key / 0x1000000), key % 0x1000000]);
  }
}

function apply(word, left, right, merged) {
  if (!word.includes(left)) return word;
  const joined = [];
  for (let i = 0; i < word.length; i++) {
    if (word[i] === left && word[i + 1] === right) {
      joined.push(merged);
      i++;
    } else joined.push(word[i]);
  }
  return joined;
}

/** [bytes, count] of each distinct pretoken of a text whose pretokens end at `ends`. */
export function wordsOf(bytes, ends) {
  const words = new Map();
  let start = 0;
  for (const end of ends) {
    const word = bytes.subarray(start, end);
    const key = String.fromCharCode(...word.subarray(0, 4096)) + (word.length > 4096 ? start : "");
    const known = words.get(key);
    if (known) known[1]++;
    else words.set(key, [word, 1]);
    start = end;
  }
  return [...words.values()];
}
