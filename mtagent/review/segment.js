// The segment that is open: source and text side by side, the current edit ringed in the text and explained beside it, the
// other edits, and what else is known about the segment.

const VIEWS = { before: "Before", changes: "Changes", result: "Result" };
const TABS = { text: "Text", edits: "Edits", more: "Context" };
const IN_WORDS = {
  applied: "In the text.", refused: "Not in the text: a guard refused it.", rejected: "Not in the text: the gate rejected it.",
  "not-found": "Not in the text: its place was not found.", ambiguous: "Not in the text: it may mean several places.",
  overlapping: "Not in the text: another edit covers its place.", unchanged: "The text reads so already.", reverted: "It was taken back.",
};
const LONG_EDIT = 200; // characters
const BRIEF = 100; // characters of each change of an edit in the list
const AROUND = 24; // characters that a long edit leaves as they are, shown before and behind each of its changes
let view = "changes";
let tab = "text"; // what is shown on a phone, where there is no room for all

const quoted = (text, language) => element("span", { lang: language, dir: "auto", class: "quoted" }, text);
const findings = (found) => (found.length === 0 ? [element("li", { class: "fine" }, "The guards find nothing.")]
  : found.map((damage) => element("li", {}, badge(damage.guard, "flagged"), " ", element("span", { dir: "auto" }, damage.detail))));
const isIn = (item) => item.stands !== "no";

function buttonOf(action, attributes, ...words) {
  const made = element("button", { type: "button", ...attributes }, ...words);
  made.addEventListener("click", action);
  return made;
}

const languageNames = new Intl.DisplayNames(["en"], { type: "language" });

function languageName(code) {
  try {
    return languageNames.of(code);
  } catch (error) {
    if (error instanceof RangeError) return code; // a code that no standard knows
    throw error;
  }
}

function show(segment) {
  const row = byKey.get(keyOf(segment));
  const [body, about] = [byId("body"), target(segment)];
  const isSame = readable === row && body.dataset.key === keyOf(row);
  const scrolled = isSame ? ["reading", "text", "source", "more", "edits"].map((id) => [id, byId(id)?.scrollTop ?? 0]) : [];
  readable = row;
  byId("segment").removeAttribute("aria-busy");
  const focused = body.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
  byId("segment-title").replaceChildren(element(
    "span", {}, element("span", { class: "wide" }, "Segment "), element("span", { dir: "auto", class: "id" }, nameOf(row)), " ",
    badge(STATES[stateOf(row)] ?? stateOf(row), { changed: "kept", failed: "failed" }[stateOf(row)] ?? "rejected"),
  ));
  const reasons = reasonsOf(row);
  const why = reasons.length > 0 ? `Worth a look: ${reasons.join("; ")}` : "";
  byId("why").textContent = why;
  byId("why").title = why;
  body.replaceChildren(...[
    conflictPart(segment), tabsPart(segment),
    element("div", { id: "reading", class: "reading" }, sourcePane(segment, row), textPane(segment, about), morePane(segment, row)),
    element("div", { class: "comments" }, !writing && nowPart(segment, about), editsPane(segment, about)),
  ].filter(present));
  showErrorsLeft(segment);
  body.dataset.key = keyOf(row);
  body.dataset.tab = tab;
  byId("actions").hidden = writing !== null;
  for (const button of byId("actions").querySelectorAll("[data-verdict]")) {
    button.setAttribute("aria-pressed", String(segment.decision?.verdict === button.dataset.verdict));
    button.disabled = button.dataset.verdict === "reject" && segment.edits.length === 0 && !segment.only_whole;
  }
  const detail = body.querySelector("#now .detail");
  detail?.classList.toggle("cut", detail.scrollHeight > detail.clientHeight);
  for (const [id, top] of scrolled) byId(id).scrollTop = top;
  showCurrent();
  const again = focused && body.querySelector(`[data-focus="${focused}"]`);
  if (focused && !writing) (again ?? byId("segment-title")).focus({ preventScroll: true });
}

/** Scroll the text and the list of edits, each in itself, so that the current edit can be seen. */
function showCurrent() {
  const rings = [...byId("text").querySelectorAll(".ring")];
  const text = byId("text");
  const scrolling = getComputedStyle(text).overflowY === "visible" ? byId("reading") : text; // in a low window
  if (rings.length > 0 && bringIntoView(scrolling, rings[0].getBoundingClientRect().top, rings.at(-1).getBoundingClientRect().bottom) && scrolling === text) alignSource(rings[0]);
  const line = byId("edits").querySelector("[aria-current]")?.getBoundingClientRect();
  if (line) bringIntoView(byId("edits"), line.top, line.bottom);
  if (document.documentElement.scrollHeight > innerHeight) rings[0]?.scrollIntoView({ block: "nearest" }); // no panes
}

/** Scroll the source to where ``ring`` is in the text: as far from the beginning, in proportion. */
function alignSource(ring) {
  const [source, text] = [byId("source"), byId("text")];
  const place = (text.scrollTop + ring.getBoundingClientRect().top - text.getBoundingClientRect().top) / text.scrollHeight;
  source.scrollTop = place * source.scrollHeight - source.clientHeight / 2;
}

/**
 * Scroll ``pane`` so that what lies between ``top`` and ``bottom`` is seen, with a line before it; or else its beginning.
 * False if it was in view.
 */
function bringIntoView(pane, top, bottom) {
  const frame = pane.getBoundingClientRect();
  const head = pane.querySelector("h3")?.getBoundingClientRect().height ?? 0;
  const space = 12;
  if (top >= frame.top + head && bottom <= frame.bottom - space) return false;
  const room = frame.height - head - space;
  const lead = Math.max(space, Math.min(room / 3, room - (bottom - top) - space));
  pane.scrollTop += top - frame.top - head - lead;
  return true;
}

function tabsPart(segment) {
  const button = ([name, words]) => buttonOf(() => showTab(name), { class: `tab ${name}`, "data-focus": `tab-${name}`, "aria-pressed": String(tab === name) },
    name === "edits" ? `${words} ${segment.edits.length}` : words);
  return element("div", { class: "tabs", role: "group", "aria-label": "What is shown" }, Object.entries(TABS).map(button));
}

/** The segment on the screen; null while it is loading, also for the second time. */
function readableSegment() {
  const segment = readable && details.get(keyOf(readable));
  return segment?.edits ? segment : null;
}

function showTab(name) {
  tab = name;
  const segment = readableSegment();
  if (segment) show(segment);
}

function showView(name) {
  view = name;
  announce(`${VIEWS[name]} shown`);
  const segment = readableSegment();
  if (segment) show(segment);
}

/** Make an edit the current one, and show it. */
function choose(segment, number) {
  [chosen, view] = [number, "changes"];
  if (tab === "edits") tab = "text";
  show(segment);
}

const pane = (id, label, ...children) => element("section", { id, class: "pane", tabindex: 0, role: "group", "aria-label": label }, ...children);

function sourcePane(segment, row) {
  const { chain } = segment;
  return pane("source", "Source", element("h3", {}, `Source · ${languageName(chain.source_lang)}`), block(codedNodes(chain.source, row.source_codes), chain.source_lang, 0, undefined, segment.directions[0]));
}

// --- the text

function textPane(segment, about) {
  const { chain } = segment;
  if (writing) return pane("text", "Translation", writingPart(chain));
  const switches = Object.entries(VIEWS).map(([name, words]) => buttonOf(
    () => showView(name), { "aria-pressed": String(view === name), "data-focus": `view-${name}` }, words,
  ));
  const head = element(
    "h3", {}, element("span", {}, `Translation · ${languageName(chain.target_lang)}`),
    element("span", { class: "views", role: "group", "aria-label": "View" }, switches, element("kbd", {}, "b")),
  );
  return pane("text", "Translation", head, block(textNodes(segment, about), chain.target_lang, 0, undefined, segment.directions[1]));
}

function textNodes(segment, about) {
  const given = segment.chain.given ?? "";
  if (view === "before") return codedNodes(given, segment.given_codes);
  if (view === "result") return codedNodes(segment.text, segment.text_codes);
  if (!segment.is_tracked) return changeNodes(given, segment.text, segment.changes, segment.given_codes, segment.text_codes);
  return trackedNodes(segment, about);
}

/**
 * The text with its changes. Of an edit that is not in the text only its place is marked, until it is the current one: then
 * its words look like a proposal. The current edit has a ring around it: one, or in a long edit one around each of its
 * changes. Where one edit begins at the end of another one, a line separates them.
 */
function trackedNodes(segment, about) {
  const stands = (number) => number === 0 || isIn(segment.edits[number - 1]);
  const isCurrent = ([, brought, taken]) => about !== null && (brought === about.number || taken.includes(about.number));
  const [first, last] = [segment.pieces.findIndex(isCurrent), segment.pieces.findLastIndex(isCurrent)];
  const extent = segment.pieces.slice(first, last + 1).reduce((sum, [text]) => sum + text.length, 0);
  const nodes = [];
  let ring = null;
  let former; // the edit of the node before
  for (const [index, piece] of segment.pieces.entries()) {
    const node = pieceNode(piece, stands, isCurrent(piece) ? about.number : null, isInsertion(segment.pieces, index));
    if (node === null) continue;
    let outermost = node;
    if (extent <= LONG_EDIT ? index >= first && index <= last : isCurrent(piece)) {
      if (ring === null) nodes.push(outermost = ring = element("span", { class: isIn(about) ? "ring" : "ring absent" }));
      ring.append(node);
    } else {
      nodes.push(node);
      ring = null;
    }
    const { edit } = node.dataset;
    if (edit !== undefined && former !== undefined && edit !== former) outermost.classList.add("touching");
    former = edit;
  }
  return nodes;
}

/** Whether the edit that brings a stretch of text replaces nothing with it, and brings nothing else directly before it. */
function isInsertion(pieces, index) {
  const number = pieces[index][1];
  const isOfEdit = ([, brought, taken]) => brought === number || taken.includes(number);
  const former = pieces.slice(0, index).findLast((piece) => isOfEdit(piece) || piece[1] === null);
  return former === undefined || !isOfEdit(former);
}

/** A stretch of text; null if it is shown nowhere. ``current``: the number of the current edit if that changes it. */
function pieceNode([text, brought, taken, codes], stands, current, isInserted) {
  const isGone = taken.some(stands);
  const isHere = (brought === null || stands(brought)) && !isGone;
  const number = { "data-edit": current ?? taken.find(stands) ?? taken[0] ?? brought };
  const wasNeverThere = brought !== null && brought !== current && !stands(brought); // another edit's, taken back
  if (current !== null && !(wasNeverThere && stands(current))) {
    const isReplaced = brought === current && isGone;
    return element(taken.includes(current) || isReplaced ? "del" : "ins", number, codedNodes(text, codes, ""));
  }
  if (isGone && brought === null) return element("del", number, codedNodes(text, codes, ""));
  if (!isHere) return isInserted && !isGone ? element("span", { class: "place", "data-edit": brought }) : null;
  if (brought !== null) return element("ins", number, codedNodes(text, codes, ""));
  return taken.length > 0 ? element("span", { class: "proposed", ...number }, codedNodes(text, codes)) : element("span", {}, codedNodes(text, codes));
}

function writingPart(chain) {
  const save = buttonOf(() => finish(true), { class: "accept" }, "Save ", element("kbd", {}, "Ctrl Enter"));
  const leave = buttonOf(() => finish(false), {}, "Leave ", element("kbd", {}, "Esc"));
  return element(
    "div", { class: "writing" }, element("h3", {}, element("label", { for: "own" }, `Your text · ${languageName(chain.target_lang)}`)),
    element("p", { id: "unsaved", class: "small" }), writing,
    element("p", { class: "buttons" }, save, " ", leave),
    element("p", { id: "own-keys", class: "unseen" }, "Control Enter saves, Escape leaves it as it was"),
    element("div", { role: "status" }, element("ul", { id: "found", class: "found" })),
  );
}

// --- the current edit, and the others

/** The error that an edit corrects. */
const errorOf = (step, edit) => edit.span ?? errorsOf(step)[edit.error];
/** The errors that a step edited or tried to edit. */
const errorsOf = (step) => (step.ratings ?? []).find((rating) => rating.errors && rating.about === "before")?.errors ?? [];

/** All edits of a segment, each with its step. */
function editsOf(segment) {
  const steps = segment.chain.steps ?? [];
  return steps.flatMap((step, index) => (step.edits ?? []).map((edit) => ({ step, edit, judged: segment.judged[index] })))
    .map((entry, index) => ({ ...entry, item: segment.edits[index] }));
}

const decidedBadge = (decision, of = "") => decision && badge(`${of}${SAID[decision.verdict]}${decision.who ? ` by ${decision.who}` : ""}`, `decided ${decision.verdict}`);
const errorBadge = (error) => error && badge(`${categoryInWords(error.category)} · ${error.severity}`, error.severity);

/** ``style/unclear-reference`` is "Style: unclear reference". */
function categoryInWords(category) {
  if (!/^[\w -]+(\/[\w -]+)*$/.test(category)) return category;
  return category.charAt(0).toUpperCase() + category.slice(1).replaceAll("/", ": ").replaceAll(/[-_]/g, " ");
}

/** The two buttons of what is current. The one of the decision that counts takes it back. */
function decideButtons(segment, number, decision, words) {
  const button = (verdict, key) => {
    const pressed = decision?.verdict === verdict;
    const act = () => byKey.get(keyOf(segment)) === readable && judge(verdict, number === null);
    const label = number === null ? [] : element("span", { class: "unseen" }, ` edit ${number}`);
    const attributes = { class: pressed ? `${verdict} taken` : verdict, "data-focus": verdict };
    return buttonOf(act, attributes, pressed ? "Take back" : words[verdict], label, element("kbd", { "aria-hidden": "true" }, key));
  };
  return element("p", { class: "buttons" }, button("accept", "a"), button("reject", "r"));
}

/** The later edit that has replaced all words of an edit that is in the text; undefined if none has. */
function replacerOf(segment, item) {
  const brought = segment.pieces.filter(([, number]) => number === item.number);
  const takers = brought.map(([, , taken]) => taken.find((number) => isIn(segment.edits[number - 1])));
  return isIn(item) && takers.every(present) ? takers.at(-1) : undefined;
}

/** Whether an edit is in the text, and why not. */
function inWords(segment, edit, item) {
  const replacer = replacerOf(segment, item);
  if (replacer) return `Edit ${replacer} has replaced its words.`;
  if (item.decision) return isIn(item) ? "In the text." : "Not in the text.";
  if (edit.outcome === "refused" && edit.detail) return `Not in the text: a guard refused it (${edit.detail}).`;
  return IN_WORDS[edit.outcome] ?? edit.outcome;
}

function nowPart(segment, about) {
  if (about === null) return wholeNow(segment);
  const { step, edit, judged } = editsOf(segment)[about.number - 1];
  const error = errorOf(step, edit);
  const wasJudged = edit.outcome === (step.verdict === "kept" ? "applied" : "rejected"); // not if a guard refused it before
  const isRejectionSaid = edit.outcome === "rejected" && wasJudged && judged !== "";
  const isSaid = isIn(about) || ["refused", "overlapping"].includes(edit.outcome) || isRejectionSaid; // by the sentence above
  const isAbsent = !isIn(about) && edit.outcome !== "unchanged";
  return element(
    "section", { id: "now", class: isAbsent ? "now absent" : "now", "aria-label": "Current edit" },
    element("p", { class: "head" }, element("strong", { id: "target" }, `Edit ${about.number} of ${segment.edits.length}`), " ", isAbsent && badge("not in the text", "absent"), " ", errorBadge(error), " ", decidedBadge(about.decision)),
    element(
      "div", { class: "detail", tabindex: 0, role: "group", "aria-label": "What it does and why" },
      element("p", { class: "text change", lang: segment.chain.target_lang, dir: segment.directions[1] }, briefNodes(edit, about, LONG_EDIT)),
      error?.explanation && element("p", { dir: "auto" }, error.explanation),
      about.remark && element("p", { class: "remark" }, `This edit ${about.remark}.`),
      element("p", { class: "small" }, `${about.remark ? "" : inWords(segment, edit, about)} ${about.guards.length === 0 ? "The guards have nothing against it. " : ""}${wasJudged ? judged : ""}`),
      edit.detail && !isSaid && element("p", { class: "small", dir: "auto" }, edit.detail),
    ),
    decideButtons(segment, about.number, about.decision, { accept: "Accept", reject: "Reject" }),
  );
}

/** What is current if no edit is: the segment as a whole. */
function wholeNow(segment) {
  const { decision } = segment;
  const words = decision ? "Your decision about the segment as a whole counts for all of its text."
    : segment.only_whole ? "A step changed more than its edits say: decide on the whole text, too."
      : segment.edits.length === 0 ? "There is no edit to decide on. Is the text right as it stands?" : "No edit can be decided on alone. Is the text right as it stands?";
  return element(
    "section", { id: "now", class: "now", "aria-label": "The whole segment" },
    element("p", { class: "head" }, element("strong", { id: "target" }, "The whole segment"), " ", decidedBadge(decision)),
    element("div", { class: "detail" }, element("p", {}, words)),
    decideButtons(segment, null, decision, { accept: "This text is right", reject: "All edits back" }),
  );
}

function editsPane(segment, about) {
  const left = segment.errors_left;
  const steps = (segment.chain.steps ?? []).filter((step) => step.edits?.length > 0);
  const linesOf = (step) => editsOf(segment).filter((entry) => entry.step === step).map((entry) => editLine(segment, entry, about));
  return element(
    "section", { id: "edits", class: "pane", "aria-label": "Edits" },
    steps.map((step) => [element("h3", {}, stageOf(step)), element("ol", { class: "cards" }, linesOf(step))]),
    about !== null && segment.only_whole && element("p", { id: "unexplained", class: "small" }, "A step changed more than its edits say: decide on the whole text, too."),
    segment.found.length > 0 && [element("h3", {}, "The guards have against the text"), element("ul", { class: "found" }, findings(segment.found))],
    left.length > 0 && [element("h3", { id: "not-fixed", tabindex: -1 }, "Found and not fixed"), element("ul", { class: "errors" }, left.map((error) => errorItem(error, segment.chain, categoryInWords(error.category))))],
    segment.stale > 0 && element("p", { class: "small" }, `${counted(segment.stale, "decision")} about a former text of this segment ${segment.stale === 1 ? "does" : "do"} not count.`),
  );
}

/** Tell beside the title of errors that were found and not fixed. */
function showErrorsLeft(segment) {
  const [first, ...others] = segment.errors_left;
  byId("left").hidden = !first || writing !== null;
  if (!first) return;
  const language = first.side ? segment.chain.source_lang : segment.chain.target_lang;
  const words = first.text === "" ? [categoryInWords(first.category)] : ["“", quoted(first.text, language), "”"];
  byId("left").replaceChildren(
    `${counted(others.length + 1, "error")} not fixed`,
    element("span", { class: "wide" }, ": ", ...words, others.length > 0 && ", …"),
  );
}

/** Go to the list of errors that were found and not fixed. */
function goToErrorsLeft() {
  if (phone.matches) showTab("edits");
  byId("not-fixed").focus();
}

const stageOf = (step) => STAGES[step.stage] ?? step.stage;

/** An edit in few words, which make it the current one. */
function editLine(segment, { step, edit, item }, about) {
  const error = errorOf(step, edit);
  const outcome = element("span", { class: "outcome" }, item.decision ? "not in the text" : OUTCOMES[edit.outcome] ?? edit.outcome);
  const isMissing = !isIn(item) && item.decision?.verdict !== "reject";
  const state = [decidedBadge(item.decision), item.decision && isMissing && " · ", isMissing && outcome].filter(present);
  return element("li", { value: item.number }, buttonOf(
    () => choose(segment, item.number), { class: "card", disabled: !item.alone, "aria-current": item === about && "true", "data-focus": `edit-${item.number}` },
    element("span", { class: "number" }, String(item.number)),
    element("span", { class: "text brief", lang: segment.chain.target_lang, dir: segment.directions[1] },
      briefNodes(edit, item, BRIEF)),
    element("span", { class: "about-edit" }, error && categoryInWords(error.category), error && state.some(Boolean) && " · ", ...state),
  ));
}

/** What an edit changes, each change up to ``most`` characters, with a few words around it. */
function briefNodes(edit, { changes: words, codes }, most) {
  const isSpace = `${edit.old}${edit.new}`.trim() === ""; // all of it tells more than the one space that goes
  const lengths = isSpace ? [0, edit.old.length, edit.new.length] : words;
  const nodes = [];
  let [from, to] = [0, 0];
  const changed = (name, text, itsCodes, start, length, other) => length > 0 && element(
    name, {}, codedNodes(beginningOf(text.slice(start, start + length), most), codesWithin(itsCodes, start, start + Math.min(length, most)), other),
  );
  for (let i = 0; i < lengths.length; i += 3) {
    const [same, gone, come] = lengths.slice(i, i + 3);
    nodes.push(...around(edit.new.slice(to, to + same), codesWithin(codes[1], to, to + same), i > 0, true));
    [from, to] = [from + same, to + same];
    nodes.push(changed("del", edit.old, codes[0], from, gone, edit.new.slice(to, to + come)), changed("ins", edit.new, codes[1], to, come, edit.old.slice(from, from + gone)));
    [from, to] = [from + gone, to + come];
  }
  return [...nodes, ...around(edit.new.slice(to), codesWithin(codes[1], to, edit.new.length), lengths.length > 0, false)].filter(present);
}

/** Unchanged text: what of it is near the change before it, the change behind it, or both. */
function around(text, codes, hasBefore, hasBehind) {
  const most = AROUND * (hasBefore + hasBehind || 1);
  if (text.length <= most + AROUND) return codedNodes(text, codes);
  const head = hasBefore || !hasBehind ? beginningOf(text, AROUND).replace(/\s\S*$/, " ") : "";
  const tail = hasBehind ? text.slice(-AROUND).replace(/^[\udc00-\udfff]/, "").replace(/^\S*\s/, " ") : "";
  const start = text.length - tail.length;
  return [...codedNodes(head, codesWithin(codes, 0, head.length)), "…", ...codedNodes(tail, codesWithin(codes, start, text.length))];
}

/** The beginning of a text, not cut inside a character. */
const beginningOf = (text, most) => text.slice(0, most).replace(/[\ud800-\udbff]$/, "");

function beginning(text, most, codes) {
  const shown = beginningOf(text, most);
  return codedNodes(shown, codesWithin(codes, 0, shown.length));
}

// --- what else is known

function morePane(segment, row) {
  const { chain } = segment;
  const known = definitions([
    ["Document", chain.document], ["Domain", chain.domain], ["Notes", chain.notes], ["Context", chain.context], ["Reference", chain.reference],
  ]);
  const part = (title, ...children) => element("section", { class: "part" }, element("h3", {}, title), ...children);
  return pane(
    "more", "Context and steps",
    segment.terms.length > 0 && part("Glossary", element("ul", { class: "terms" }, segment.terms.map((term) => element("li", { dir: "auto" }, term)))),
    contextPart(row), known && part("Known about it", known), stepsPart(segment),
  );
}

function contextPart(row) {
  const near = [-2, -1, 1, 2].map((by) => byKey.get(keyOf({ run: row.run, position: row.position + by })))
    .filter((other) => other && other.document[0] === row.document[0]);
  return near.length > 0 && element("section", { class: "part" }, element("h3", {}, "Neighbouring segments"), element("ol", { class: "near" }, near.map((other) => element(
    "li", { class: other.position < row.position ? "former" : "later" },
    element("p", { class: "text origin", lang: other.source_lang, dir: "auto" }, codedNodes(other.source, other.source_codes)),
    element("p", { class: "text", lang: other.target_lang, dir: "auto" }, codedNodes(other.text, other.text_codes)),
  ))));
}

/** The steps; those that did nothing are named in one line. */
function stepsPart(segment) {
  const steps = segment.chain.steps ?? [];
  const idle = steps.filter((step, index) => step.verdict === "unchanged" && (step.edits ?? []).length === 0 && segment.not_fixed[index] === 0);
  let before = segment.chain.given ?? "";
  const parts = steps.map((step, index) => {
    const part = !idle.includes(step) && stepPart(segment, index, before);
    before = step.text ?? before;
    return part;
  });
  return steps.length > 0 && element(
    "section", { class: "part" }, element("h3", {}, "Steps"), parts.filter(present),
    idle.length > 0 && element("details", { class: "step" }, element("summary", {}, `Nothing to change: ${idle.map(stageOf).join(", ")}`),
      idle.map((step) => [element("p", { class: "reason", dir: "auto" }, step.reason), ratingsPart(segment, step)])),
  );
}

/** A step: what it did and how it was judged. Names of models and exact reasons are details. */
function stepPart(segment, index, before) {
  const [step, judged, left] = [segment.chain.steps[index], segment.judged[index], segment.not_fixed[index]];
  const edits = step.edits ?? [];
  const count = edits.filter((edit) => edit.outcome === "applied").length;
  return element(
    "div", { class: `step ${step.verdict}` },
    element("p", {}, element("strong", {}, stageOf(step)), " ", badge(step.verdict, step.verdict), edits.length > 0 && ` ${count} of ${counted(edits.length, "edit")} kept`),
    left > 0 && element("p", { class: "small" }, `${counted(left, "error")} found and not fixed`),
    judged && element("p", { class: "small" }, judged),
    step.verdict === "rejected" && edits.length === 0 && step.proposed !== undefined &&
      block(changeNodes(before, step.proposed, step.changes?.proposed ?? []), segment.chain.target_lang, step.proposed.length, "Proposed"),
    element("details", {}, element("summary", {}, "Details"), element("p", { class: "reason", dir: "auto" }, step.reason), ratingsPart(segment, step)),
  );
}

function ratingsPart(segment, step) {
  const ratings = (step.ratings ?? []).map((rating) => element(
    "li", {}, `${rating.evaluator}, text ${rating.about}: ${score(rating.score)}`, rating.explanation && [" – ", quoted(rating.explanation)],
    rating.errors?.length > 0 && element("ul", { class: "errors" }, rating.errors.map((error) => errorItem(error, segment.chain, categoryInWords(error.category)))),
  ));
  return ratings.length > 0 && element("ul", { class: "errors" }, ratings);
}

byId("body").addEventListener("click", ({ target: clicked }) => {
  const number = Number(clicked.closest?.("#text [data-edit]")?.dataset.edit ?? 0);
  const segment = readableSegment();
  if (!segment || writing || String(getSelection()) !== "") return;
  if (segment.edits[number - 1]?.alone) choose(segment, number);
});
