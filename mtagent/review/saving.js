// Requests to the server, and decisions that wait to be saved. A decision that is not saved yet is kept in the browser's
// storage and sent as soon as the server answers. If another window was faster, people settle the conflict.

const RETRY = 2000;
const FINAL = [400, 410, 413, 422]; // answers that stay the same if the request is repeated
const GONE = "The server does not answer. When it runs again, open the address that it prints. Until then this browser keeps your decisions.";
let token = "";
let pending = []; // decisions that are not saved yet, oldest first
let sending = false;
const details = new Map(); // segments as the server last showed them
const conflicts = new Map(); // what could not be saved because another window was first
const written = new Map(); // this window's decisions by their keys: their numbers in the store

// --- the server

class Refusal extends Error {
  constructor(status, answer) {
    super(answer?.error ?? `the server answered ${status}`);
    Object.assign(this, { status, answer, isFinal: FINAL.includes(status) });
  }
}

async function ask(path, body, method = body === undefined ? "GET" : "POST") {
  const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "content-type": "application/json" }) };
  const response = await fetch(`/api/${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) })
    .catch(() => { throw new Refusal(0, { error: GONE }); });
  const answer = await response.json().catch(() => null);
  if (response.ok && answer === null) throw new Refusal(0, { error: GONE }); // it ended while it answered
  if (!response.ok) throw Object.assign(new Refusal(response.status, answer), { path });
  if (trouble?.status === 0 || (trouble?.path === path && !trouble.isFinal)) problem("");
  return answer;
}

let trouble = null; // the refusal that is shown

function problem(words, refusal = null) {
  trouble = refusal;
  const place = byId("problem");
  if (place.textContent !== words) place.textContent = words;
  place.hidden = words === "";
}

/** Show people what went wrong. */
function explain(error) {
  if (!(error instanceof Refusal)) throw error;
  const waiting = error.status === 403 || (error.status > 0 && error.path === "decide" && !error.isFinal);
  problem(error.message + (waiting ? ". What is not saved is kept in this browser." : ""), error);
}

/** A segment as the server has it; it is requested once. */
async function fetched(row) {
  const key = keyOf(row);
  if (!details.has(key)) {
    details.set(key, ask(`segments/${row.run}/${row.position}`).then((segment) => take(segment), (error) => {
      details.delete(key);
      throw error;
    }));
  }
  return details.get(key);
}

/** Take over a segment as the server has it. */
function take(segment) {
  details.set(keyOf(segment), segment);
  takeStatus(segment);
  return segment;
}

/** Enter what was decided on a segment into its row. */
function takeStatus({ run, position, text, text_codes, seen, version, decided, verdict, findings }) {
  Object.assign(byKey.get(keyOf({ run, position })), { text, text_codes, seen, version, decided, verdict, findings, haystack: undefined });
}

// --- decisions that wait
// Each window has a list in the browser's storage. If a window crashes, another one takes its list over.

const mine = `pending/${crypto.randomUUID()}`;

let sayLater = 0;
const unsaved = () => [...pending, ...[...conflicts.values()].flat()];

function remember(name, text) {
  try {
    if (text === null) localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    problem("This browser keeps no more text: what is not saved is lost when the page is closed.");
  }
}

function keep() {
  const kept = unsaved();
  remember(mine, kept.length === 0 ? null : JSON.stringify(kept.map((entry) => ({ ...entry, store, name: runs[entry.run] }))));
  document.documentElement.dataset.pending = String(pending.length);
  clearTimeout(sayLater); // usually all is saved before anybody could read that it is not
  sayLater = setTimeout(() => {
    const words = kept.length === 0 ? "All saved" : `${counted(kept.length, "decision")} not saved yet`;
    byId("saved").dataset.count = String(kept.length);
    if (byId("saved").textContent !== words) byId("saved").textContent = words;
  }, 500);
}

let letGo = () => {}; // of this window's list, which another window may then take over

async function adopt() {
  for (const key of Object.keys(localStorage).filter((name) => name.startsWith("pending/") && name !== mine)) {
    await navigator.locks.request(key, { ifAvailable: true }, (lock) => {
      if (lock === null) return; // its window lives
      const here = (entry) => entry.store === store && byKey.has(keyOf({ run: runs.indexOf(entry.name), position: entry.position }));
      const entries = JSON.parse(localStorage.getItem(key) ?? "[]");
      pending.push(...entries.filter(here).map((entry) => ({ ...entry, run: runs.indexOf(entry.name) })));
      keep();
      const others = entries.filter((entry) => !here(entry)); // of a review of other runs
      remember(key, others.length === 0 ? null : JSON.stringify(others));
    });
  }
  if (pending.length > 0) await send();
}

async function send() {
  if (sending) return;
  sending = true;
  while (pending.length > 0) {
    const entry = pending[0];
    const others = () => pending.filter((other) => other !== entry && keyOf(other) === keyOf(entry));
    try {
      const { store: _, name, key, undoes, former, ...body } = entry;
      const { made, ...segment } = await ask("decide", body);
      pending.shift();
      written.set(key, made);
      for (const other of unsaved()) if (other.undoes === key) other.withdraws = made;
      for (const other of others()) [other.version, other.seen] = [segment.version, segment.seen];
      const row = byKey.get(keyOf(entry));
      const wasDone = row.decided === "all";
      saved(take(segment));
      if (wasDone && row.decided === "some") offerMissing(row);
    } catch (error) {
      if (!(error instanceof Refusal)) {
        sending = false;
        throw error;
      }
      if (error.status === 409) {
        const segment = take(error.answer.segment);
        const wanted = [entry, ...others()];
        pending = pending.filter((other) => !wanted.includes(other));
        setConflict(keyOf(segment), [...(conflicts.get(keyOf(segment)) ?? []), ...wanted]);
        saved(segment);
      } else if (!error.isFinal) {
        explain(error);
        keep();
        if (error.status === 403) return letGo(); // the server is another one by now, and has opened another page
        setTimeout(() => { sending = false; send(); }, RETRY);
        return;
      } else {
        pending = pending.filter((other) => other !== entry && other.undoes !== entry.key);
        refused(entry, error);
      }
    }
    keep();
  }
  sending = false;
}

/** The server will never save it. A text that the person wrote goes back to its field. */
function refused(entry, error) {
  const row = byKey.get(keyOf(entry));
  undoable = undoable.filter((done) => done.key !== entry.key && (error.status !== 410 || done.row !== row));
  details.delete(keyOf(entry));
  explain(error);
  if (error.status === 410) { // it leaves the queue
    problem(`${error.message}; what you decided on it is dropped.`, error);
    setConflict(keyOf(entry), []);
    byKey.delete(keyOf(entry));
    rows = rows.filter((other) => other !== row);
    change({});
    showProgress();
    if (current === row) goOn();
  } else if (entry.edit === null && entry.text !== undefined) {
    remember(draftOf(row), entry.text);
    if (!writing) open(row).then(write);
  } else fetched(row).then(saved).catch(explain);
}

/** Show a segment again after it was saved; decisions that still wait stay visible. */
function saved(segment) {
  for (const entry of pending) if (keyOf(entry) === keyOf(segment)) mark(segment, entry);
  refresh(byKey.get(keyOf(segment)));
}

function refresh(row) {
  const item = list.querySelector(`[data-key="${keyOf(row)}"]`);
  const isFocused = item !== null && item === document.activeElement;
  item?.closest("li").replaceWith(listed(row));
  if (isFocused) list.querySelector(`[data-key="${keyOf(row)}"]`).focus({ preventScroll: true });
  showProgress();
  if (row === current && !writing && details.get(keyOf(row))?.edits) show(details.get(keyOf(row)));
}

/** Whether a decision on the whole only confirms the rejection or the person's text that counts. */
const confirms = (segment, verdict) => verdict === "accept" && ["reject", "text"].includes(segment.decision?.verdict);

/** Enter a decision into what is shown, before it is saved. */
function mark(segment, { edit, verdict, text = null, undoes, former = null }) {
  if (edit === null && confirms(segment, verdict)) return;
  const decision = undoes ? former : verdict === "undecided" ? null : { verdict, text };
  if (edit === null && decision?.verdict === "reject") for (const item of segment.edits) item.decision = null; // hidden
  if (edit === null) segment.decision = decision;
  else segment.edits.find((item) => item.number === edit).decision = decision;
  const row = byKey.get(keyOf(segment));
  const alone = segment.edits.filter((item) => item.alone);
  const done = segment.decision || (!segment.only_whole && alone.length > 0 && alone.every((item) => item.decision));
  row.decided = done ? "all" : alone.some((item) => item.decision) ? "some" : "no";
  const counting = segment.decision ? [segment.decision] : segment.edits.map((item) => item.decision).filter(present);
  const verdicts = new Set(counting.map((other) => other.verdict));
  row.verdict = verdicts.size === 1 ? [...verdicts][0] : null;
}

// --- conflicts

function setConflict(place, entries) {
  const wanted = entries.filter((entry) => !entries.some((other) => other.undoes === entry.key || other.key === entry.undoes));
  if (wanted.length > 0) conflicts.set(place, wanted);
  else conflicts.delete(place);
  const links = [...conflicts.keys()].map((key) => byKey.get(key)).map((row) => buttonOf(() => open(row, { focus: true }), { class: "quiet" }, `Segment ${nameOf(row)}`));
  byId("conflicts").replaceChildren("Decided on in another window first, so that yours is not saved: ", ...links);
  byId("conflicts").hidden = links.length === 0;
}

/** What was decided in this window after another one was faster. */
function conflictPart(segment) {
  const wanted = conflicts.get(keyOf(segment));
  if (!wanted) return false;
  const end = (save) => {
    setConflict(keyOf(segment), []);
    if (!save) undoable = undoable.filter(({ key }) => !wanted.some((entry) => entry.key === key));
    for (const entry of save ? wanted : []) {
      pending.push({ ...entry, version: segment.version, seen: segment.seen });
      mark(segment, entry);
    }
    keep();
    send();
    show(segment);
  };
  return element(
    "section", { class: "conflict", "aria-label": "Conflict" },
    element("p", {}, "Another window decided on this segment first; what you see is the newer state. You wanted:"),
    element("ul", {}, wanted.map(({ edit, verdict, text, undoes }) => element("li", {}, `${edit === null ? "segment" : `edit ${edit}`}: ${undoes ? "undone" : SAID[verdict]}`, text !== undefined && [" ", quoted(text, segment.chain.target_lang)]))),
    element("p", { class: "buttons" }, buttonOf(() => end(true), {}, "Save mine all the same"), " ", buttonOf(() => end(false), {}, "Leave it as it is")),
  );
}
