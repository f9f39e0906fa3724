// What changed between two texts: words where the language has spaces, else characters as people count them.

const SPACELESS = /^(zh|ja|yue|th|lo|km|my|bo|dz|wuu)\b/;
const LONG = 20000; // from here on, words are simply what stands between spaces: segmenting a megabyte takes seconds
const MOST_CHANGES = 600; // beyond, the middle counts as replaced: nobody reads such a difference word by word

const segmenters = new Map();

function segmenter(language, granularity) {
  const key = `${language} ${granularity}`;
  if (!segmenters.has(key)) segmenters.set(key, makeSegmenter(language, granularity));
  return segmenters.get(key);
}

function makeSegmenter(language, granularity) {
  if (!Intl.Segmenter) return null;
  try {
    return new Intl.Segmenter(language, { granularity });
  } catch {
    return new Intl.Segmenter(undefined, { granularity }); // a language code that the browser does not know
  }
}

/** The pieces that a difference is made of. None of them ends inside a character with its combining marks. */
function tokens(text, language, coarse) {
  if (coarse) return text.match(/\s+|\S+/gu) ?? [];
  const found = segmenter(language, SPACELESS.test(language) ? "grapheme" : "word");
  if (found === null) return text.match(/\s+|[\p{L}\p{N}\p{M}\u200c\u200d]+|\P{M}\p{M}*/gu) ?? [];
  return Array.from(found.segment(text), (piece) => piece.segment);
}

/** Parts ``{kind: "same" | "deleted" | "inserted", text}`` that lead from ``before`` to ``after``. */
function differences(before, after, language) {
  if (before === after) return before === "" ? [] : [{ kind: "same", text: before }];
  const coarse = Math.max(before.length, after.length) > LONG; // both alike, or else every comma differs
  const a = tokens(before, language, coarse);
  const b = tokens(after, language, coarse);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const middle = shortestScript(a.slice(start, a.length - end), b.slice(start, b.length - end));
  return tidied([["same", a.slice(0, start)], ...middle, ["same", a.slice(a.length - end)]]);
}

/** Myers' greedy algorithm (1986): the fewest deletions and insertions, as pairs of kind and tokens. */
function shortestScript(a, b) {
  const trace = furthestReaching(a, b);
  if (trace === null) return [["deleted", a], ["inserted", b]];
  const found = [];
  let x = a.length;
  let y = b.length;
  for (let changes = trace.length - 1; changes >= 0; changes -= 1) {
    const reached = trace[changes];
    const k = x - y;
    const down = k === -changes || (k !== changes && reach(reached, k - 1) < reach(reached, k + 1));
    const fromK = down ? k + 1 : k - 1;
    const fromX = changes === 0 ? 0 : reach(reached, fromK);
    const fromY = changes === 0 ? 0 : fromX - fromK;
    while (x > fromX && y > fromY && a[x - 1] === b[y - 1]) {
      found.push(["same", [a[x - 1]]]);
      x -= 1;
      y -= 1;
    }
    if (changes > 0) found.push(down ? ["inserted", [b[y - 1]]] : ["deleted", [a[x - 1]]]);
    x = fromX;
    y = fromY;
  }
  return found.reverse();
}

function reach(reached, k) {
  return reached.get(k) ?? -1;
}

/** For each number of changes, how far each diagonal reached before it; null where there are too many changes. */
function furthestReaching(a, b) {
  const trace = [];
  const reached = new Map([[1, 0]]);
  for (let changes = 0; changes <= Math.min(a.length + b.length, MOST_CHANGES); changes += 1) {
    trace.push(new Map([...reached].filter(([k]) => Math.abs(k) <= changes + 1)));
    for (let k = -changes; k <= changes; k += 2) {
      const down = k === -changes || (k !== changes && reach(reached, k - 1) < reach(reached, k + 1));
      let x = down ? reach(reached, k + 1) : reach(reached, k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reached.set(k, x);
      if (x >= a.length && x - k >= b.length) return trace;
    }
  }
  return null;
}

/** Runs of one kind as one part, deletions before insertions; a lone space between two changes belongs to them. */
function tidied(script) {
  const groups = [];
  for (const [kind, pieces] of script) {
    if (pieces.length === 0) continue;
    const last = groups.at(-1);
    if (kind === "same" && last?.kind === "same") last.text += pieces.join("");
    else if (kind === "same") groups.push({ kind, text: pieces.join("") });
    else if (last?.kind === "change") last[kind] += pieces.join("");
    else groups.push({ kind: "change", deleted: "", inserted: "", [kind]: pieces.join("") });
  }
  return joined(groups).flatMap(asParts);
}

function joined(groups) {
  const found = [];
  for (const group of groups) {
    const space = found.at(-1);
    const former = found.at(-2);
    const bridges = group.kind === "change" && space?.kind === "same" && former?.kind === "change" && /^[ \u00a0]+$/.test(space.text);
    if (bridges && isReplacement(former) && isReplacement(group)) {
      found.splice(-2, 2, {
        kind: "change",
        deleted: former.deleted + space.text + group.deleted,
        inserted: former.inserted + space.text + group.inserted,
      });
    } else {
      found.push(group);
    }
  }
  return found;
}

function isReplacement(group) {
  return group.deleted !== "" && group.inserted !== "";
}

function asParts(group) {
  if (group.kind === "same") return [group];
  const parts = ["deleted", "inserted"].map((kind) => ({ kind, text: group[kind], other: group[kind === "deleted" ? "inserted" : "deleted"] }));
  return parts.filter((part) => part.text !== "");
}
