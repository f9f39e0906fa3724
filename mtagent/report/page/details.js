// What a segment opens to: its texts, each stage with errors, changes, edits and decisions, its scores, what is known.

function detailsOf(segment, data) {
  return element(
    "div",
    { class: "details" },
    texts(segment),
    steps(segment),
    scoresTable(segment, data),
    about(segment),
  );
}

function panel(label, text, language) {
  return element("div", { class: "panel" }, element("h4", {}, label), longBlock(text, language, text.length, label));
}

/** What the segment is about, side by side. A text that is the same as the one before is only said to be so. */
function texts(segment) {
  const target = segment.target_lang;
  const given = segment.given ?? null;
  const found = [panel(`Source (${segment.source_lang})`, segment.source, segment.source_lang)];
  if (given !== null) found.push(panel("Translation as given", given, target));
  if (segment.final === null) found.push(element("p", { class: "small" }, "There is no translation."));
  else if (segment.final !== given) found.push(panel(`Final text (${target})`, segment.final, target));
  if (segment.reference !== undefined) found.push(panel("Reference", segment.reference, target));
  return element("div", { class: "panels" }, found);
}

function steps(segment) {
  let before = segment.given ?? "";
  return segment.steps.map((step, index) => {
    const made = stepPart(segment, step, before, `s${segment.position}-${index}`);
    before = step.text ?? before;
    return made;
  });
}

function stepPart(segment, step, before, id) {
  return element(
    "section",
    { class: `step ${step.verdict}`, "aria-label": STAGES[step.stage] ?? step.stage },
    element("h4", {}, STAGES[step.stage] ?? step.stage, badge(verdictName(step), step.verdict)),
    element("p", { class: "reason", dir: "auto" }, step.reason),
    (step.ratings ?? []).filter((rating) => rating.about === "before").map((rating, n) => ratingPart(segment, rating, before, `${id}-b${n}`)),
    changesPart(segment, step, before),
    editsPart(step),
    (step.ratings ?? []).filter((rating) => rating.about === "after").map((rating, n) => ratingPart(segment, rating, afterText(step, before), `${id}-a${n}`)),
    element("p", { class: "small" }, costLine(step)),
  );
}

/** The text that the judge compared with the one before. */
function afterText(step, before) {
  return step.compared ?? (step.verdict === "kept" ? step.text : step.proposed) ?? before;
}

function changesPart(segment, step, before) {
  const language = segment.target_lang;
  const blocks = [];
  if (step.text !== undefined && step.stage === "translate" && before === "") {
    blocks.push(changeBlock("Translation", [step.text], language, step.text.length));
  } else if (step.text !== undefined) {
    blocks.push(changeBlock("Changes", changeNodes(before, step.text, language), language, step.text.length));
  }
  if (step.compared !== undefined) {
    blocks.push(changeBlock("What the gate decided on", changeNodes(before, step.compared, language), language, step.compared.length));
  }
  if (step.proposed !== undefined) {
    const label = step.verdict === "kept" ? "Proposed, taken in part" : "Proposed, not taken";
    blocks.push(changeBlock(label, changeNodes(before, step.proposed, language), language, step.proposed.length));
  }
  return blocks;
}

function changeBlock(label, nodes, language, length) {
  return element("div", {}, element("h5", {}, label), longBlock(nodes, language, length, label));
}

/** A rating: its score, and its errors in the text that it is about, with a list that says all of them. */
function ratingPart(segment, rating, text, id) {
  const errors = (rating.errors ?? []).map((error, index) => ({ ...error, number: index + 1, listed: `${id}-${index + 1}` }));
  const where = rating.about === "before" ? "before" : "after";
  const found = rating.errors === undefined ? "" : errors.length === 0 ? ": no error" : `: ${counted(errors.length, "error")}`;
  const label = `${rating.evaluator}, text ${where}: ${score(rating.score)}${found}`;
  return element(
    "div",
    {},
    element("h5", {}, label),
    errors.some((error) => error.at) && longBlock(markedNodes(text, errors), segment.target_lang, text.length, label),
    errors.some((error) => error.side) && sourceMarks(segment, errors),
    errors.length > 0 && element("ol", { class: "errors" }, errors.map((error) => errorItem(error, segment))),
    remarksOf(rating),
  );
}

/** The source with what is missing from the translation, or wrong in the source itself, where it stands there once. */
function sourceMarks(segment, errors) {
  const inSource = errors.filter((error) => error.side).map((error) => ({ ...error, at: onlyPlace(segment.source, error.text) }));
  if (!inSource.some((error) => error.at)) return null;
  return element("div", {}, element("h5", {}, "In the source"), longBlock(markedNodes(segment.source, inSource), segment.source_lang, segment.source.length, "Source"));
}

function onlyPlace(text, part) {
  const start = part === "" ? -1 : text.indexOf(part);
  return start >= 0 && text.indexOf(part, start + 1) < 0 ? [start, start + part.length] : null;
}

function errorItem(error, segment) {
  const language = error.side ? segment.source_lang : segment.target_lang;
  return element(
    "li",
    { id: error.listed },
    badge(error.severity, error.severity), " ", error.category,
    error.side === "omission" && " (missing from the translation)", error.side === "source" && " (in the source)",
    error.text !== "" && [": ", element("q", languageAttributes(language), error.text)],
    error.suggestion !== undefined && suggestion(error.suggestion, segment.target_lang),
    error.explanation !== undefined && [" – ", element("span", { dir: "auto" }, error.explanation)],
  );
}

function suggestion(text, language) {
  return text === "" ? " → delete" : [" → ", element("q", languageAttributes(language), text)];
}

function remarksOf(rating) {
  const said = [
    rating.explanation && ["Says", rating.explanation],
    rating.correction !== undefined && ["Would write", rating.correction],
    rating.confidence !== undefined && ["Confidence", String(rating.confidence)],
    ...(rating.gaps ?? []).map((gap) => ["Does not know", gap]),
    ...(rating.warnings ?? []).map((warning) => ["Warning", warning]),
  ].filter(Boolean);
  return said.length > 0 && element("dl", { class: "about" }, said.flatMap(([name, text]) => [element("dt", {}, name), element("dd", { dir: "auto" }, text)]));
}

function editsPart(step) {
  if (!step.edits) return null;
  const head = ["No.", "Edit", "Outcome", "Reason", "Error"].map((name) => element("th", { scope: "col" }, name));
  const errors = step.ratings?.[0]?.errors ?? [];
  const rows = step.edits.map((edit, index) => editRow(edit, step.first + index, edit.span ?? errors[edit.error]));
  const table = element("table", { class: "edits" }, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows));
  return element("div", {}, element("h5", {}, counted(step.edits.length, "edit")), scrolling(table, "Edits"));
}

/** A table that is too wide scrolls inside itself; who scrolls by keyboard must be able to get there. */
function scrolling(table, label) {
  return element("div", { class: "scrolls", role: "region", tabindex: 0, "aria-label": label }, table);
}

function editRow(edit, number, error) {
  const change = [
    edit.old !== "" && element("del", {}, shown(edit.old, edit.new)),
    edit.old !== "" && edit.new !== "" && " ",
    edit.new !== "" && element("ins", {}, shown(edit.new, edit.old)),
  ];
  return element(
    "tr",
    {},
    element("td", {}, String(number)),
    element("td", { class: "change", dir: "auto" }, change),
    element("td", {}, OUTCOMES[edit.outcome] ?? edit.outcome),
    element("td", { dir: "auto" }, edit.detail ?? "–"),
    element("td", {}, error ? [badge(error.severity, error.severity), " ", error.category] : "–"),
  );
}

function costLine(step) {
  const [calls, reused, input, output, cost] = step.usage;
  const stored = reused > 0 ? `, ${counted(reused, "reply").replace("replys", "replies")} from the store` : "";
  return `${counted(calls, "call")}${stored}, ${input.toLocaleString("en")} + ${output.toLocaleString("en")} tokens, ${dollars(cost)}, ${decimal(step.seconds, 1)} s`;
}

function scoresTable(segment, data) {
  if (!segment.scores) return null;
  const head = ["Score of this segment", ...data.rows].map((name) => element("th", { scope: "col" }, name));
  const rows = data.metrics.map((metric, place) => element(
    "tr",
    {},
    element("th", { scope: "row" }, `${metric.name} ${metric.higher ? "↑" : "↓"}`),
    segment.scores[place].map((value, row) => scoreCell(value, segment.scores[place][data.first], metric, row !== data.first)),
  ));
  const table = element("table", { class: "scores" }, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows));
  return scrolling(table, "Scores of this segment");
}

function scoreCell(value, first, metric, differs) {
  const difference = value === null || first === null ? 0 : value - first;
  const better = metric.higher ? difference > 0 : difference < 0;
  const changed = differs && Math.abs(difference) > 1e-9;
  const small = Math.abs(value ?? 0) < 2 && Math.abs(difference) < 2;
  return element(
    "td",
    { class: changed ? (better ? "better" : "worse") : null },
    score(value),
    changed && element("span", { class: "note" }, `${signed(difference, small ? 3 : 2)} ${better ? "better" : "worse"}`),
  );
}

function about(segment) {
  const known = [
    ["Document", segment.document], ["Domain", segment.domain], ["Notes", segment.notes], ["Context", segment.context],
    ["Terms", segment.terms?.map(([source, target]) => `${source} → ${target ?? "as it is"}`).join("; ")],
    ["Flagged", segment.flags?.map((flag) => FLAGS[flag] ?? flag).join(", ")],
  ].filter(([, value]) => value !== undefined);
  if (known.length === 0) return null;
  return element("dl", { class: "about" }, known.flatMap(([name, value]) => [element("dt", {}, name), element("dd", { dir: "auto" }, value)]));
}
