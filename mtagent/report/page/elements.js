// What pages about texts share: elements, words, changes and marks in a text. Every text becomes a text node here: nothing
// is ever parsed as markup.

const LONG = 20000; // in longer changes, characters without a shape are not named: it would freeze the page
const SEVERITIES = ["critical", "major", "minor", "neutral"];
const STAGES = { translate: "Translate", rerank: "Rerank", rules: "Rules", postedit: "Post-edit", proofread: "Proofread" };
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u061c\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufe00-\ufe0f\ufeff\p{Cs}\n\t]/u;
const HIDDEN_NAMES = {
  "\t": "tab", "\n": "↵", "\r": "CR", "\u00a0": "NBSP", "\u00ad": "SHY", "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ",
  "\u200e": "LRM", "\u200f": "RLM", "\u202f": "NNBSP", "\u2060": "WJ", "\u3000": "wide space", "\ufeff": "BOM",
};

// --- elements and words

const byId = (id) => document.getElementById(id);
const present = (value) => value !== null && value !== undefined && value !== false;

/** An element; children are elements or strings, and what is null or false is left out. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (present(value)) made.setAttribute(key, value === true ? "" : value);
  made.append(...children.flat(2).filter(present));
  return made;
}

const badge = (text, kind) => element("span", { class: `badge ${kind}` }, text);
const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** A number with a true minus sign. */
function decimal(value, digits) {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
}

const signed = (value, digits) => (value > 0 ? "+" : "") + decimal(value, digits);
const score = (value) => (value === null ? "–" : decimal(value, Number.isInteger(value) ? 0 : Math.abs(value) < 2 ? 3 : 2));

function definitions(pairs) {
  const said = pairs.filter(([, value]) => value !== undefined);
  return said.length > 0 && element("dl", { class: "about" }, said.map(([name, value]) => [element("dt", {}, name), element("dd", { dir: "auto" }, value)]));
}

/** A table that is too wide scrolls inside itself; who scrolls by keyboard must be able to get there. */
function table(kind, label, head, rows) {
  const titles = element("tr", {}, head.map((name) => element("th", { scope: "col" }, name)));
  const whole = element("table", { class: kind }, element("thead", {}, titles), element("tbody", {}, rows));
  return element("div", { class: "scrolls", role: "group", tabindex: 0, "aria-label": label }, whole);
}

/** A paragraph of text as it is, in its language; a very long one scrolls, also by keyboard. */
function block(children, language, length, label, direction = "auto") {
  const scrolls = length > 4000 ? { tabindex: 0, role: "group", "aria-label": label } : {};
  return element("p", { class: length > 4000 ? "text long" : "text", lang: language, dir: direction, ...scrolls }, children);
}

function titled(label, children, language, length) {
  return element("div", {}, element("h5", {}, label), block(children, language, length, label));
}

// --- changes and marks in a text

/**
 * The nodes of a change; ``runs`` are the lengths of what stayed, went and came, again and again. Inline codes of both
 * texts are shown as units.
 */
function changeNodes(before, after, runs, codesBefore = [], codesAfter = []) {
  const nodes = [];
  let [from, to] = [0, 0];
  const added = (start, end) => codedNodes(after.slice(start, end), codesWithin(codesAfter, start, end));
  for (let i = 0; i < runs.length; i += 3) {
    const [same, gone, come] = runs.slice(i, i + 3);
    const old = before.slice(from + same, from + same + gone);
    const fresh = after.slice(to + same, to + same + come);
    nodes.push(...added(to, to + same));
    [from, to] = [from + same, to + same];
    nodes.push(gone > 0 && element("del", {}, codedNodes(old, codesWithin(codesBefore, from, from + gone), fresh)));
    nodes.push(come > 0 && element("ins", {}, codedNodes(fresh, codesWithin(codesAfter, to, to + come), old)));
    [from, to] = [from + gone, to + come];
  }
  return [...nodes, ...added(to, after.length)];
}

/** The inline codes between ``start`` and ``end`` of a text, as they are in that stretch. */
const codesWithin = (codes, start, end) => codes.filter(([from, to]) => from < end && to > start)
  .map(([from, to, meaning]) => [Math.max(from, start) - start, Math.min(to, end) - start, meaning]);

/**
 * A text in which tags, placeholders and other inline codes are units: no direction of writing takes them apart, and they
 * say what they are. ``other`` is the text that a changed one was or became.
 */
function codedNodes(text, codes, other) {
  const plain = (part) => (other === undefined ? [document.createTextNode(part)] : shown(part, other));
  const nodes = [];
  let done = 0;
  for (const [start, end, meaning] of codes) {
    nodes.push(...plain(text.slice(done, start)), element("bdi", { class: "code", dir: "ltr", title: meaning }, text.slice(start, end)));
    done = end;
  }
  return [...nodes, ...plain(text.slice(done))];
}

/** A changed text in which the characters that make the difference can be seen, although they have no shape. */
function shown(text, other) {
  if (text.length > LONG) return [text];
  const named = (name, title) => element("span", { class: "hidden-character", title }, name);
  if (/^ +$/.test(text)) return [named("␣".repeat(text.length), "space")];
  const countIn = (whole, character) => whole.split(character).length;
  const telling = new Set([...new Set(text)].filter((character) => HIDDEN.test(character) && countIn(text, character) !== countIn(other, character)));
  const nodes = [];
  let plain = "";
  for (const character of text) {
    if (telling.has(character)) {
      const code = "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      nodes.push(plain, named(HIDDEN_NAMES[character] ?? code, code), character === "\n" ? "\n" : "");
      plain = "";
    } else plain += character;
  }
  return [...nodes, plain];
}

/** The nodes of ``text`` with ``errors`` marked; where they overlap, a piece has the colour of the worst and tells of all. */
function markedNodes(text, errors) {
  const located = errors.filter((error) => error.at && error.at[1] > error.at[0]);
  const borders = [...new Set([0, text.length, ...located.flatMap((error) => error.at)])].sort((a, b) => a - b);
  return borders.slice(0, -1).map((start, index) => {
    const end = borders[index + 1];
    const here = located.filter((error) => error.at[0] <= start && error.at[1] >= end);
    const words = document.createTextNode(text.slice(start, end));
    if (here.length === 0) return words;
    const ending = here.filter((error) => error.at[1] === end).map((error) => error.number);
    const worst = SEVERITIES.find((severity) => here.some((error) => error.severity === severity));
    const described = here.map((error) => error.listed).join(" ");
    return element("mark", { class: worst, tabindex: 0, "aria-describedby": described }, words, ending.length > 0 && element("sup", { "aria-hidden": "true" }, ending.join(" ")));
  });
}

function errorItem(error, segment, category = error.category) {
  const isSpacing = error.text.trim() === (error.suggestion ?? "").trim(); // the spaces are what is wrong
  const quoted = (text, language) => element("q", { lang: language, dir: "auto" }, isSpacing ? text : text.trim());
  return element(
    "li",
    { id: error.listed },
    badge(error.severity, error.severity), " ", category,
    error.side === "omission" && " (missing from the translation)", error.side === "source" && " (in the source)",
    error.text !== "" && [": ", quoted(error.text, error.side ? segment.source_lang : segment.target_lang)],
    error.suggestion !== undefined && (error.suggestion === "" ? " → (delete it)" : [" → ", quoted(error.suggestion, segment.target_lang)]),
    error.explanation !== undefined && [" – ", element("span", { dir: "auto" }, error.explanation)],
  );
}

/** For comparing texts: without case, and with composed and decomposed letters alike. Diacritics count. */
const folded = (text) => text.normalize("NFC").toLowerCase();

function setUpTheme() {
  const [button, root, dark] = [byId("theme"), document.documentElement, matchMedia("(prefers-color-scheme: dark)")];
  const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = isDark() ? "Light colours" : "Dark colours"; };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  dark.addEventListener("change", name);
  name();
  button.hidden = false;
}
