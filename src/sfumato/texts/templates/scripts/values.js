"use strict";
// What all our pages with releases on them share: the values that a page was given, numbers, the frontier, small parts.
// Everything of the data goes onto the page as text, never as HTML.

// What is said to people, by name: every text stands in texts/en/pages.toml, so that it can be translated.
const words = JSON.parse(document.getElementById("texts").textContent);
const w = (name, places = {}) => words[`drawing.${name}`].replace(/\{(\w+)\}/g, (all, place) => places[place] ?? all);
const counted = (number, noun) => w(`count_${noun}${number === 1 ? "_one" : ""}`, { count: shown(number) });

let data = null;
const measures = new Map();
const points = [];
const byId = new Map();
const state = { x: "", y: "", form: "", chosen: "" };

// Read what a page was given, and again when there is more of it.
function take(content) {
  data = content;
  measures.clear();
  for (const measure of data.measures) measures.set(measure.name, measure);
  points.length = 0;
  byId.clear();
  for (const point of data.points) {
    points.push({ ...point, values: { ...numbers(point.measures), ...point.plain } });
    byId.set(point.id, points.at(-1));
  }
  if (!measures.has(state.x) || !measures.has(state.y)) [state.x, state.y] = data.axes;
}

// -- numbers ------------------------------------------------------------------------------------------------

function numbers(given) {
  const read = (value) => (value === "inf" ? Infinity : value === "-inf" ? -Infinity : value);
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, read(value)]));
}

function shown(value) {
  if (value === undefined) return w("not_measured");
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Math.abs(value) < 1e-9) return "0";
  const digits = Number.isInteger(value) ? 21 : Math.abs(value) >= 1000 ? Math.ceil(Math.log10(Math.abs(value))) : 3;
  return value.toLocaleString("en", { maximumSignificantDigits: Math.min(digits, 21) }).replace("-", "−");
}

const percent = (share) => `${shown(100 * share)} %`;
const label = (name) => (measures.has(name) ? measures.get(name).label : name);
const isPlain = (name) => measures.has(name) && measures.get(name).plain === true;

// A share in whole percent, unless that would read as none or all.
function wholePercent(share) {
  const whole = Math.round(100 * share);
  const isRough = (whole > 0 && whole < 100) || whole > 100 || Math.abs(share - whole / 100) < 1e-9;
  return `${shown(isRough ? whole : Number((100 * share).toPrecision(whole === 100 ? 4 : 1)))} %`;
}

// A value as it stands in a table: headlines are shares.
const written = (name, value) => (isPlain(name) && value !== undefined ? wholePercent(value) : shown(value));

// -- the frontier -------------------------------------------------------------------------------------------

const cost = (name, value) => (measures.get(name).better === "lower" ? value : -value);
const costs = (point) => [state.x, state.y].map((name) => cost(name, point.values[name]));
const isMeasured = (point) => state.x in point.values && state.y in point.values;
const isShown = (point) => !state.form || point.baseline || point.form === state.form;
const candidates = () => points.filter((point) => isShown(point) && isMeasured(point));

function beats(a, b) {
  return a.every((value, i) => value <= b[i]) && a.some((value, i) => value < b[i]);
}

// The points no other point beats, the better end of the horizontal axis first; the same as Map.frontier in Python.
function frontier() {
  const all = candidates().map((point) => ({ point, at: costs(point) }));
  all.sort((a, b) => a.at[0] - b.at[0] || a.at[1] - b.at[1] || (a.point.id < b.point.id ? -1 : 1));
  const kept = [];
  for (const one of all) {
    if (!kept.some((other) => beats(other.at, one.at))) kept.push(one);
  }
  return kept.map((one) => one.point);
}

// -- small helpers ------------------------------------------------------------------------------------------

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.flat(2).filter((child) => child !== null));
  return made;
}

function fill(id, ...children) {
  const place = document.getElementById(id);
  place.replaceChildren(...children.flat().filter((child) => child !== null));
  return place;
}

const link = (text, onclick) => element("button", { class: "link", type: "button", onclick }, text);
const pointButton = (point, text) => link(text, () => choose(point.id, true));
const cell = (text, kind) => element("td", { class: kind || null }, text);
const rowHead = (text) => element("th", { scope: "row" }, text);
// Under which headings blocks and cards stand, for who hears a page: the report has them further down than a page of one release.
const depths = { block: null, card: null };
const block = (title, ...children) => element("div", { class: "block" }, element("h4", { "aria-level": depths.block }, title), children);
const cardHead = (title) => element("h5", { "aria-level": depths.card }, title);
const wide = (inside) => element("div", { class: "wide", role: "group", tabindex: "0", "aria-label": w("a_table") }, inside);
const separated = (buttons) => buttons.flatMap((button, i) => [i ? ", " : "", button]);

function table(heads, body, className) {
  const head = element("tr", {}, heads.map(([text, kind]) => (text ? element("th", { scope: "col", class: kind || null }, text) : cell("", kind))));
  return element("table", { class: className || null }, element("thead", {}, head), body);
}

// What is drawn over a release that is not the better for it: the same as mark_of in Python.
function verdictMark(point) {
  return point.baseline || !point.worth || point.worth.verdict === "better" ? "" : point.worth.verdict;
}
