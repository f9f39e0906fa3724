// Elements and plain words. Every text of the run becomes a text node here: nothing is ever parsed as markup.

const SEVERITIES = ["critical", "major", "minor", "neutral"];
const STAGES = { translate: "Translate", postedit: "Post-edit", proofread: "Proofread" };
const VERDICTS = { kept: "change kept", unchanged: "unchanged", rejected: "change rejected", failed: "failed" };
const OUTCOMES = {
  applied: "applied",
  refused: "refused by a guard",
  rejected: "rejected with the text",
  "not-found": "place not found",
  ambiguous: "place ambiguous",
  overlapping: "overlaps another edit",
  unchanged: "nothing to change",
  reverted: "taken back",
};
const FLAGS = { missing: "no translation", empty: "empty", copied: "copies the source", script: "foreign script" };

/** An element; children are elements or strings, and what is null or false is left out. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** The words for a stage's verdict; a translation is not a change. */
function verdictName(step) {
  return step.stage === "translate" && step.verdict === "kept" ? "translated" : VERDICTS[step.verdict] ?? step.verdict;
}

function badge(text, kind) {
  return element("span", { class: `badge ${kind}` }, text);
}

/** A number with a true minus sign. */
function decimal(value, digits = 2) {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
}

function signed(value, digits = 2) {
  return (value > 0 ? "+" : "") + decimal(value, digits);
}

/** A score as short as it is. */
function score(value) {
  return value === null ? "–" : decimal(value, Number.isInteger(value) ? 0 : Math.abs(value) < 2 ? 3 : 2);
}

function dollars(cost) {
  if (cost === null) return "price unknown";
  if (cost > 0 && cost < 0.0001) return "under $0.0001";
  return "$" + (cost === 0 || cost >= 0.01 ? cost.toFixed(2) : cost.toPrecision(2));
}

function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
