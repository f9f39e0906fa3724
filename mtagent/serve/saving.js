// The way to the server, and decisions that wait to be saved. One that is not saved yet is kept in the browser's storage,
// and goes to the server as soon as that answers; what another window was faster with is a conflict for people to settle.

const RETRY = 2000;
const GONE = "The server does not answer. Your decisions are kept in this browser, and saved when it runs again: open the address that it prints then.";
let token = "";
let pending = []; // decisions that are not saved yet, oldest first
let sending = false;
const details = new Map(); // segments as the server last showed them
const conflicts = new Map(); // what could not be saved because another window was first

// --- the server

class Refusal extends Error {
  constructor(status, answer) {
    super(answer?.error ?? `the server answered ${status}`);
    Object.assign(this, { status, answer });
  }
}

async function ask(path, body, method = body === undefined ? "GET" : "POST") {
  const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "content-type": "application/json" }) };
  const response = await fetch(`/api/${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) })
    .catch(() => { throw new Refusal(0, { error: GONE }); });
  const answer = await response.json().catch(() => null);
  if (response.ok && answer === null) throw new Refusal(0, { error: GONE }); // it ended while it answered
  if (!response.ok) throw new Refusal(response.status, answer);
  if (trouble === 0 || trouble >= 500) problem("");
  return answer;
}

let trouble = null; // the status with which the server refused, as long as that is shown

function problem(words, status = null) {
  trouble = status;
  const place = byId("problem");
  if (place.textContent !== words) place.textContent = words;
  place.hidden = words === "";
}

/** What went wrong, said where people see it. Whether it may go well another time. */
function explain(error) {
  if (!(error instanceof Refusal)) throw error;
  problem(error.status === 403 ? `${error.message}. What is not saved is kept in this browser.` : error.message, error.status);
  return error.status === 0 || error.status === 403 || error.status >= 500;
}

/** A segment as the server has it, asked for once. */
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
  const key = keyOf(segment);
  details.set(key, segment);
  const { text, version, decided, verdict, findings } = segment;
  Object.assign(byKey.get(key), { text, version, decided, verdict, findings, haystack: undefined });
  return segment;
}

// --- decisions that wait: a window's own list in the browser's storage, which another takes over when its window died

const mine = `pending/${crypto.randomUUID()}`;

let sayLater = 0;

function keep() {
  const kept = [...pending, ...[...conflicts.values()].flat()];
  if (kept.length === 0) localStorage.removeItem(mine);
  else localStorage.setItem(mine, JSON.stringify(kept.map((entry) => ({ ...entry, name: runs[entry.run] }))));
  document.documentElement.dataset.pending = String(pending.length);
  clearTimeout(sayLater); // usually all is saved before anybody could read that it is not
  sayLater = setTimeout(() => {
    const words = pending.length === 0 ? "All saved" : `${counted(pending.length, "decision")} not saved yet`;
    if (byId("saved").textContent !== words) byId("saved").textContent = words;
  }, 500);
}

let letGo = () => {}; // of this window's list, which another window may then take over

async function adopt() {
  for (const key of Object.keys(localStorage).filter((name) => name.startsWith("pending/") && name !== mine)) {
    await navigator.locks.request(key, { ifAvailable: true }, (lock) => {
      if (lock === null) return; // its window lives
      const here = (entry) => byKey.has(keyOf({ run: runs.indexOf(entry.name), position: entry.position }));
      const entries = JSON.parse(localStorage.getItem(key) ?? "[]");
      pending.push(...entries.filter(here).map((entry) => ({ ...entry, run: runs.indexOf(entry.name) })));
      keep();
      const others = entries.filter((entry) => !here(entry)); // of a review of other runs
      if (others.length === 0) localStorage.removeItem(key);
      else localStorage.setItem(key, JSON.stringify(others));
    });
  }
  if (pending.length > 0) await send();
}

const isThere = (segment, { edit, verdict, text }) => {
  const there = edit === null ? segment.decision : segment.edits.find((item) => item.number === edit)?.decision;
  return (there?.verdict ?? "undecided") === verdict && (there?.text ?? null) === (text ?? null);
};

async function send() {
  if (sending) return;
  sending = true;
  while (pending.length > 0) {
    const entry = pending[0];
    const others = () => pending.filter((other) => other !== entry && keyOf(other) === keyOf(entry));
    try {
      const { name, ...body } = entry;
      const segment = take(await ask("decide", body));
      pending.shift();
      for (const other of others()) [other.version, other.seen] = [segment.version, segment.seen];
      saved(segment);
    } catch (error) {
      if (!(error instanceof Refusal)) {
        sending = false;
        throw error;
      }
      if (error.status === 409) {
        const segment = take(error.answer.segment);
        if (isThere(segment, entry)) { // it was written, and only the answer was lost
          pending.shift();
          for (const other of others()) other.version = segment.version;
        } else {
          const wanted = [entry, ...others()];
          pending = pending.filter((other) => !wanted.includes(other));
          conflicts.set(keyOf(segment), wanted);
          showConflicts();
        }
        saved(segment);
      } else if (explain(error)) {
        keep();
        if (error.status === 403) return letGo(); // the server is another one by now, and has opened another page
        setTimeout(() => { sending = false; send(); }, RETRY);
        return;
      } else {
        pending.shift();
        details.delete(keyOf(entry));
        if (current && keyOf(current) === keyOf(entry)) open(current);
      }
    }
    keep();
  }
  sending = false;
}

/** Show a segment anew after it was saved; decisions that still wait stay visible. */
function saved(segment) {
  for (const entry of pending) if (keyOf(entry) === keyOf(segment)) mark(segment, entry);
  refresh(byKey.get(keyOf(segment)));
}

function refresh(row) {
  const item = list.querySelector(`[data-key="${keyOf(row)}"]`);
  item?.closest("li").replaceWith(listed(row));
  showProgress();
  if (row === current && !writing) show(details.get(keyOf(row)));
}

/** Enter a decision into what is shown, before it is saved. */
function mark(segment, { edit, verdict, text = null }) {
  const decision = verdict === "undecided" ? null : { verdict, text, waiting: true };
  if (edit === null) segment.decision = decision;
  else segment.edits.find((item) => item.number === edit).decision = decision;
  const row = byKey.get(keyOf(segment));
  const alone = segment.edits.filter((item) => item.alone);
  const done = segment.decision || (!segment.only_whole && alone.length > 0 && alone.every((item) => item.decision));
  row.decided = done ? "all" : alone.some((item) => item.decision) ? "some" : "no";
  row.verdict = verdict === "undecided" ? null : verdict;
}

// --- conflicts

function showConflicts() {
  const links = [...conflicts.keys()].map((key) => byKey.get(key)).map((row) => buttonOf(() => open(row, { focus: true }), { class: "quiet" }, `Segment ${nameOf(row)}`));
  byId("conflicts").replaceChildren("Decided on in another window first, so that yours is not saved: ", ...links);
  byId("conflicts").hidden = links.length === 0;
}

/** What this window wanted, and another one was faster. */
function conflictPart(segment) {
  const wanted = conflicts.get(keyOf(segment));
  if (!wanted) return false;
  const end = (save) => {
    conflicts.delete(keyOf(segment));
    showConflicts();
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
    element("ul", {}, wanted.map(({ edit, verdict, text }) => element("li", {}, `${edit === null ? "segment" : `edit ${edit}`}: ${SAID[verdict]}`, text !== undefined && [" ", quoted(text, segment.chain.target_lang)]))),
    element("p", { class: "buttons" }, buttonOf(() => end(true), {}, "Save mine all the same"), " ", buttonOf(() => end(false), {}, "Leave it as it is")),
  );
}
