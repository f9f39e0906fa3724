// The list of segments: search, filters, pages, details, keys.

const PAGE = 50;
const ALL = "all"; // in place of a page's number: all pages in one, for paper
const EXCERPT = 600; // characters of a text in a closed row
const VERDICTS = { kept: "change kept", unchanged: "unchanged", rejected: "change rejected", failed: "failed" };
const FLAGS = { missing: "no translation", empty: "empty", copied: "copies the source", script: "foreign script" };
const ORDERS = {
  position: "order of the run", loss: "lost most first", gain: "gained most first", cost: "most expensive first",
  edits: "most edits first", time: "slowest first",
};
const STEP_FILTERS = ["stage", "verdict", "outcome", "severity", "category"];
const SEGMENT_FILTERS = ["change", "domain", "document", "pair"];
const DEFAULTS = Object.freeze({
  q: "", run: "", ...Object.fromEntries([...STEP_FILTERS, ...SEGMENT_FILTERS].map((name) => [name, ""])), sort: "position", page: "1", segment: "",
});
/** The tooltip of marks: one for the page, filled with what the list of errors says. */
function setUpTip(tip, root) {
  const hide = () => {
    tip.hidden = true;
    for (const lit of root.querySelectorAll("li.lit")) lit.classList.remove("lit");
  };
  const show = (mark) => {
    hide();
    const listed = mark.getAttribute("aria-describedby").split(" ").map(byId);
    for (const item of listed) item.classList.add("lit");
    tip.textContent = listed.map((item) => item.textContent).join("\n");
    tip.hidden = false;
    const at = mark.getBoundingClientRect();
    const room = document.documentElement.clientWidth - tip.offsetWidth - 16;
    tip.style.left = `${Math.max(16, Math.min(at.left, room)) + scrollX}px`;
    const below = at.bottom + tip.offsetHeight + 8 < innerHeight;
    tip.style.top = `${scrollY + (below ? at.bottom + 6 : at.top - tip.offsetHeight - 6)}px`;
  };
  for (const [event, action] of [["mouseover", show], ["focusin", show], ["mouseout", hide], ["focusout", hide]]) {
    root.addEventListener(event, ({ target }) => target.closest?.("mark") && action(target.closest("mark")));
  }
  return hide;
}

const verdictOf = (step) => (step.stage === "translate" && step.verdict === "kept" ? "translated" : VERDICTS[step.verdict]);

// --- one segment: its row, and what it opens to

/**
 * What the filters and rows need beside the segment's own fields; computed once, when the page opens. A segment has a
 * version for each run; of a single run it is its own version.
 */
function prepared(segment, position) {
  const versions = (segment.runs ?? [segment]).map(preparedVersion);
  return Object.assign(segment, { position, versions, pair: `${segment.source_lang} → ${segment.target_lang}` });
}

function preparedVersion(version, run) {
  const steps = version.steps ?? [];
  const errorsOf = (step) => (step.ratings ?? []).flatMap((rating) => rating.errors ?? []);
  const facts = steps.map((step) => ({
    stage: new Set([step.stage]),
    verdict: new Set([step.verdict]),
    outcome: new Set((step.edits ?? []).map((edit) => edit.outcome)),
    severity: new Set(errorsOf(step).map((error) => error.severity)),
    category: new Set(errorsOf(step).map((error) => error.category)),
  }));
  return Object.assign(version, {
    run: String(run), steps, facts,
    final: steps.reduce((text, step) => step.text ?? text, version.given ?? null),
    edited: steps.reduce((sum, step) => sum + (step.edits?.length ?? 0), 0),
    worst: SEVERITIES.find((severity) => facts.some(({ severity: marked }) => marked.has(severity))),
  });
}

function rowOf(segment) {
  const id = `segment-${segment.position}`;
  const opener = element(
    "button",
    { type: "button", class: "opener", "aria-expanded": "false", "aria-controls": id, "data-position": segment.position },
    element("span", { class: "id", dir: "auto" }, segment.id),
    SEVERAL ? segment.versions.map((version) => element("span", { class: "version" }, nameOf(version), notesOf(version))) : notesOf(segment),
  );
  const row = element("li", { class: "segment" }, element("h3", {}, opener), excerpt(segment), element("div", { id, hidden: true }));
  opener.addEventListener("click", () => toggle(row, opener.getAttribute("aria-expanded") !== "true"));
  return row;
}

/** What became of a version: stages, the worst error, flags, gain, cost. */
function notesOf(version) {
  const stages = version.steps.filter((step) => step.verdict !== "unchanged" && verdictOf(step) !== "translated");
  return [
    ...stages.map((step) => badge(`${STAGES[step.stage]}: ${verdictOf(step)}`, step.verdict)),
    version.worst && badge(`${version.worst} error`, version.worst),
    ...(version.flags ?? []).map((flag) => badge(FLAGS[flag] ?? flag, "flagged")),
    gainNote(version),
    element("span", { class: "spent" }, version.cost),
  ];
}

const nameOf = (version) => element("span", { class: "label", dir: "auto" }, data.runs[version.run]);

function gainNote({ gain }) {
  if (gain === undefined) return element("span", { class: "gain" });
  const { name, higher } = data.metrics[data.deciding];
  if (Math.abs(gain) < 1e-9) return element("span", { class: "gain" }, `${name} ±0`);
  const words = gain > 0 ? "better" : "worse";
  return element("span", { class: `gain ${words}` }, `${name} ${signed(higher ? gain : -gain, Math.abs(gain) < 0.1 ? 3 : 1)}, ${words}${THAN_FIRST}`);
}

/**
 * Source and final text, with what changed since the text that was given or first made. Of several runs the final text of
 * each, with how it differs from that of the first run.
 */
function excerpt(segment) {
  const source = element("p", { class: "text source", lang: segment.source_lang, dir: "auto" }, cut(segment.source));
  if (SEVERAL) {
    const texts = segment.versions.map((version) => {
      const long = Math.max(version.final?.length ?? 0, segment.versions[0].final?.length ?? 0) > EXCERPT;
      return element("div", {}, nameOf(version), finalText(segment, version, 0, long && version.final !== null));
    });
    return element("div", { class: "excerpt" }, source, element("div", {}, texts));
  }
  if (segment.final === null) return element("div", { class: "excerpt" }, source, element("p", { class: "small" }, "no translation"));
  const first = segment.given ?? segment.steps.find((step) => step.stage === "translate")?.text ?? segment.final;
  const nodes = segment.change ? changeNodes(first, segment.final, segment.change) : cut(segment.final);
  return element("div", { class: "excerpt" }, source, block(nodes, segment.target_lang, 0));
}

/** The final text of one of several runs, with how it differs from that of the first run; it is written once if equal. */
function finalText(segment, version, length, isCut = false) {
  const first = segment.versions[0];
  if (version.final === null) return element("p", { class: "small" }, "no translation");
  if (version !== first && version.final === first.final) return element("p", { class: "small" }, `the same text as ${data.runs[0]}`);
  if (isCut) return block(cut(version.final), segment.target_lang, 0);
  const nodes = version.difference && first.final !== null ? changeNodes(first.final, version.final, version.difference) : version.final;
  return block(nodes, segment.target_lang, length, "Final text");
}

/** The beginning of a text, not cut inside a character. */
function cut(text) {
  if (text.length <= EXCERPT) return text;
  const near = text.slice(0, EXCERPT);
  const space = near.lastIndexOf(" ");
  const end = space > EXCERPT / 2 ? space : Array.from(near).slice(0, -8).join("").replace(/\P{M}\p{M}*$/u, "").length;
  return near.slice(0, end) + " …";
}

function setOpen(row, open, segment) {
  const place = row.querySelector("h3 + .excerpt + div");
  if (open && place.childElementCount === 0) place.append(detailsOf(segment));
  row.querySelector(".opener").setAttribute("aria-expanded", String(open));
  row.querySelector(".excerpt").hidden = open;
  place.hidden = !open;
}

/** Texts side by side, each stage, scores, what else is known. A text that is the same as the one before stands once. */
function detailsOf(segment) {
  const { reference, target_lang: target, source_lang: from, versions } = segment;
  const panel = (label, text, language) => element("div", { class: "panel" }, element("h4", {}, label), block(text, language, text.length, label));
  const givenPanel = ({ given }) => present(given) && panel("Translation as given", given, target);
  const isGivenShared = versions.every((version) => version.given === versions[0].given);
  const reviewedPanel = ({ reviewed }) => reviewed !== undefined && panel("Reviewed: as people decided", reviewed, target);
  const texts = (version) => [
    version.final === null && element("p", { class: "small" }, "There is no translation."),
    version.final !== null && version.final !== version.given && panel(`Final text (${target})`, version.final, target),
    reviewedPanel(version),
  ];
  const panels = [
    panel(`Source (${from})`, segment.source, from),
    isGivenShared && givenPanel(versions[0]),
    SEVERAL ? null : texts(segment),
    reference !== undefined && panel("Reference", reference, target),
  ];
  const runDetails = (version) => element(
    "div",
    { class: "run-details" },
    element("h4", {}, nameOf(version)),
    isGivenShared ? null : givenPanel(version),
    element("div", { class: "panel" }, element("h5", {}, `Final text (${target})`), finalText(segment, version, version.final?.length ?? 0)),
    reviewedPanel(version),
    stepsOf(segment, version),
    definitions([...shownToModels(version), ...flagged(version)]),
  );
  const known = definitions([
    ["Document", segment.document], ["Domain", segment.domain], ...shownToModels(segment), ...flagged(segment),
  ]);
  return element(
    "div",
    { class: "details" },
    element("div", { class: "panels" }, panels),
    SEVERAL ? element("div", { class: "panels" }, versions.map(runDetails)) : stepsOf(segment, segment),
    segment.scores && scoresTable(segment), known,
  );
}

/** What the models read beside the texts. Of several runs, each has what the others do not share. */
function shownToModels({ notes, context, terms }) {
  return [
    ["Notes", notes], ["Context", context],
    ["Terms", terms?.map(([source, term]) => `${source} → ${term ?? "as it is"}`).join("; ")],
  ];
}

const flagged = ({ flags }) => [["Flagged", flags?.map((flag) => FLAGS[flag] ?? flag).join(", ")]];

function stepsOf(segment, version) {
  let before = version.given ?? "";
  return version.steps.map((step, index) => {
    const part = stepPart(segment, step, before, `s${segment.position}-${version.run}-${index}`);
    before = step.text ?? before;
    return part;
  });
}

function stepPart(segment, step, before, id) {
  const language = segment.target_lang;
  const compared = step.compared ?? (step.verdict === "kept" ? step.text : step.proposed) ?? before;
  const ratings = (about, text) => (step.ratings ?? []).filter((rating) => rating.about === about)
    .map((rating, n) => ratingPart(segment, rating, text, `${id}-${about}${n}`));
  const labels = {
    text: step.changes?.text ? "Changes" : "Translation",
    compared: "What the gate decided on",
    proposed: step.verdict === "kept" ? "Proposed, taken in part" : "Proposed, not taken",
  };
  const texts = Object.entries(labels).filter(([name]) => step[name] !== undefined).map(([name, label]) => {
    const runs = step.changes?.[name];
    return titled(label, runs ? changeNodes(before, step[name], runs) : step[name], language, step[name].length);
  });
  return element(
    "section",
    { class: `step ${step.verdict}` },
    element("h4", {}, STAGES[step.stage], badge(verdictOf(step), step.verdict)),
    element("p", { class: "reason", dir: "auto" }, step.reason),
    step.error && element("details", { class: "plain" }, element("summary", {}, "Details of the error"), element("p", { class: "small" }, step.error)),
    ratings("before", before), texts, step.edits && editsTable(step), ratings("after", compared),
    element("p", { class: "small" }, step.took),
  );
}

/** A rating: its score, and its errors in the text that it is about, with a list that says all of them. */
function ratingPart(segment, rating, text, id) {
  const errors = (rating.errors ?? []).map((error, index) => ({ ...error, number: index + 1, listed: `${id}-${index + 1}` }));
  const number = rating.errors === undefined ? "" : errors.length === 0 ? ": no error" : `: ${counted(errors.length, "error")}`;
  const label = `${rating.evaluator}, text ${rating.about}: ${score(rating.score)}${number}`;
  const inSource = errors.filter((error) => error.side).map((error) => ({ ...error, at: onlyPlace(segment.source, error.text) }));
  const remarks = definitions([
    ["Says", rating.explanation], ["Would write", rating.correction], ["Confidence", rating.confidence?.toString()],
    ...(rating.gaps ?? []).map((gap) => ["Does not know", gap]), ...(rating.warnings ?? []).map((warning) => ["Warning", warning]),
  ]);
  return element(
    "div",
    {},
    element("h5", {}, label),
    errors.some((error) => error.at) && block(markedNodes(text, errors), segment.target_lang, text.length, label),
    inSource.some((error) => error.at) && titled("In the source", markedNodes(segment.source, inSource), segment.source_lang, segment.source.length),
    errors.length > 0 && element("ol", { class: "errors" }, errors.map((error) => errorItem(error, segment))),
    remarks,
  );
}

function onlyPlace(text, part) {
  const start = part === "" ? -1 : text.indexOf(part);
  return start >= 0 && text.indexOf(part, start + 1) < 0 ? [start, start + part.length] : null;
}

function editsTable(step) {
  const errors = (step.ratings ?? []).find((rating) => rating.errors && rating.about === "before")?.errors ?? [];
  const rows = step.edits.map((edit, index) => {
    const error = edit.span ?? errors[edit.error];
    const change = [
      edit.old !== "" && element("del", {}, shown(edit.old, edit.new)), edit.old !== "" && edit.new !== "" && " ",
      edit.new !== "" && element("ins", {}, shown(edit.new, edit.old)),
    ];
    const cells = [String(step.first + index), change, OUTCOMES[edit.outcome], edit.detail ?? "–", error ? [badge(error.severity, error.severity), " ", error.category] : "–"];
    return element("tr", {}, cells.map((cell, place) => element("td", { class: place === 1 && "change", dir: "auto" }, cell)));
  });
  return element("div", {}, element("h5", {}, counted(step.edits.length, "edit")), table("edits", "Edits", ["No.", "Edit", "Outcome", "Reason", "Error"], rows));
}

function scoresTable(segment) {
  const rows = data.metrics.map((metric, place) => {
    const first = segment.scores[place][0];
    const cells = segment.scores[place].map((value) => {
      const difference = value === null || first === null ? 0 : value - first;
      if (Math.abs(difference) <= 1e-9) return element("td", {}, score(value));
      const tone = (difference > 0) === metric.higher ? "better" : "worse";
      const digits = Math.abs(value) < 2 && Math.abs(difference) < 2 ? 3 : 2;
      return element("td", { class: tone }, score(value), element("span", { class: "note" }, `${signed(difference, digits)} ${tone}`));
    });
    return element("tr", {}, element("th", { scope: "row" }, `${metric.name} ${metric.higher ? "↑" : "↓"}`), cells);
  });
  return table("scores", "Scores of this segment", ["Score of this segment", ...data.rows], rows);
}

// --- which segments are shown, and in which order; the state is plain strings, so that it fits into the page's address

function haystack(segment, version) {
  if (version.haystack === undefined) {
    const texts = version.steps.flatMap((step) => [step.text, step.proposed, step.compared]);
    const all = [segment.id, segment.source, version.given, version.reviewed, segment.reference, segment.notes ?? version.notes, segment.context ?? version.context, ...texts];
    version.haystack = folded(all.filter(present).join("\n\u0000\n"));
  }
  return version.haystack;
}

const RESULT_TESTS = {
  worse: (version) => version.gain < -1e-9,
  better: (version) => version.gain > 1e-9,
  differs: (version) => version.difference !== undefined,
  changed: (version) => version.changed === true,
  same: (version) => !version.changed,
  flagged: (version) => version.flags !== undefined,
  failed: (version) => version.failed === true,
};

/** The values that a segment has, in one version, for a filter of the whole segment. */
function valuesOf(segment, version, name) {
  return name === "change" ? Object.keys(RESULTS).filter((result) => RESULT_TESTS[result](version)) : [segment[name]];
}

/** The segments of which one version is as the state asks. What is asked of a stage must hold for one and the same step. */
function filtered() {
  const needle = folded(state.q);
  const asked = (names) => names.filter((name) => state[name] !== "");
  const [ofSegment, ofStep] = [asked(SEGMENT_FILTERS), asked(STEP_FILTERS)];
  const inRun = (segment) => segment.versions.filter((version) => state.run === "" || version.run === state.run);
  const chosen = segments.filter((segment) => inRun(segment).some((version) =>
    (needle === "" || haystack(segment, version).includes(needle)) &&
    ofSegment.every((name) => valuesOf(segment, version, name).includes(state[name])) &&
    (ofStep.length === 0 || version.facts.some((facts) => ofStep.every((name) => facts[name].has(state[name]))))));
  const unpriced = segments.some(({ versions }) => versions.some(({ spent }) => !present(spent[0])));
  const key = new Map([
    ["loss", (version) => -version.gain], ["gain", (version) => version.gain],
    ["cost", (version) => version.spent[unpriced ? 1 : 0]], // where a price is unknown, tokens tell what is expensive
    ["edits", (version) => version.edited], ["time", (version) => version.spent[2]],
  ]).get(state.sort);
  if (!key) return chosen;
  const value = (segment) => Math.max(-Infinity, ...inRun(segment).map(key).filter((number) => present(number) && !Number.isNaN(number)));
  const values = new Map(chosen.map((segment) => [segment, value(segment)]));
  return chosen.sort((a, b) => values.get(b) - values.get(a) || a.position - b.position);
}

// --- the page at work

const data = JSON.parse(byId("data").textContent);
const OUTCOMES = data.outcomes;
const SEVERAL = data.runs.length > 1;
const THAN_FIRST = SEVERAL ? ` than ${data.runs[0]}` : "";
const RESULTS = {
  worse: SEVERAL ? `worse${THAN_FIRST}` : "got worse", better: SEVERAL ? `better${THAN_FIRST}` : "got better",
  differs: `with another final text${THAN_FIRST}`, changed: "changed", same: "not changed", flagged: "flagged", failed: "failed",
};
const segments = [];
const [form, list, pages, hits, clear, search] = ["filters", "list", "pages", "hits", "clear", "filter-q"].map(byId);
let state = { ...DEFAULTS };
let matching = segments;
let isLoading = true;

/** Reads a part of the segments, and frees its text. */
function take(part) {
  for (const segment of JSON.parse(part.textContent)) segments.push(prepared(segment, segments.length));
  part.remove();
}

/** Reads all segments. Of more than one part the page shows the first rows, while it reads the others. */
async function load() {
  const [first, ...others] = document.querySelectorAll("script.segments");
  take(first);
  if (others.length > 0) list.replaceChildren(...segments.slice(0, PAGE).map(rowOf));
  for (const part of others) {
    hits.textContent = `Loading: ${segments.length.toLocaleString("en")} of ${counted(data.count, "segment")}`;
    await new Promise((resume) => { setTimeout(resume); });
    take(part);
  }
  isLoading = false;
}

/** How many segments have each value of a filter. */
function countsOf(name) {
  const counts = new Map();
  const isOfStep = STEP_FILTERS.includes(name);
  const values = new Set(); // one for all segments: there may be many
  for (const segment of segments) {
    values.clear();
    for (const version of segment.versions) {
      if (!isOfStep) for (const value of valuesOf(segment, version, name)) values.add(value);
      else for (const facts of version.facts) for (const value of facts[name]) values.add(value);
    }
    for (const value of values) if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return counts;
}

/** A filter with one value only tells nothing apart, and is left out. */
function setUpChoices() {
  const place = byId("choices");
  const add = (name, label, options) => {
    const select = element("select", { id: `filter-${name}`, name }, options.map(([value, words]) => element("option", { value }, words)));
    select.addEventListener("change", () => change({ [name]: select.value }));
    place.append(element("div", {}, element("label", { for: `filter-${name}` }, label), select));
  };
  if (SEVERAL) add("run", "Run", [["", "any"], ...data.runs.map((name, run) => [String(run), name])]);
  const choices = [
    ["change", "Result", RESULTS], ["stage", "Stage", STAGES], ["verdict", "Decision", VERDICTS], ["outcome", "Outcome of an edit", OUTCOMES],
    ["severity", "Severity"], ["category", "Category of an error"], ["domain", "Domain"], ["document", "Document"], ["pair", "Languages"],
  ];
  for (const [name, label, words] of choices) {
    const counts = countsOf(name);
    const names = words ? Object.keys(words).filter((value) => counts.has(value)) : [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
    if (names.length > 1 || (names.length === 1 && counts.get(names[0]) < segments.length)) {
      add(name, label, [["", "any"], ...names.map((value) => [value, `${words?.[value] ?? value} (${counts.get(value).toLocaleString("en")})`])]);
    }
  }
  add("sort", "Order", Object.entries(ORDERS).filter(([name]) => data.deciding !== null || !["loss", "gain"].includes(name)));
}

/** Ways from the verdict to the segments that it is about. */
function setUpShortcuts() {
  const place = byId("shortcuts");
  const rejected = (version) => version.facts.some((facts) => facts.verdict.has("rejected"));
  const links = [
    ["change=worse&sort=loss", RESULTS.worse, RESULT_TESTS.worse], ["change=better&sort=gain", RESULTS.better, RESULT_TESTS.better],
    ["change=differs", RESULTS.differs, RESULT_TESTS.differs], ["change=changed", "changed", RESULT_TESTS.changed], ["verdict=rejected", "with a rejected change", rejected],
    ["change=flagged", "flagged", RESULT_TESTS.flagged], ["change=failed", "failed", RESULT_TESTS.failed],
  ].map(([hash, words, test]) => [segments.filter(({ versions }) => versions.some(test)).length, hash, words]).filter(([count]) => count > 0)
    .map(([count, hash, words]) => element("a", { href: `#${hash}` }, `${count.toLocaleString("en")} ${words}`));
  place.replaceChildren("Show: ", ...links);
  place.hidden = links.length === 0;
}

/** Take over a new state: from the address, or from a filter that was just used. */
function change(changes) {
  state = { ...state, page: "1", segment: "", ...changes };
  matching = filtered();
  const opened = state.segment === "" ? -1 : matching.findIndex((segment) => segment.id === state.segment);
  if (opened >= 0) state.page = String(Math.floor(opened / PAGE) + 1);
  render();
}

function render() {
  const last = Math.max(1, Math.ceil(matching.length / PAGE));
  const isWhole = state.page === ALL;
  const page = isWhole ? 1 : Math.min(last, Math.max(1, Number.parseInt(state.page, 10) || 1));
  if (!isWhole) state.page = String(page); // an address may name a page that there is not
  const here = isWhole ? matching : matching.slice((page - 1) * PAGE, page * PAGE);
  list.replaceChildren(...here.map(rowOf));
  list.start = (page - 1) * PAGE + 1;
  const button = (label, target) => {
    const isHere = target === (isWhole ? ALL : page);
    const made = element("button", { type: "button", disabled: target < 1 || target > last || isHere }, label);
    made.addEventListener("click", () => turnTo(target));
    return made;
  };
  pages.hidden = last < 2;
  const place = isWhole ? "All pages" : `Page ${page} of ${last}`;
  const next = isWhole ? last + 1 : page + 1;
  pages.replaceChildren(button("First", 1), button("Previous", page - 1), element("span", {}, place), button("Next", next), button("Last", last), button("All, to print them", ALL));
  showState(isWhole || last < 2 ? "" : `, page ${page} of ${last}`);
  const opened = here.findIndex((segment) => segment.id === state.segment);
  if (opened >= 0) setOpen(list.children[opened], true, here[opened]);
  remember();
}

/** The filters as the state has them, and how many segments there are. */
function showState(place) {
  if (search.value !== state.q) search.value = state.q;
  for (const select of form.querySelectorAll("select")) {
    select.value = state[select.name];
    select.classList.toggle("set", state[select.name] !== DEFAULTS[select.name]);
  }
  const all = matching.length === segments.length;
  const count = all ? counted(matching.length, "segment") : `${matching.length.toLocaleString("en")} of ${counted(segments.length, "segment")}`;
  const text = matching.length === 0 ? "No segment is like that" : count + place;
  if (hits.textContent !== text) hits.textContent = text;
  clear.hidden = all && state.sort === DEFAULTS.sort && state.q === "";
}

function remember() {
  if (isLoading) return; // the address tells what to show in the end
  const said = Object.entries(state).filter(([name, value]) => value !== DEFAULTS[name]);
  history.replaceState(null, "", location.pathname + location.search + (said.length === 0 ? "" : "#" + new URLSearchParams(said)));
}

function turnTo(page) {
  state = { ...state, page: String(page), segment: "" };
  render();
  focusOn(openers()[0]);
}

function toggle(row, open) {
  const segment = segments[Number(row.querySelector(".opener").dataset.position)];
  setOpen(row, open, segment);
  state.segment = open ? segment.id : "";
  remember();
}

const openers = () => [...list.querySelectorAll(".opener")];

function focusOn(opener) {
  opener?.focus({ preventScroll: true });
  opener?.scrollIntoView({ block: opener.getAttribute("aria-expanded") === "true" ? "start" : "nearest" });
}

/** The next or previous row; over the end of a page to the next page. */
function step(by) {
  const all = openers();
  const row = document.activeElement?.closest?.(".segment");
  const current = row ? all.indexOf(row.querySelector(".opener")) : by > 0 ? -1 : all.length;
  const page = Number.parseInt(state.page, 10) + by;
  if (all[current + by]) focusOn(all[current + by]);
  else if (page >= 1 && (page - 1) * PAGE < matching.length) {
    turnTo(page);
    if (by < 0) focusOn(openers().at(-1));
  }
}

function onKey(event, hideTip) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const moves = { j: 1, k: -1, ...(event.target.closest?.(".opener") ? { ArrowDown: 1, ArrowUp: -1 } : {}) };
  if (event.key === "Escape") {
    hideTip();
    const row = document.activeElement?.closest?.(".segment") ?? list.querySelector('.segment:has([aria-expanded="true"])');
    if (document.activeElement === search && search.value !== "") change({ q: "" });
    else if (row?.querySelector('[aria-expanded="true"]')) {
      toggle(row, false);
      focusOn(row.querySelector(".opener"));
    }
  } else if (!event.target.closest?.("input, select, textarea") && (event.key === "/" || event.key in moves)) {
    if (event.key === "/") search.focus();
    else step(moves[event.key]);
    event.preventDefault();
  }
}

/** On paper nobody can open the tables and signatures that the numbers come with. */
function setUpPrinting() {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.on-paper:not([open])")];
    for (const closed of opened) closed.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
}

function toSegments() {
  const section = byId("segments");
  section.scrollIntoView();
  section.focus({ preventScroll: true });
}

/** An address that somebody typed, followed or got sent. The skip link's own address is none. */
function follow() {
  if (location.hash !== "#segments") {
    const read = new URLSearchParams(location.hash.replace(/^#/, ""));
    change(Object.fromEntries(Object.entries(DEFAULTS).map(([name, usual]) => [name, read.get(name) ?? usual])));
  }
  const opened = list.querySelector('[aria-expanded="true"]');
  if (opened) focusOn(opened);
  else if (location.hash.length > 1) toSegments();
}

await load();
const hideTip = setUpTip(byId("tip"), list);
for (const id of ["filters", "keys"]) byId(id).hidden = false;
byId("more-filters").open = innerWidth >= 768;
setUpChoices();
setUpShortcuts();
setUpTheme();
setUpPrinting();
search.addEventListener("input", () => change({ q: search.value }));
form.addEventListener("submit", (event) => event.preventDefault());
clear.addEventListener("click", () => { change(DEFAULTS); search.focus(); });
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); toSegments(); });
document.addEventListener("keydown", (event) => onKey(event, hideTip));
addEventListener("hashchange", follow);
follow();
document.documentElement.dataset.ready = String(Math.round(performance.now()));
