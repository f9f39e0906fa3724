// Which segments are shown, and in which order. The state is plain strings, so that it fits into the page's address.

const ANY = "";
const STEP_FILTERS = ["stage", "verdict", "outcome", "severity", "category"];
const FIELD_FILTERS = ["domain", "document", "pair"];
const CHANGES = {
  worse: "got worse",
  better: "got better",
  changed: "changed",
  same: "not changed",
  flagged: "flagged",
  failed: "failed",
};
const ORDERS = {
  position: "order of the run",
  loss: "lost most first",
  gain: "gained most first",
  cost: "most expensive first",
  edits: "most edits first",
  time: "slowest first",
};

/** What the filters and the rows need of a segment beside its own fields; computed once, when the page opens. */
function prepared(segment, position, data) {
  const steps = segment.steps ?? [];
  const usages = steps.map((step) => step.usage);
  Object.assign(segment, {
    position,
    steps,
    pair: `${segment.source_lang} → ${segment.target_lang}`,
    gain: gainOf(segment, data),
    final: finalText(segment, steps),
    cost: usages.some((usage) => usage[4] === null) ? null : sum(usages.map((usage) => usage[4])),
    tokens: sum(usages.map((usage) => usage[2] + usage[3])),
    calls: sum(usages.map((usage) => usage[0])),
    seconds: sum(steps.map((step) => step.seconds)),
    edited: sum(steps.map((step) => step.edits?.length ?? 0)),
    facts: steps.map(factsOf),
  });
  segment.worst = SEVERITIES.find((severity) => segment.facts.some((facts) => facts.severity.has(severity))) ?? null;
  return segment;
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

/** By how much the segment's own score is better than at first; null where it is not scored. */
function gainOf(segment, data) {
  const scores = data.deciding === null ? null : segment.scores?.[data.deciding];
  if (!scores || scores[data.first] === null || scores[data.last] === null) return null;
  const difference = scores[data.last] - scores[data.first];
  return Math.abs(difference) < 1e-9 ? 0 : data.metrics[data.deciding].higher ? difference : -difference;
}

/** The last accepted text; a step that left it as it was brings none. */
function finalText(segment, steps) {
  return steps.reduce((text, step) => step.text ?? text, segment.given ?? null);
}

function factsOf(step) {
  const errors = (step.ratings ?? []).flatMap((rating) => rating.errors ?? []);
  return {
    stage: new Set([step.stage]),
    verdict: new Set([step.verdict]),
    outcome: new Set((step.edits ?? []).map((edit) => edit.outcome)),
    severity: new Set(errors.map((error) => error.severity)),
    category: new Set(errors.map((error) => error.category)),
  };
}

/** For comparing texts: without case, and with composed and decomposed letters alike. Diacritics count. */
function folded(text) {
  return text.normalize("NFC").toLowerCase();
}

function haystack(segment) {
  if (segment.haystack === undefined) {
    const texts = segment.steps.flatMap((step) => [step.text, step.proposed, step.compared]);
    const all = [segment.id, segment.source, segment.given, segment.reference, segment.notes, segment.context, ...texts];
    segment.haystack = folded(all.filter((text) => text !== undefined && text !== null).join("\n\u0000\n"));
  }
  return segment.haystack;
}

const CHANGE_TESTS = {
  worse: (segment) => segment.gain !== null && segment.gain < 0,
  better: (segment) => segment.gain !== null && segment.gain > 0,
  changed: (segment) => segment.changed === true,
  same: (segment) => !segment.changed,
  flagged: (segment) => segment.flags !== undefined,
  failed: (segment) => segment.failed === true,
};

/** Whether a segment is shown. What is asked of a stage must all hold for one and the same step. */
function matches(segment, state, needle) {
  if (needle !== "" && !haystack(segment).includes(needle)) return false;
  if (state.change !== ANY && !(Object.hasOwn(CHANGE_TESTS, state.change) && CHANGE_TESTS[state.change](segment))) return false;
  if (FIELD_FILTERS.some((name) => state[name] !== ANY && segment[name] !== state[name])) return false;
  const asked = STEP_FILTERS.filter((name) => state[name] !== ANY);
  return asked.length === 0 || segment.facts.some((facts) => asked.every((name) => facts[name].has(state[name])));
}

/** Where a price is unknown, tokens tell what is expensive. */
function expense(segment, byTokens) {
  return byTokens ? segment.tokens : segment.cost;
}

function ordered(segments, order) {
  const byTokens = segments.some((segment) => segment.cost === null);
  const unknownLast = (value) => value ?? -Infinity;
  const keys = {
    loss: (segment) => unknownLast(segment.gain === null ? null : -segment.gain),
    gain: (segment) => unknownLast(segment.gain),
    cost: (segment) => expense(segment, byTokens),
    edits: (segment) => segment.edited,
    time: (segment) => segment.seconds,
  };
  const key = Object.hasOwn(keys, order) ? keys[order] : null; // an address may name anything
  return key ? [...segments].sort((a, b) => key(b) - key(a) || a.position - b.position) : segments;
}

function filtered(segments, state) {
  const needle = folded(state.q);
  return ordered(segments.filter((segment) => matches(segment, state, needle)), state.sort);
}

const DEFAULTS = Object.freeze({
  q: "", ...Object.fromEntries([...STEP_FILTERS, ...FIELD_FILTERS, "change"].map((name) => [name, ANY])), sort: "position", page: "1", segment: "",
});

/** The state that an address holds; what it does not know is left out. */
function stateOf(hash) {
  const read = new URLSearchParams(hash.replace(/^#/, ""));
  return Object.fromEntries(Object.entries(DEFAULTS).map(([name, usual]) => [name, read.get(name) ?? usual]));
}

function hashOf(state) {
  const said = Object.entries(state).filter(([name, value]) => value !== DEFAULTS[name]);
  return said.length === 0 ? "" : "#" + new URLSearchParams(said);
}
