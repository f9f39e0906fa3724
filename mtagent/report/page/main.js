// The page at work: reads the data, keeps filters, list and address together, listens to keys.

const began = performance.now();
const data = JSON.parse(document.getElementById("data").textContent);
const segments = data.segments.map((segment, position) => prepared(segment, position, data));
const [form, list, pages, hits, clear, search] = ["filters", "list", "pages", "hits", "clear", "filter-q"].map((id) => document.getElementById(id));
let state = { ...DEFAULTS };
let found = segments;

const CHOICES = [
  ["change", "Result", CHANGES, (segment) => Object.keys(CHANGES).filter((name) => CHANGE_TESTS[name](segment))],
  ["stage", "Stage", STAGES, factsNamed("stage")],
  ["verdict", "Decision", VERDICTS, factsNamed("verdict")],
  ["outcome", "Outcome of an edit", OUTCOMES, factsNamed("outcome")],
  ["severity", "Severity", null, factsNamed("severity")],
  ["category", "Category of an error", null, factsNamed("category")],
  ["domain", "Domain", null, (segment) => [segment.domain]],
  ["document", "Document", null, (segment) => [segment.document]],
  ["pair", "Languages", null, (segment) => [segment.pair]],
];

function factsNamed(name) {
  return (segment) => [...new Set(segment.facts.flatMap((facts) => [...facts[name]]))];
}

/** How many segments have each value; in the order of the words given, else the most frequent first. */
function frequencies(values, words) {
  const counts = new Map();
  for (const segment of segments) {
    for (const value of values(segment)) if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const names = words ? Object.keys(words).filter((name) => counts.has(name)) : [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  return names.map((name) => [name, counts.get(name)]);
}

function choice(name, label, options) {
  const select = element("select", { id: `filter-${name}`, name }, options);
  select.addEventListener("change", () => change({ [name]: select.value }));
  return element("div", {}, element("label", { for: `filter-${name}` }, label), select);
}

/** A filter with one value only tells nothing apart, and is left out. */
function setUpChoices() {
  const place = document.getElementById("choices");
  for (const [name, label, words, values] of CHOICES) {
    const counts = frequencies(values, words);
    const useful = counts.length > 1 || (counts.length === 1 && counts[0][1] < segments.length);
    if (!useful) continue;
    const options = counts.map(([value, count]) => element("option", { value }, `${words?.[value] ?? value} (${count.toLocaleString("en")})`));
    place.append(choice(name, label, [element("option", { value: ANY }, "any"), ...options]));
  }
  const orders = Object.entries(ORDERS).filter(([name]) => data.deciding !== null || !["loss", "gain"].includes(name));
  place.append(choice("sort", "Order", orders.map(([value, label]) => element("option", { value }, label))));
}

/** Take over a new state: from the address, or from a filter that was just used. */
function change(changes) {
  state = { ...state, page: "1", segment: "", ...changes };
  found = filtered(segments, state);
  showOpened();
  render();
  remember();
}

function remember() {
  history.replaceState(null, "", location.pathname + location.search + hashOf(state));
}

/** Where the address names a segment, turn to the page that has it. */
function showOpened() {
  const index = state.segment === "" ? -1 : found.findIndex((segment) => segment.id === state.segment);
  if (index >= 0) state.page = String(Math.floor(index / PAGE) + 1);
}

function render() {
  const last = Math.max(1, Math.ceil(found.length / PAGE));
  const page = Math.min(last, Math.max(1, Number.parseInt(state.page, 10) || 1));
  state.page = String(page); // an address may name a page that there is not
  const shownNow = found.slice((page - 1) * PAGE, page * PAGE);
  list.replaceChildren(...shownNow.map((segment) => rowOf(segment, data, (row, open) => toggle(row, open))));
  list.start = (page - 1) * PAGE + 1;
  fillPages(pages, page, last, (target) => turnTo(target));
  showState(page);
  const opened = shownNow.findIndex((segment) => segment.id === state.segment);
  if (opened >= 0) setOpen(list.children[opened], true, shownNow[opened], data);
}

/** The filters as the state has them, and how many segments there are. */
function showState(page) {
  if (search.value !== state.q) search.value = state.q;
  for (const select of form.querySelectorAll("select")) {
    select.value = state[select.name];
    select.classList.toggle("set", state[select.name] !== DEFAULTS[select.name]);
  }
  const all = found.length === segments.length;
  const count = all ? counted(found.length, "segment") : `${found.length.toLocaleString("en")} of ${counted(segments.length, "segment")}`;
  const text = found.length === 0 ? "No segment is like that" : count + (found.length > PAGE ? `, page ${page}` : "");
  if (hits.textContent !== text) hits.textContent = text;
  clear.hidden = all && state.sort === DEFAULTS.sort && state.q === "";
}

function turnTo(page) {
  state = { ...state, page: String(page), segment: "" };
  render();
  remember();
  focusOn(openers()[0]);
}

function segmentOf(row) {
  return segments[Number(row.querySelector(".opener").dataset.position)];
}

function toggle(row, open) {
  const segment = segmentOf(row);
  setOpen(row, open, segment, data);
  state.segment = open ? segment.id : "";
  remember();
}

function openers() {
  return [...list.querySelectorAll(".opener")];
}

function focusOn(opener) {
  opener?.focus({ preventScroll: true });
  opener?.scrollIntoView({ block: opener.getAttribute("aria-expanded") === "true" ? "start" : "nearest" });
}

/** The next or previous row; over the end of a page to the next page. */
function step(by) {
  const all = openers();
  const row = document.activeElement?.closest?.(".segment");
  const current = row ? all.indexOf(row.querySelector(".opener")) : by > 0 ? -1 : all.length;
  const next = all[current + by];
  const page = Number.parseInt(state.page, 10) + by;
  if (next) focusOn(next);
  else if (page >= 1 && (page - 1) * PAGE < found.length) {
    turnTo(page);
    if (by < 0) focusOn(openers().at(-1));
  }
}

function close(hideTip) {
  hideTip();
  const row = document.activeElement?.closest?.(".segment") ?? list.querySelector('.segment:has([aria-expanded="true"])');
  if (document.activeElement === search && search.value !== "") change({ q: "" });
  else if (row?.querySelector('[aria-expanded="true"]')) {
    toggle(row, false);
    focusOn(row.querySelector(".opener"));
  }
}

function onKey(event, hideTip) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape") {
    close(hideTip);
    return;
  }
  if (event.target.closest?.("input, select, textarea")) return;
  const inList = event.target.closest?.(".opener");
  const moves = { j: 1, k: -1, ...(inList ? { ArrowDown: 1, ArrowUp: -1 } : {}) };
  if (event.key === "/") search.focus();
  else if (event.key in moves) step(moves[event.key]);
  else return;
  event.preventDefault();
}

/** Ways from the verdict to the segments that it is about. */
function setUpShortcuts() {
  const place = document.getElementById("shortcuts");
  const counts = [
    ["worse", "change=worse&sort=loss", "got worse"], ["better", "change=better&sort=gain", "got better"],
    ["changed", "change=changed", "changed"], ["flagged", "change=flagged", "flagged"], ["failed", "change=failed", "failed"],
  ].map(([name, hash, words]) => [segments.filter(CHANGE_TESTS[name]).length, hash, words]);
  const rejected = segments.filter((segment) => segment.facts.some((facts) => facts.verdict.has("rejected"))).length;
  counts.splice(3, 0, [rejected, "verdict=rejected", "with a rejected change"]);
  const links = counts.filter(([count]) => count > 0).map(([count, hash, words]) => element("a", { href: `#${hash}` }, `${count.toLocaleString("en")} ${words}`));
  place.replaceChildren("Show: ", ...links);
  place.hidden = links.length === 0;
}

function setUpTheme() {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = isDark() ? "Light colours" : "Dark colours"; };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();
  button.hidden = false;
}

function toSegments() {
  const section = document.getElementById("segments");
  section.scrollIntoView();
  section.focus({ preventScroll: true });
}

/** An address that somebody typed, followed or got sent. The skip link's own address is none. */
function follow() {
  if (location.hash !== "#segments") change({ ...DEFAULTS, ...stateOf(location.hash) });
  const opened = list.querySelector('[aria-expanded="true"]');
  if (opened) focusOn(opened);
  else if (location.hash.length > 1) toSegments();
}

function start() {
  const hideTip = setUpTip(document.getElementById("tip"), list);
  for (const id of ["filters", "keys"]) document.getElementById(id).hidden = false;
  document.getElementById("more-filters").open = innerWidth >= 768;
  setUpChoices();
  setUpShortcuts();
  setUpTheme();
  search.addEventListener("input", () => change({ q: search.value }));
  form.addEventListener("submit", (event) => event.preventDefault());
  clear.addEventListener("click", () => { change(DEFAULTS); search.focus(); });
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); toSegments(); });
  document.addEventListener("keydown", (event) => onKey(event, hideTip));
  addEventListener("hashchange", follow);
  follow();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
  document.documentElement.dataset.started = String(Math.round(performance.now() - began));
}

start();
