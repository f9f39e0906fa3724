// The page of a review: a queue of segments, one of them open, and decisions on it, which saving.js saves.

const PAGE = 50;
const EXCERPT = 120; // characters of a text in the queue
const POLL = 4000;
const PAUSE = 250;
const STATES = { changed: "changed", unchanged: "unchanged", rejected: "all changes rejected", failed: "failed" };
const OUTCOMES = {
  applied: "not in the text", refused: "refused by a guard", rejected: "rejected by the gate", "not-found": "its place was not found",
  ambiguous: "may mean several places", overlapping: "another edit covers its place", unchanged: "the text reads so already",
  reverted: "taken back",
};
const SAID = { accept: "accepted", reject: "rejected", text: "own text", undecided: "undecided" };
const KEEPS = { reject: "stays rejected", text: "keeps its own text" };
const DECIDED = { open: "still to decide", no: "undecided", some: "partly decided", all: "decided" };
const FILTERS = {
  decided: ["Decided", DECIDED], state: ["State", STATES], guard: ["Guard"], category: ["Category"], severity: ["Severity"],
  stage: ["Stage", STAGES], document: ["Document"], run: ["Run"],
};
const CHIPS = [["decided", "open", "To decide"], ["state", "rejected", "All changes rejected"], ["state", "failed", "Failed"]]; // the filters most used
const ORDERS = {
  worth: "most worth a look first", gain: "highest expected gain first", doubt: "least certain gain first",
  labels: "teaches the gate most first", position: "order of the run",
};
const MOST_AT_ONCE = 500; // segments that are decided on with one request
const DEFAULTS = Object.freeze({ q: "", sort: "worth", ...Object.fromEntries(Object.keys(FILTERS).map((name) => [name, ""])) });

let store = ""; // what tells it from other stores
let runs = [];
let rows = []; // those that were read so far, the most doubtful first
let [total, changed] = [0, 0]; // segments of all runs, and those that were changed or may be
let ranks = new Map(); // how much the gate can learn from segments: their places, the best first
let arrived = []; // rows that were read and are not shown yet
let [readRun, readUpTo] = [0, -1]; // where the next rows begin
let isComplete = false; // whether all rows were read
let hasNewRows = false; // more doubtful ones than the next may have come
let matching = [];
let current = null; // the row that is open
let readable = null; // the row whose segment is on the screen; null while the open one is loading
let chosen = null; // the edit that was made the current one by hand
let writing = null; // the text area, while a text is written
let unusable = {}; // the text that cannot be saved, and why, in words
let shownSince = performance.now();
let judgedAt = 0; // when a key or button last decided on the open segment
let state = { ...DEFAULTS };
const byKey = new Map();
let undoable = [];
let isGateAsked = false;
let gateVersions = ""; // the decisions that the part about the gate knows
const left = new Map(); // texts that were left with Esc, by the names of their drafts

const phone = matchMedia("(max-width: 47.99rem), (max-width: 69.99rem) and (max-height: 33.99rem), (max-height: 23.99rem)"); // as in review.css
const keyOf = (row) => `${row.run}/${row.position}`;
const nameOf = (row) => (runs.length > 1 ? `${row.id} of ${runs[row.run]}` : row.id);
const announce = (words) => { byId("live").textContent = words; };

// --- deciding

function decide(row, segment, edit, verdict, text) {
  const former = edit === null ? segment.decision : segment.edits.find((item) => item.number === edit).decision;
  if ((former?.verdict ?? "undecided") === verdict && (former?.text ?? undefined) === text) return;
  if (trouble?.isFinal) problem("");
  const key = crypto.randomUUID();
  undoable.push({ row, edit, former, key });
  if (former?.text && verdict !== "text") left.set(draftOf(row), former.text); // whoever took an own text back by mistake finds it again
  enqueue(row, segment, { key, edit, verdict, text });
}

/** Show a decision, and save it. */
function enqueue(row, segment, decision) {
  if (alike?.row === row) offer(""); // it is not decided in that way any more
  const seconds = Math.round(performance.now() - shownSince) / 1000;
  pending.push({ run: row.run, position: row.position, version: row.version, seen: row.seen, seconds, ...decision });
  shownSince = performance.now();
  if (segment) mark(segment, decision);
  keep();
  refresh(row);
  send();
}

/** Withdraw the last decision: the decision before it counts again. */
async function undo() {
  const last = undoable.pop();
  if (!last) return notice("There is nothing to undo in this window");
  if (last.together) return undoTogether(last.together);
  const { row, edit, former, key } = last;
  if (row !== current) await open(row);
  if (row === current) chosen = edit; // the next key is for what is decided anew
  announce(`Undone on segment ${nameOf(row)}`);
  const wanted = conflicts.get(keyOf(row));
  if (wanted?.some((entry) => entry.key === key)) { // it was never saved
    setConflict(keyOf(row), [...wanted, { key: "", undoes: key }]);
    keep();
    return refresh(row);
  }
  const segment = await fetched(row).catch(explain);
  enqueue(row, segment, { key: crypto.randomUUID(), edit, verdict: "undecided", undoes: key, withdraws: written.get(key), former });
}

/** The edit that accept and reject are about; null: the whole segment. */
function target(segment) {
  const alone = segment.edits.filter((edit) => edit.alone);
  if (chosen === null && (segment.decision || (segment.only_whole && alone.every((edit) => edit.decision)))) return null;
  return alone.find((edit) => edit.number === chosen) ?? alone.find((edit) => !edit.decision) ?? alone[0] ?? null;
}

/** The undecided edit behind the one with this number, or the first one. */
function nextUndecided(segment, number) {
  const undecided = segment.edits.filter((edit) => edit.alone && !edit.decision);
  return undecided.find((edit) => edit.number > number) ?? undecided[0];
}

/** Whether a key or a finger may only have bounced: nobody has read what came after a decision so soon. */
const isTooSoon = () => performance.now() - judgedAt < PAUSE;

/** Accept or reject the current edit, or the whole segment; a decision that counts already is taken back. */
function judge(verdict, whole = false) {
  if (isTooSoon()) return;
  const [row, segment] = [readable, readableSegment()];
  if (row && !segment) fetched(row).then(saved).catch(explain); // nobody can decide on what is not read yet
  if (!segment || writing) return;
  const edit = whole ? null : target(segment);
  const name = `${edit ? `Edit ${edit.number} of segment` : "Segment"} ${nameOf(row)}`;
  if ((edit ?? segment).decision?.verdict === verdict) {
    chosen = edit?.number ?? null; // it stays the current one
    decide(row, segment, edit?.number ?? null, "undecided");
    judgedAt = performance.now();
    return announce(`${name}: decision taken back`);
  }
  if (edit === null && verdict === "reject" && segment.edits.length === 0 && !segment.only_whole) return notice("There is no edit to take back");
  const confirmed = edit === null && confirms(segment, verdict) ? segment.decision.verdict : null;
  decide(row, segment, edit?.number ?? null, verdict);
  if (confirmed) { // nothing has changed: show what would change it
    [chosen, judgedAt] = [null, performance.now()];
    show(segment);
    return notice(`The segment ${KEEPS[confirmed]}, which this confirms: to get its edits again, take that back first`);
  }
  const left = edit !== null && row.decided !== "all";
  announce(`${name}: ${SAID[verdict]}`);
  chosen = left ? nextUndecided(segment, edit.number)?.number ?? null : null;
  if (left) show(segment);
  else goOn();
  judgedAt = performance.now();
  if (left || row !== current) return;
  chosen = edit?.number ?? null; // the end of the queue: what was decided stays the current one
  show(segment);
}

// --- deciding on several segments together

const isChanged = (row) => ["changed", "rejected"].includes(row.state[0]);

/** Send decisions on several segments; ``entries`` are rows with the decisions on each. False if it did not work. */
async function decideTogether(entries, tell) {
  while (pending.length > 0 && !trouble) await new Promise((resume) => { setTimeout(resume, 20); });
  if (pending.length > 0) return null;
  const made = [];
  for (let run = 0; run < runs.length; run += 1) {
    const ofRun = entries.filter(({ row }) => row.run === run);
    for (let start = 0; start < ofRun.length; start += MOST_AT_ONCE) {
      tell(`${start.toLocaleString("en")} of ${counted(ofRun.length, "segment")}`);
      const part = ofRun.slice(start, start + MOST_AT_ONCE);
      const segments = part.map(({ row, decisions }) => ({ position: row.position, version: row.version, seen: row.seen, decisions }));
      const request = () => ask("decide-all", { run, segments });
      const again = async (error) => {
        if (error.status !== 0) throw error;
        await new Promise((resume) => { setTimeout(resume, RETRY); }); // perhaps only the answer was lost: the server knows
        return request();
      };
      const states = await request().catch(again).catch(explain);
      if (!states) return made;
      for (const [index, state] of states.entries()) {
        const { made: numbers, position, run: _, ...status } = state;
        Object.assign(part[index].row, status, { haystack: undefined });
        details.delete(keyOf(part[index].row));
        if (numbers.length > 0) made.push({ ...part[index], numbers });
      }
    }
  }
  return made;
}

/** Show what was decided on several segments, and let one undo take it back, unless it is an undo itself. */
async function showTogether(made, words, { isUndo = false } = {}) {
  if (made === null || (made.length === 0 && trouble)) return notice("Nothing was decided"); // the trouble is shown above
  const canUndo = made.length > 0 && !isUndo;
  if (canUndo) undoable.push({ together: made });
  change({});
  showProgress();
  if (current && !writing) {
    const segment = await fetched(current).catch(explain);
    if (segment) show(segment);
  }
  offer(`${counted(made.length, "segment")} ${words}. `, canUndo && [["Undo", undo]]);
}

async function undoTogether(made) {
  const entries = made.map(({ row, decisions, numbers }) => ({
    row, decisions: decisions.map(({ edit }, index) => ({ edit, verdict: "undecided", withdraws: numbers[index] })).reverse(),
  }));
  const undone = await decideTogether(entries, announce);
  await showTogether(undone, "undone", { isUndo: true });
  const missed = made.filter(({ row }) => !undone?.some((other) => other.row === row));
  if (missed.length > 0 && trouble) undoable.push({ together: missed });
}

/** What accepting or rejecting everything that is shown is about. */
const openRows = (verdict) => matching.filter((row) => row.decided !== "all" && (verdict === "accept" || row.proposed.length > 0 || row.text !== (row.given ?? "")));

function askAll() {
  const count = openRows("accept").length;
  byId("sure-title").textContent = `Decide on ${counted(count, "undecided segment")} of the queue together?`;
  for (const verdict of ["accept", "reject"]) {
    const rows = openRows(verdict);
    byId(`${verdict}-all`).textContent = verdict === "accept" ? `Accept ${counted(rows.length, "segment")}` : `Reject ${counted(rows.length, "segment")} with edits`;
    byId(`${verdict}-all`).disabled = rows.length === 0;
  }
  byId("doing").textContent = "";
  byId("sure").showModal();
}

async function decideAll(verdict) {
  const entries = openRows(verdict).map((row) => ({ row, decisions: [{ edit: null, verdict }] }));
  for (const button of byId("sure").querySelectorAll("button")) button.disabled = true;
  const made = await decideTogether(entries, (words) => { byId("doing").textContent = words; });
  for (const button of byId("sure").querySelectorAll("button")) button.disabled = false;
  byId("sure").close();
  await showTogether(made, SAID[verdict]);
  if (byId("decide-all").hidden) focusTitle(); // the dialog gave the focus back to that button
}

const focusTitle = () => byId("segment-title").focus({ preventScroll: true });

/** Say something above the buttons, with things to do about it. */
function offer(words, buttons = []) {
  const place = byId("offer");
  if (place.contains(document.activeElement)) focusTitle(); // its buttons go
  delete place.dataset.told;
  [offerSeen, alike] = [0, null];
  place.hidden = words === "";
  place.replaceChildren(words, ...(buttons || []).flatMap(([label, action, key]) => [
    buttonOf(() => { if (!isTooSoon()) { offer(""); action(); } }, { class: "quiet" }, label, key ? element("kbd", {}, key) : ""), " ",
  ]), buttonOf(() => offer(""), { class: "quiet", "aria-label": "Close" }, "✕"));
}

let offerSeen = 0; // on how many segments

/** Another segment is opened: an offer stays for one more, what was told goes. */
function leaveOffer() {
  offerSeen += 1;
  if (byId("offer").dataset.told || offerSeen > 1) offer("");
}

/** Tell that a segment is not done yet, though each of its edits was decided on. */
function offerMissing(row) {
  offer(`An accepted edit of segment ${nameOf(row)} isn't in the text, because another edit has changed its place. `, [["Look at it", () => open(row)]]);
}

/** Say why a key did nothing, until another segment is opened; an offer stays where it is. */
function notice(words) {
  const place = byId("offer");
  if (!place.hidden && !place.dataset.told) return announce(words);
  offer(`${words}. `);
  place.dataset.told = "yes";
}

let alike = null; // what the key "s" does, and the segment that others are decided like

/** Offer to decide other segments with the same source and the same edits as ``row`` has been decided. */
function offerAlike(row) {
  const proposed = JSON.stringify(row.proposed);
  const others = rows.filter((other) => other !== row && other.source === row.source && other.decided === "no" &&
    other.target_lang === row.target_lang && other.given === row.given && JSON.stringify(other.proposed) === proposed);
  const segment = details.get(keyOf(row));
  if (others.length === 0 || !segment?.edits) {
    offer("");
    return;
  }
  const same = (edit, { verdict, text }) => ({ edit, verdict, ...(verdict === "text" && { text }) });
  const decisions = segment.edits.filter((item) => item.decision).map((item) => same(item.number, item.decision));
  // A rejection hides the decisions about edits that are older; all other decisions about the whole come last.
  if (segment.decision?.verdict === "reject") decisions.unshift(same(null, segment.decision));
  else if (segment.decision) decisions.push(same(null, segment.decision));
  const act = async () => {
    const entries = others.filter((other) => other.decided === "no").map((other) => ({ row: other, decisions }));
    if (entries.length === 0) return notice("These segments have been decided meanwhile");
    await showTogether(await decideTogether(entries, announce), "decided the same way");
    const next = nextRow();
    if (current?.decided === "all" && next) open(next, { focus: true });
  };
  const [has, them] = others.length === 1 ? ["has", "it"] : ["have", "them"];
  offer(`${counted(others.length, "more segment")} ${has} the source and the edits of ${nameOf(row)}: `, [[`Decide ${them} the same way `, act, "s"]]);
  alike = { row, act };
}

/** Decide other segments as one has been, if that is offered. */
function decideAlike() {
  if (!alike) return notice("Nothing is offered to be decided the same way");
  const { act } = alike;
  offer("");
  act();
}

/** The next segment to decide, or the first one if rows were added meanwhile. */
function nextRow() {
  const place = hasNewRows && state.sort === "worth" ? -1 : matching.indexOf(current);
  hasNewRows = false;
  return matching.slice(place + 1).find((row) => row.decided !== "all") ?? matching.find((row) => row.decided !== "all");
}

/** On to the next segment to decide. */
function goOn() {
  if (current?.decided === "all") offerAlike(current);
  const next = nextRow();
  if (next) open(next, { focus: true });
  else notice(isComplete ? "All segments of this queue are decided" : "All segments that were read are decided; more are on the way");
}

// --- a text that the person writes

const draftOf = (row) => `draft/${store}/${runs[row.run]}/${row.position}/${row.seen}`;

/** The line ends of a segment's texts; where ``text`` has none, of the others. */
const lineEndsOf = ({ text, chain }) => [text, chain.given ?? "", chain.source].map((words) => words.match(/\r\n|\r|\n/g)).find(present) ?? [];

/** The text in the text area, which knows only one kind of line end, with those of the segment. */
function writtenText() {
  let place = 0;
  return writing.value.replaceAll("\n", () => writing.lineEnds[place++] ?? writing.lineEnds.at(-1) ?? "\n");
}

/** Keep the text that is being written, in case the browser is closed. */
const keepDraft = (row, text) => remember(draftOf(row), text === row.text ? null : text);

async function write() {
  const row = current; // the editor opens when the segment is on the screen
  const segment = row && await fetched(row).catch(explain);
  if (!segment?.edits || row !== current || writing) return;
  const area = element("textarea", { id: "own", lang: segment.chain.target_lang, dir: "auto", spellcheck: "true", "aria-describedby": "unsaved own-keys found", rows: 4 });
  area.lineEnds = lineEndsOf(segment);
  const draft = localStorage.getItem(draftOf(row)); // the browser was closed, or another segment opened
  area.value = draft ?? segment.text;
  [writing, unusable, tab] = [area, {}, "text"];
  show(segment);
  offerUnsaved(area, draft === null ? left.get(draftOf(row)) : segment.text, draft !== null);
  area.focus();
  const fit = () => { area.style.height = "auto"; area.style.height = `${area.scrollHeight + 4}px`; };
  let [timer, number] = [0, 0];
  const check = async () => {
    if (writing !== area) return;
    const [asked, text] = [++number, writtenText()];
    const checked = await ask("check", { run: row.run, position: row.position, text: text.toWellFormed() }).catch(explain);
    if (!checked || asked !== number || writing !== area) return;
    unusable = checked.refusal ? { text, words: `This cannot be saved: ${checked.refusal}` } : {};
    byId("found").replaceChildren(...(checked.refusal ? [element("li", { class: "refusal", dir: "auto" }, unusable.words)] : findings(checked.found)));
  };
  area.addEventListener("input", () => {
    keepDraft(row, writtenText());
    fit();
    clearTimeout(timer);
    timer = setTimeout(check, PAUSE);
  });
  fit();
  check();
}

/** Say above the text area that there is a text that was not saved, and let people exchange it for ``other``. */
function offerUnsaved(area, other, isShown) {
  if (other === undefined) return;
  const exchange = () => {
    const former = writtenText();
    area.value = other;
    offerUnsaved(area, former, !isShown);
    area.dispatchEvent(new Event("input"));
    area.focus();
  };
  byId("unsaved").replaceChildren(
    isShown ? "You wrote this text and didn't save it. " : "There is a text of yours that isn't saved. ",
    buttonOf(exchange, { class: "quiet" }, isShown ? "Discard" : "Take it up again"),
  );
}

async function finish(save) {
  const [row, area] = [current, writing];
  if (!area) return;
  const text = writtenText();
  if (save && text === unusable.text) {
    area.focus();
    return announce(unusable.words);
  }
  const segment = await fetched(row).catch(explain); // it may have been decided on together with others meanwhile
  if (!segment || writing !== area) return;
  writing = null;
  localStorage.removeItem(draftOf(row));
  if (save) left.delete(draftOf(row));
  else if (text !== segment.text) left.set(draftOf(row), text);
  if (save) {
    decide(row, segment, null, "text", text.toWellFormed());
    announce(`Segment ${nameOf(row)}: own text`);
    goOn();
  } else show(segment);
  byId("segment-title").focus();
}

// --- the segment that is open

async function open(row, { focus = false } = {}) {
  if (writing) { // what was written stays as a draft
    keepDraft(current, writtenText());
    writing = null;
  }
  if (row !== current) leaveOffer();
  [current, chosen, readable, view, judgedAt] = [row, null, null, "changes", 0];
  byId("segment").setAttribute("aria-busy", "true");
  const page = Math.max(0, Math.floor(matching.indexOf(row) / PAGE));
  if (matching.includes(row) && page !== listPage) showList(page);
  for (const button of list.querySelectorAll("[aria-current]")) button.removeAttribute("aria-current");
  const button = list.querySelector(`[data-key="${keyOf(row)}"]`);
  button?.setAttribute("aria-current", "true");
  button?.scrollIntoView({ block: "nearest" });
  try {
    const known = details.get(keyOf(row));
    const segment = known?.edits ? known : await fetched(row);
    if (current !== row) return;
    show(segment);
    shownSince = performance.now();
    if (focus) {
      byId("segment-title").focus({ preventScroll: true });
      if (byId("segment").getBoundingClientRect().top < 0) byId("segment").scrollIntoView();
    }
    const place = matching.indexOf(row);
    for (const near of matching.slice(place + 1, place + 4)) fetched(near).catch(() => {});
  } catch (error) {
    explain(error);
    if (current !== row) return;
    byId("segment").removeAttribute("aria-busy");
    byId("segment-title").textContent = `Segment ${nameOf(row)}`;
    byId("why").textContent = "";
    byId("left").hidden = true;
    byId("body").replaceChildren();
  }
}

// --- the queue

const [list, pages, search] = ["list", "pages", "filter-q"].map(byId);
let listPage = -1;

/** Why a segment is worth a look, until it is decided. */
const reasonsOf = (row) => (row.decided === "no" ? row.why : []);
/** What became of a segment: in the run, and after decisions in the decided text. */
const stateOf = (row) => (row.decided === "no" ? row.state[0] : row.text === (row.given ?? "") ? "unchanged" : "changed");

function listed(row) {
  const done = row.decided === "all" ? "✓" : row.decided === "some" ? "◐" : "";
  const choose = () => {
    open(row, { focus: true });
    if (phone.matches) byId("queue").open = false;
  };
  return element("li", {}, buttonOf(
    choose, { class: `row ${row.decided}`, "data-key": keyOf(row), "aria-current": row === current && "true" },
    element("span", { class: "id", dir: "auto" }, nameOf(row)),
    element("span", { class: "mark" }, element("span", { "aria-hidden": "true" }, done), row.decided !== "no" && element("span", { class: `verdict ${row.verdict ?? "mixed"}` }, ` ${row.decided === "some" ? "in part" : SAID[row.verdict] ?? "decided"}`)),
    element("span", { class: "hint", dir: "auto" }, reasonsOf(row)[0] ?? STATES[stateOf(row)] ?? stateOf(row)),
    element("span", { class: "excerpt", lang: row.target_lang, dir: "auto" }, beginning(row.text, EXCERPT, row.text_codes)),
  ));
}

function showList(page) {
  const last = Math.max(0, Math.ceil(matching.length / PAGE) - 1);
  listPage = Math.min(page, last);
  const focused = document.activeElement?.dataset.key;
  list.replaceChildren(...matching.slice(listPage * PAGE, (listPage + 1) * PAGE).map(listed));
  if (focused) list.querySelector(`[data-key="${focused}"]`)?.focus({ preventScroll: true });
  list.start = listPage * PAGE + 1;
  list.scrollTop = 0;
  const turn = (words, to) => buttonOf(() => { showList(to); list.querySelector("button")?.focus(); }, { class: "quiet", disabled: to < 0 || to > last }, words);
  pages.hidden = last === 0;
  pages.replaceChildren(turn("Previous", listPage - 1), element("span", {}, `Page ${listPage + 1} of ${last + 1}`), turn("Next", listPage + 1));
}

function showProgress() {
  let [done, partly, all] = [0, 0, 0];
  for (const row of rows) {
    if (!isChanged(row)) continue;
    all += 1;
    if (row.decided === "all") done += 1;
    if (row.decided === "some") partly += 1;
  }
  const bar = byId("bar");
  if (!isComplete) all = Math.max(all, changed);
  [bar.max, bar.value] = [Math.max(1, all), done];
  const inPart = partly > 0 ? `, ${partly.toLocaleString("en")} partly` : "";
  const [number, noun] = counted(all, "edited segment").split(/ (.*)/);
  const words = [`${done.toLocaleString("en")} of ${number}`, element("span", { class: "wide" }, ` ${noun}`), ` decided${inPart}`];
  byId("progress").replaceChildren(...(all === 0 ? ["no segment was edited"] : words));
  showOpen();
  showChips();
}

function haystack(row) {
  row.haystack ??= folded([row.id, row.source, row.given ?? "", row.text, ...row.proposed].join("\n\u0000\n"));
  return row.haystack;
}

const rankOf = (row) => ranks.get(`${row.run}/${row.id}`) ?? Infinity;
const chanceOf = (row) => (row.gain ? Math.abs(row.gain[1] - 0.5) : Infinity);
const SORTS = {
  position: (a, b) => a.run - b.run || a.position - b.position,
  gain: (a, b) => (b.gain?.[0] ?? -Infinity) - (a.gain?.[0] ?? -Infinity) || (b.gain?.[1] ?? 0) - (a.gain?.[1] ?? 0) || b.worth - a.worth,
  doubt: (a, b) => (chanceOf(a) === chanceOf(b) ? b.worth - a.worth : chanceOf(a) - chanceOf(b)),
  labels: (a, b) => (rankOf(a) === rankOf(b) ? b.worth - a.worth : rankOf(a) - rankOf(b)),
};

/** From which segments the gate can learn most; requested when the queue is to have that order. */
async function readRanks() {
  const ids = await ask("worth-labelling").catch(explain);
  if (!ids) return;
  ranks = new Map(ids.flatMap((ofRun, run) => ofRun.map((id, place) => [`${run}/${id}`, place])));
  change({});
}

const valuesOf = (row, name) => (name === "run" ? [runs[row.run]] : name === "decided" ? decidedValues(row) : name === "state" ? [stateOf(row)] : row[name]);
const decidedValues = (row) => (row.decided === "all" ? ["all"] : ["open", row.decided]);

function change(changes) {
  if (Object.keys(changes).length > 0 && byId("offer").dataset.told) offer(""); // it was about the former queue
  state = { ...state, ...changes };
  const needle = folded(state.q);
  const asked = Object.keys(FILTERS).filter((name) => state[name] !== "");
  matching = rows.filter((row) => (needle === "" || haystack(row).includes(needle)) && asked.every((name) => valuesOf(row, name).includes(state[name])));
  const order = SORTS[state.sort];
  if (order) matching.sort(order);
  if (needle !== "") matching.sort((a, b) => (folded(b.id) === needle) - (folded(a.id) === needle)); // an exact id comes first
  if (search.value !== state.q) search.value = state.q;
  for (const select of byId("choices").querySelectorAll("select")) select.value = state[select.name];
  let words = matching.length === rows.length ? counted(rows.length, "segment") : `${matching.length.toLocaleString("en")} of ${counted(rows.length, "segment")}`;
  if (matching.length === 0) words = "No segment is like that";
  const isAll = Object.entries(DEFAULTS).every(([name, value]) => state[name] === value);
  byId("clear").hidden = isAll;
  showOpen();
  showChips();
  showInAddress(isAll);
  byId("hits").textContent = isComplete ? words : `${words}; reading the rest of ${total.toLocaleString("en")}`;
  showList(Math.max(0, Math.floor(matching.indexOf(current) / PAGE)));
}

/**
 * The filters most used, each with the number of segments that it shows; those that would hide nothing are left out.
 * "To decide" is always there: it would come with the first decision, and move the queue.
 */
function showChips() {
  const focused = document.activeElement?.dataset.chip;
  const shown = [];
  for (const [name, value, words] of CHIPS) {
    let [count, edited] = [0, 0];
    for (const row of rows) {
      if (!valuesOf(row, name).includes(value)) continue;
      count += 1;
      if (isChanged(row)) edited += 1;
    }
    const isPressed = state[name] === value;
    if (!isPressed && name !== "decided" && (count === 0 || count === rows.length)) continue;
    let extent = count.toLocaleString("en");
    if (name === "decided" && edited < count) extent += `, ${edited.toLocaleString("en")} edited`; // as the progress counts
    shown.push(buttonOf(() => change({ [name]: isPressed ? "" : value }), { "aria-pressed": String(isPressed), "data-chip": value }, `${words}: ${extent}`));
  }
  byId("chips").hidden = shown.length === 0;
  byId("chips").replaceChildren(...shown);
  if (focused) byId("chips").querySelector(`[data-chip="${focused}"]`)?.focus();
}

/** How many segments of the queue the button decides on together. */
function showOpen() {
  const open = openRows("accept").length;
  byId("together").hidden = byId("clear").hidden && open === 0;
  byId("decide-all").hidden = open === 0;
  byId("decide-all").textContent = `Decide ${counted(open, "segment")} …`;
}

/** Filters and order are in the address, for those who come back or share it. The address's secret never is. */
function showInAddress(isAll) {
  const said = Object.entries(state).filter(([name, value]) => value !== DEFAULTS[name]);
  const hash = isAll ? "" : `#${new URLSearchParams(said)}`;
  if (location.hash !== hash) history.replaceState(null, "", location.pathname + hash);
}

function stateIn(address) {
  const read = new URLSearchParams(address);
  return Object.fromEntries(Object.entries(DEFAULTS).map(([name, usual]) => [name, read.get(name) ?? usual]));
}

/** What the part of the address behind # is: filters, or the secret that lets the page in. */
const hasFilters = (address) => address.includes("=");
const isSecret = (address) => /^[\w-]{40,}$/.test(address);

function setUpFilters() {
  byId("choices").replaceChildren();
  const add = (name, label, options) => {
    const select = element("select", { id: `filter-${name}`, name }, options.map(([value, words]) => element("option", { value }, words)));
    select.addEventListener("change", () => {
      change({ [name]: select.value });
      if (select.value === "labels") readRanks();
    });
    byId("choices").append(element("div", {}, element("label", { for: `filter-${name}` }, label), select));
  };
  for (const [name, [label, words]] of Object.entries(FILTERS)) {
    const wordsFor = (value) => (name === "category" ? categoryInWords(value) : words?.[value] ?? value);
    const counts = new Map(name === "decided" ? Object.keys(DECIDED).map((value) => [value, 0]) : []);
    for (const row of rows) for (const value of valuesOf(row, name)) counts.set(value, (counts.get(value) ?? 0) + 1);
    const values = [...counts.keys()].sort((a, b) => (name === "decided" ? 0 : counts.get(b) - counts.get(a)));
    const many = name === "decided" ? "" : (value) => ` (${counts.get(value).toLocaleString("en")})`;
    if (values.length > 1 || (values.length === 1 && counts.get(values[0]) < rows.length)) add(name, label, [["", "any"], ...values.map((value) => [value, `${wordsFor(value)}${many && many(value)}`])]);
  }
  const hasGains = rows.some((row) => row.gain);
  add("sort", "Order", Object.entries(ORDERS).filter(([name]) => hasGains || !["gain", "doubt"].includes(name)));
}

// --- the page at work

function step(by) {
  const place = matching.indexOf(current);
  const row = matching[place < 0 ? 0 : place + by];
  if (row) open(row, { focus: true });
  else notice(by > 0 ? "This is the end of the queue" : "This is the beginning of the queue");
}

/** The next or previous edit of the segment, without a decision. */
function stepEdit(by) {
  const segment = readableSegment();
  const alone = segment?.edits.filter((edit) => edit.alone) ?? [];
  if (writing || alone.length === 0) return;
  const place = alone.indexOf(target(segment));
  choose(segment, alone.at((place + by + alone.length) % alone.length).number);
}

const ACTIONS = {
  a: () => judge("accept"), r: () => judge("reject"), A: () => judge("accept", true), R: () => judge("reject", true), e: write, u: undo,
  j: () => step(1), k: () => step(-1), n: () => stepEdit(1), p: () => stepEdit(-1),
  b: () => showView(Object.keys(VIEWS).at((Object.keys(VIEWS).indexOf(view) + 1) % 3)), s: decideAlike, "?": () => byId("help").showModal(), "/": () => { byId("queue").open = true; search.focus(); },
};

/** What a key means: with Caps Lock, and where the keyboard writes another script, what it means without. */
function meaningOf(event) {
  const isOtherScript = /^[^\u0000-\u024f]/.test(event.key) && /^Key[A-Z]$/.test(event.code);
  const letter = isOtherScript ? event.code.at(-1) : event.key;
  const isLetter = /^[a-z]$/i.test(letter) && (isOtherScript || event.getModifierState("CapsLock"));
  if (!isLetter) return event.key;
  return event.shiftKey ? letter.toUpperCase() : letter.toLowerCase();
}

function onKey(event) {
  if (writing && event.target === writing) {
    if (event.isComposing) return;
    if (event.key === "Escape") finish(false);
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) finish(true);
    else return;
    event.preventDefault();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (event.target === search && ["Escape", "Enter"].includes(event.key)) {
    event.preventDefault(); // Escape would empty the field; "Show all" does
    if (event.key === "Enter" && matching.length > 0) open(matching[0], { focus: true });
    if (phone.matches) byId("queue").open = false;
    byId("segment-title").focus();
  }
  if (event.target.closest?.("input, select, textarea") || !byId("letters").checked) return;
  const [segment, key] = [readableSegment(), meaningOf(event)];
  if (segment?.edits.some((edit) => String(edit.number) === event.key && edit.alone)) choose(segment, Number(event.key));
  else if (Object.hasOwn(ACTIONS, key)) {
    event.preventDefault();
    if (!event.repeat || "jknp".includes(key)) ACTIONS[key](); // a key that is held down decides once
  }
}

/** Read many rows of a run again that another window has decided on together; one by one, thousands take minutes. */
async function readAgain(old) {
  const waiting = new Set(old);
  for (const first of old) {
    if (!waiting.has(first)) continue;
    for (const newer of await ask(`rows/${first.run}/${first.position - 1}`)) {
      const row = byKey.get(keyOf(newer));
      if (!waiting.delete(row) || pending.some((entry) => keyOf(entry) === keyOf(row))) continue;
      takeStatus(newer);
      details.delete(keyOf(row));
    }
  }
  change({});
  showProgress();
}

/** See what other windows decided meanwhile. */
async function poll() {
  try {
    const versions = await ask("versions");
    const known = JSON.stringify(versions);
    if (byId("gate").open && known !== gateVersions && !isGateAsked) {
      gateVersions = known;
      showGates();
    }
    for (const [run, ofRun] of versions.entries()) {
      const isOld = (row) => row && row.version !== ofRun[row.position] && !pending.some((entry) => keyOf(entry) === keyOf(row));
      const old = Object.keys(ofRun).map((position) => byKey.get(keyOf({ run, position }))).filter(isOld);
      if (old.length > PAGE) await readAgain(old.filter((row) => row !== current));
      for (const row of old) {
        if (!isOld(row)) continue;
        if (row === current && writing) continue; // the conflict is told when the text is saved
        const shownSegment = row === current ? readableSegment() : null;
        const shownEdit = shownSegment && target(shownSegment);
        details.delete(keyOf(row));
        const newest = await fetched(row);
        // The next key is for what is on the screen, which may be another segment by now.
        if (shownEdit && row === current && !newest.decision) chosen ??= shownEdit.number;
        refresh(row);
        if (row === current) announce("This segment was decided on in another window");
      }
    }
    await adopt();
  } catch (error) {
    explain(error);
  }
  setTimeout(poll, POLL);
}

/** Read the next rows; false at the end. */
async function readPart() {
  while (readRun < runs.length) {
    const part = await ask(`rows/${readRun}/${readUpTo}`);
    arrived.push(...part);
    if (part.length > 0) {
      readUpTo = part.at(-1).position;
      return true;
    }
    [readRun, readUpTo] = [readRun + 1, -1];
  }
  return false;
}

/** Rows with texts that were written and not saved are read first. */
async function readDrafts() {
  for (const [run, name] of runs.entries()) {
    for (const draft of Object.keys(localStorage).filter((key) => key.startsWith(`draft/${store}/${name}/`))) {
      const [row] = await ask(`rows/${run}/${Number(draft.split("/").at(-2)) - 1}`);
      if (row) arrived.push(row);
    }
  }
}

/** Put the rows that have arrived in their places in the queue. */
function showArrived() {
  for (const row of arrived) {
    if (byKey.has(keyOf(row))) continue;
    byKey.set(keyOf(row), row);
    rows.push(row);
  }
  hasNewRows ||= arrived.length > 0;
  arrived = [];
  rows.sort((a, b) => b.worth - a.worth || a.run - b.run || a.position - b.position);
  const { id } = document.activeElement ?? document.body;
  setUpFilters();
  change({});
  showProgress();
  if (id.startsWith("filter-")) byId(id)?.focus();
}

/** Read all other rows. The queue is shown again each time that it has doubled, and at the end. */
async function readOn() {
  try {
    while (await readPart()) if (arrived.length >= rows.length) showArrived();
    isComplete = true;
    showArrived();
    if (!current && matching.length > 0) open(matching[0]);
    await adopt();
    document.documentElement.dataset.complete = String(Math.round(performance.now()));
  } catch (error) {
    explain(error);
    setTimeout(readOn, RETRY);
  }
}

/** What the decisions so far are worth to the gate; requested when that part is opened, and after decisions while it is. */
async function showGates() {
  if (!byId("gate").open || isGateAsked) return;
  isGateAsked = true;
  const gates = await ask("gates").catch(explain);
  isGateAsked = false;
  if (!Array.isArray(gates)) return;
  byId("gates").replaceChildren(...gates.map(({ run, paragraphs, commands }) => element(
    "div", {}, paragraphs.map((words, index) => element("p", { class: "small", dir: "auto" }, gates.length > 1 && index === 0 && `${run}: `, words)),
    element("pre", { tabindex: 0, "aria-label": "Commands" }, commands.join("\n")),
  )));
}

async function begin() {
  const address = location.hash.slice(1);
  if (hasFilters(address)) state = stateIn(address);
  token = (isSecret(address) && address) || sessionStorage.getItem("token") || "";
  history.replaceState(null, "", location.pathname); // the token does not stay in the history
  setUpTheme();
  try {
    ({ token } = await ask("enter", undefined, "POST"));
    sessionStorage.setItem("token", token);
    const queue = await ask("queue");
    [runs, total, changed, store] = [queue.runs, queue.segments, queue.changed, queue.store];
    await readDrafts();
    await readPart();
  } catch (error) {
    byId("segment-title").textContent = "Not here";
    explain(error);
    return;
  }
  byId("runs").textContent = runs.join(", ");
  document.title = `${runs.join(", ")}: mtagent review`;
  keep();
  byId("queue").open = !phone.matches;
  showArrived();
  navigator.locks.request(mine, () => new Promise((resolve) => { letGo = resolve; }));
  await adopt();
  const first = matching.find((row) => localStorage.getItem(draftOf(row)) !== null) ?? matching.find((row) => row.decided !== "all") ?? matching[0];
  if (first) await open(first);
  else byId("segment-title").textContent = "There is no segment";
  if (first && localStorage.getItem(draftOf(first)) !== null) write();
  hasNewRows = false;
  if (state.sort === "labels") readRanks();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
  readOn();
  setTimeout(poll, POLL);
}

for (const button of byId("actions").querySelectorAll("[data-key]")) {
  button.addEventListener("click", () => {
    byId("whole").hidePopover(); // as it is on a phone
    ACTIONS[button.dataset.key]();
  });
}
byId("keys").addEventListener("click", ACTIONS["?"]);
byId("left").addEventListener("click", goToErrorsLeft);
byId("gate").addEventListener("toggle", showGates);
byId("queue").addEventListener("toggle", () => list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" }));
byId("letters").checked = localStorage.getItem("letters") !== "off";
byId("letters").addEventListener("change", (event) => localStorage.setItem("letters", event.target.checked ? "on" : "off"));
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("decide-all").addEventListener("click", askAll);
for (const verdict of ["accept", "reject"]) byId(`${verdict}-all`).addEventListener("click", () => decideAll(verdict));
addEventListener("hashchange", () => {
  const address = location.hash.slice(1);
  if (hasFilters(address)) change(stateIn(address));
  else if (isSecret(address)) location.reload(); // a new server's
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address keeps the filters
  byId("segment").focus();
});
byId("clear").addEventListener("click", () => { change(DEFAULTS); search.focus(); });
search.addEventListener("input", () => change({ q: search.value }));
phone.addEventListener("change", () => { byId("queue").open = !phone.matches; });
document.addEventListener("keydown", onKey);
document.addEventListener("visibilitychange", () => { shownSince = performance.now(); });
begin();
