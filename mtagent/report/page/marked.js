// Texts with something on them: changes, error spans, characters that cannot be seen.

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u061c\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufe00-\ufe0f\ufeff\p{Cs}\n\t]/u;
const HIDDEN_NAMES = {
  "\t": "tab", "\n": "↵", "\r": "CR", "\u00a0": "NBSP", "\u00ad": "SHY", "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ",
  "\u200e": "LRM", "\u200f": "RLM", "\u202f": "NNBSP", "\u2060": "WJ", "\u3000": "wide space", "\ufeff": "BOM",
};

function languageAttributes(language) {
  return { lang: language, dir: "auto" };
}

/** A paragraph of text as it is, in its language. */
function textBlock(children, language, ...classes) {
  return element("p", { class: ["text", ...classes].join(" "), ...languageAttributes(language) }, children);
}

/** A text block that scrolls where it is very long; who scrolls by keyboard must be able to get there. */
function longBlock(children, language, length, label) {
  const block = textBlock(children, language);
  if (length <= 4000) return block;
  block.classList.add("long");
  for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", label]]) block.setAttribute(name, value);
  return block;
}

/** The nodes of a difference; short ones with words that a screen reader says. */
function changeNodes(before, after, language) {
  return differences(before, after, language).map((part) => changeNode(part));
}

function changeNode(part) {
  if (part.kind === "same") return document.createTextNode(part.text);
  return element(part.kind === "deleted" ? "del" : "ins", {}, shown(part.text, part.other ?? ""));
}

/** A changed text in which the characters that make the difference can be seen, although they have no shape. */
function shown(text, other) {
  if (/^ +$/.test(text)) return [hiddenCharacter("␣".repeat(text.length), "space")];
  const nodes = [];
  const telling = new Set([...new Set(text)].filter((character) => HIDDEN.test(character) && countOf(character, text) !== countOf(character, other)));
  let plain = "";
  for (const character of text) {
    if (telling.has(character)) {
      nodes.push(plain, hiddenCharacter(nameOf(character), codePoint(character)), character === "\n" ? "\n" : "");
      plain = "";
    } else {
      plain += character;
    }
  }
  return [...nodes, plain];
}

function countOf(character, text) {
  return text.split(character).length;
}

function codePoint(character) {
  return "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
}

function nameOf(character) {
  return HIDDEN_NAMES[character] ?? codePoint(character);
}

function hiddenCharacter(name, title) {
  return element("span", { class: "hidden-character", title }, name);
}

/** The nodes of ``text`` with ``errors`` marked; each has ``at`` (its place), ``number`` and ``listed`` (an id). */
function markedNodes(text, errors) {
  const located = errors.filter((error) => error.at && error.at[1] > error.at[0]);
  const borders = [...new Set([0, text.length, ...located.flatMap((error) => error.at)])].sort((a, b) => a - b);
  return borders.slice(0, -1).map((start, index) => {
    const end = borders[index + 1];
    const here = located.filter((error) => error.at[0] <= start && error.at[1] >= end);
    return here.length === 0 ? document.createTextNode(text.slice(start, end)) : marked(text.slice(start, end), here, end);
  });
}

/** One marked piece; where errors overlap it has the colour of the worst and tells of all. */
function marked(text, errors, end) {
  const worst = SEVERITIES.find((severity) => errors.some((error) => error.severity === severity));
  const ending = errors.filter((error) => error.at[1] === end).map((error) => error.number);
  return element(
    "mark",
    { class: worst, tabindex: 0, "aria-describedby": errors.map((error) => error.listed).join(" ") },
    text,
    ending.length > 0 && element("sup", { "aria-hidden": "true" }, ending.join(" ")),
  );
}

/** The tooltip of marks: one for the page, filled with what the list of errors says. */
function setUpTip(tip, root) {
  const hide = () => {
    tip.hidden = true;
    for (const lit of root.querySelectorAll("li.lit")) lit.classList.remove("lit");
  };
  const show = (mark) => {
    hide();
    const listed = mark.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id));
    for (const item of listed) item.classList.add("lit");
    tip.textContent = listed.map((item) => item.textContent).join("\n");
    tip.hidden = false;
    place(tip, mark.getBoundingClientRect());
  };
  for (const [event, action] of [["mouseover", show], ["focusin", show], ["mouseout", hide], ["focusout", hide]]) {
    root.addEventListener(event, ({ target }) => target.closest?.("mark") && action(target.closest("mark")));
  }
  return hide;
}

function place(tip, at) {
  const room = document.documentElement.clientWidth - tip.offsetWidth - 16;
  tip.style.left = `${Math.max(16, Math.min(at.left, room)) + scrollX}px`;
  const below = at.bottom + tip.offsetHeight + 8 < innerHeight;
  tip.style.top = `${scrollY + (below ? at.bottom + 6 : at.top - tip.offsetHeight - 6)}px`;
}
