// Elements of the page. Texts and tokens are put into it as text, never as HTML.

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0").toUpperCase()).join(" ");

/** A token's bytes for people: marks for white space and what is invisible, numbers for what is no character. */
export function shown(bytes) {
  let string;
  try {
    string = strict.decode(bytes);
  } catch {
    return Array.from(bytes, (byte) => `⟨${hexOf([byte])}⟩`).join("");
  }
  return string.replaceAll(" ", "·").replaceAll("\n", "⏎").replaceAll("\t", "→").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** The same in words, for screen readers. */
export const spoken = (bytes) => shown(bytes).replaceAll("·", " space ").replaceAll("⏎", " line feed ").replaceAll("→", " tab ").trim();
