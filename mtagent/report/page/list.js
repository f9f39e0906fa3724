// The list: one page of rows at a time, so that thousands of segments stay quick; details are made when they are opened.

const PAGE = 50;
const EXCERPT = 600; // characters of a text in a closed row

/** A row: what a reader wants to see of a segment before opening it. */
function rowOf(segment, data, open) {
  const id = `segment-${segment.position}`;
  const opener = element(
    "button",
    { type: "button", class: "opener", "aria-expanded": "false", "aria-controls": id, "data-position": segment.position },
    element("span", { class: "id", dir: "auto" }, segment.id),
    badges(segment),
    gainNote(segment, data),
    element("span", { class: "spent" }, segment.calls > 0 ? dollars(segment.cost) : ""),
  );
  const row = element("li", { class: "segment" }, element("h3", {}, opener), excerpt(segment), element("div", { id, hidden: true }));
  opener.addEventListener("click", () => open(row, opener.getAttribute("aria-expanded") !== "true"));
  return row;
}

function badges(segment) {
  const stages = segment.steps
    .filter((step) => step.verdict !== "unchanged" && !(step.stage === "translate" && step.verdict === "kept"))
    .map((step) => badge(`${STAGES[step.stage] ?? step.stage}: ${verdictName(step)}`, step.verdict));
  const errors = segment.worst && badge(`${segment.worst} error`, segment.worst);
  return [...stages, errors, ...(segment.flags ?? []).map((flag) => badge(FLAGS[flag] ?? flag, "flagged"))];
}

function gainNote(segment, data) {
  if (segment.gain === null) return element("span", { class: "gain" });
  const { name, higher } = data.metrics[data.deciding];
  if (segment.gain === 0) return element("span", { class: "gain" }, `${name} ±0`);
  const words = segment.gain > 0 ? "better" : "worse";
  const digits = Math.abs(segment.gain) < 0.1 ? 3 : 1;
  return element("span", { class: `gain ${words}` }, `${name} ${signed(higher ? segment.gain : -segment.gain, digits)}, ${words}`);
}

/** Source and final text, with what changed since the text that was given. */
function excerpt(segment) {
  const source = textBlock(cut(segment.source), segment.source_lang, "source");
  const final = segment.final;
  if (final === null) return element("div", { class: "excerpt" }, source, element("p", { class: "small" }, "no translation"));
  const first = segment.given ?? segment.steps.find((step) => step.stage === "translate")?.text ?? final;
  const nodes = Math.max(first.length, final.length) > EXCERPT ? cut(final) : changeNodes(first, final, segment.target_lang);
  return element("div", { class: "excerpt" }, source, textBlock(nodes, segment.target_lang));
}

/** The beginning of a text, not cut inside a character. */
function cut(text) {
  if (text.length <= EXCERPT) return text;
  const near = text.slice(0, EXCERPT);
  const space = near.lastIndexOf(" ");
  const end = space > EXCERPT / 2 ? space : Array.from(near).slice(0, -8).join("").replace(/\P{M}\p{M}*$/u, "").length;
  return near.slice(0, end) + " …";
}

/** Open or close a row; its details are made the first time. */
function setOpen(row, open, segment, data) {
  const place = row.querySelector("h3 + .excerpt + div");
  if (open && place.childElementCount === 0) place.append(detailsOf(segment, data));
  row.querySelector(".opener").setAttribute("aria-expanded", String(open));
  row.querySelector(".excerpt").hidden = open;
  place.hidden = !open;
}

/** First, previous, next, last, and where one is. */
function fillPages(nav, page, pages, go) {
  const button = (label, target) => {
    const made = element("button", { type: "button", disabled: target < 1 || target > pages || target === page }, label);
    made.addEventListener("click", () => go(target));
    return made;
  };
  nav.hidden = pages < 2;
  nav.replaceChildren(
    button("First", 1), button("Previous", page - 1), element("span", {}, `Page ${page} of ${pages}`), button("Next", page + 1), button("Last", pages),
  );
}
