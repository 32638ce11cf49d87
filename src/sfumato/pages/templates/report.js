"use strict";
// Draws the map, the chosen point and the frontier. Everything of the data goes onto the page as text, never as HTML.

const data = JSON.parse(document.getElementById("data").textContent);
const measures = new Map(data.measures.map((measure) => [measure.name, measure]));
const points = data.points.map((point) => ({ ...point, values: { ...numbers(point.measures), ...point.plain } }));
const byId = new Map(points.map((point) => [point.id, point]));
const state = { x: data.axes[0], y: data.axes[1], form: "", chosen: "" };
const FORMS = {
  "": "all",
  generalization: "generalization: ranges and sets",
  bucketization: "bucketization: exact quasi-identifiers",
};
let view = null;
let worthView = null;

// -- numbers ------------------------------------------------------------------------------------------------

function numbers(given) {
  const read = (value) => (value === "inf" ? Infinity : value === "-inf" ? -Infinity : value);
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, read(value)]));
}

function shown(value) {
  if (value === undefined) return "not measured";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Math.abs(value) < 1e-9) return "0";
  const digits = Number.isInteger(value) ? 21 : Math.abs(value) >= 1000 ? Math.ceil(Math.log10(Math.abs(value))) : 3;
  return value.toLocaleString("en", { maximumSignificantDigits: Math.min(digits, 21) }).replace("-", "−");
}

const percent = (share) => `${shown(100 * share)} %`;
const label = (name) => (measures.has(name) ? measures.get(name).label : name);
const isPlain = (name) => measures.has(name) && measures.get(name).plain === true;
const count = (number, noun) => `${shown(number)} ${noun}${number === 1 ? "" : "s"}`;

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
const block = (title, ...children) => element("div", { class: "block" }, element("h4", {}, title), children);
const wide = (inside) => element("div", { class: "wide", role: "region", tabindex: "0", "aria-label": "a table" }, inside);
const separated = (buttons) => buttons.flatMap((button, i) => [i ? ", " : "", button]);

function table(heads, body, className) {
  const head = element("tr", {}, heads.map(([text, kind]) => element("th", { scope: "col", class: kind || null }, text)));
  return element("table", { class: className || null }, element("thead", {}, head), body);
}

// -- the map ------------------------------------------------------------------------------------------------

// Between which values a point lies, draw by draw; without draws it lies where it is.
function ends(point) {
  const of = (name) => point.intervals[name] || [point.values[name], point.values[name]];
  const [x1, x2] = of(state.x), [y1, y2] = of(state.y);
  return { x1, x2, y1, y2 };
}

function drawn() {
  const best = new Set(frontier());
  const labels = new Map();
  const place = (point) => `${point.values[state.x]} ${point.values[state.y]}`;
  const finite = candidates().filter((p) => Number.isFinite(p.values[state.x]) && Number.isFinite(p.values[state.y]));
  for (const point of finite.filter((one) => one.baseline)) {
    labels.set(place(point), [...(labels.get(place(point)) || []), point.baseline]);
  }
  return finite.map((point) => {
    const label = point.baseline ? (labels.get(place(point)) || []).join(", ") : "";
    if (point.baseline) labels.delete(place(point));
    return {
      id: point.id, x: point.values[state.x], y: point.values[state.y], ...ends(point), family: point.family, form: point.form,
      frontier: best.has(point), verdict: verdictMark(point), baseline: point.baseline !== "", label,
    };
  });
}

// A logarithmic axis has ticks at powers of ten; where fewer than two of them are in sight it is drawn linear.
function axisLook(name, drawnValues) {
  const measure = measures.get(name);
  const least = Math.min(...drawnValues), most = Math.max(...drawnValues);
  const ticks = (measure.ticks || []).filter((tick) => least <= tick && tick <= most);
  const common = { title: measure.title, format: measure.plain ? ".0~%" : ",~r" };
  if (ticks.length < 2) return { axis: common, scale: { type: "linear", zero: true, nice: false, padding: 26 } };
  return { axis: { ...common, values: ticks }, scale: { type: "log", nice: false, padding: 26 } };
}

// The limit is proved for two measures; whichever of them is drawn across, the line is the same.
function limitRows() {
  if (!data.limit || ![state.x, state.y].every((name) => data.limit.axes.includes(name)) || state.x === state.y) return [];
  const turned = state.x !== data.limit.axes[0];
  return data.limit.points.map(([p, u], i) => ({
    x: turned ? u : p, y: turned ? p : u, label: i === data.limit.named ? "limit" : "",
  }));
}

function specification() {
  const spec = structuredClone(data.spec);
  spec.datasets.points = drawn();
  const floor = limitRows();
  if (floor.length) spec.datasets.limit = floor;
  else spec.layer = spec.layer.filter((layer) => !["limit", "limit label"].includes(layer.name));
  const isSpread = spec.datasets.points.some((row) => row.x1 !== row.x2 || row.y1 !== row.y2);
  if (!isSpread) spec.layer = spec.layer.filter((layer) => layer.mark.type !== "rule");
  for (const layer of spec.layer) {
    for (const axis of ["x", "y"]) {
      Object.assign(layer.encoding[axis], axisLook(state[axis], spec.datasets.points.map((row) => row[axis])));
    }
    for (const channel of ["color", "shape"]) if (layer.encoding[channel]) layer.encoding[channel].legend = null;
    if (layer.mark.type === "line" && layer.name !== "limit") layer.mark.interpolate = measures.get(state.x).step;
  }
  return spec;
}

async function embed(place, spec) {
  const result = await vegaEmbed(place, spec, {
    actions: false, ast: true, renderer: "svg", defaultStyle: false, mode: "vega-lite", tooltip: hover,
  });
  result.view.addEventListener("click", (event, item) => {
    if (item && item.datum && byId.has(item.datum.id)) choose(item.datum.id);
  });
  return result.view;
}

async function draw() {
  const drawnView = await embed("#chart", specification());
  if (view) view.finalize();
  view = drawnView;
  mark();
}

function mark() {
  for (const one of [view, worthView]) if (one) one.signal("chosen", state.chosen).runAsync();
}

function hover(handler, event, item, value) {
  const point = value && item && item.datum ? byId.get(item.datum.id) : null;
  const box = document.getElementById("tooltip");
  box.hidden = !point;
  if (!point) return;
  fill(
    "tooltip",
    element("p", {}, point.words),
    [state.x, state.y].map((name) => element("p", {}, `${label(name)} ${written(name, point.values[name])}`)),
    point.worth && point.worth.told ? element("p", {}, point.worth.told) : null,
    element("p", { class: "quiet" }, `${item.datum.frontier ? "on the frontier · " : ""}${point.id}`),
  );
  box.style.left = `${Math.min(event.clientX + 16, window.innerWidth - box.offsetWidth - 12)}px`;
  box.style.top = `${Math.min(event.clientY + 16, window.innerHeight - box.offsetHeight - 12)}px`;
}

function direction(axis) {
  const measure = measures.get(state[axis]);
  const way = { x: { lower: "left", higher: "right" }, y: { lower: "down", higher: "up" } }[axis][measure.better];
  const formula = measure.plain ? "" : ` (${measure.better} ${measure.name})`;
  return `further ${way} is ${measure.kind === "risk" ? "safer" : "more useful"}${formula}`;
}

function reading() {
  fill(
    "reading",
    `Each mark is one release: ${direction("x")}, ${direction("y")}. The line is the frontier: on it, no release ` +
      "can be better on one axis without being worse on the other; every faded mark is beaten by a release on the line.",
    limitRows().length ? " No truthful release of this table can lie below the dashed line, the limit." : null,
    data.worth && data.worth.marks ? ` ${data.worth.marks}` : null,
  );
}

function undrawn() {
  const missing = points.filter((point) => isShown(point) && !isMeasured(point));
  const infinite = candidates().filter((p) => ![state.x, state.y].every((name) => Number.isFinite(p.values[name])));
  const name = (point) => point.baseline || `${point.requirement} (${point.form})`;
  const line = (found, why) => {
    if (!found.length) return null;
    const names = separated(found.map((point) => pointButton(point, name(point))));
    const said = `${count(found.length, "release")} not drawn, ${why}`;
    if (found.length <= 3) return element("p", {}, `${said}: `, names);
    return element("details", {}, element("summary", {}, said), element("p", {}, names));
  };
  fill("undrawn", line(infinite, "infinite on a chosen axis"), line(missing, "not measured on a chosen axis"));
}

// -- legend and controls ------------------------------------------------------------------------------------

function symbol(path, attributes) {
  const space = "http://www.w3.org/2000/svg";
  const image = document.createElementNS(space, "svg");
  image.setAttribute("viewBox", "-7 -7 14 14");
  const shape = document.createElementNS(space, "path");
  for (const [name, value] of Object.entries({ d: path, ...attributes })) shape.setAttribute(name, value);
  image.append(shape);
  return image;
}

function legend() {
  const circle = "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0", triangle = "M0,-5L5.5,4.5L-5.5,4.5Z";
  const diamond = "M0,-6L5,0L0,6L-5,0Z", stairs = "M-7,-4H0V4H7";
  const outline = { fill: "none", stroke: "currentColor", "stroke-width": 1.5 };
  const color = data.spec.layer.find((layer) => layer.encoding.color).encoding.color.scale;
  const entry = (image, text) => element("span", {}, image, text);
  const marked = (verdict) => points.some((point) => verdictMark(point) === verdict);
  const has = (form) => points.some((point) => !point.baseline && point.form === form);
  fill(
    "legend",
    color.domain.map((name, i) => entry(symbol(circle, { fill: color.range[i % color.range.length] }), name)),
    has("generalization") && data.forms.length > 1
      ? entry(symbol(circle, { fill: "currentColor" }), "generalization") : null,
    has("bucketization") ? entry(symbol(triangle, { fill: "currentColor" }), "bucketization") : null,
    points.some((point) => point.baseline) ? entry(symbol(diamond, outline), "baseline") : null,
    entry(symbol(stairs, outline), "frontier"),
    limitRows().length ? entry(symbol("M-7,-4Q-4,4 7,5", { ...outline, "stroke-dasharray": "3 2" }), "limit") : null,
    marked("no better") ? entry(symbol("M-5,-5L5,5M-5,5L5,-5", outline), "no better than a trivial sanitization") : null,
    marked("not shown") ? entry(symbol("M-5,5L5,-5", outline), "not shown to be better") : null,
  );
}

function controls() {
  for (const axis of ["x", "y"]) {
    const kinds = { "in plain words": (one) => one.plain };
    for (const kind of ["risk", "utility"]) kinds[kind] = (one) => !one.plain && one.kind === kind;
    const groups = Object.entries(kinds).map(([title, belongs]) => {
      const options = data.measures.filter(belongs).map((one) =>
        element("option", { value: one.name }, `${one.label}: ${one.meaning}`));
      return options.length ? element("optgroup", { label: title }, options) : null;
    });
    const select = fill(axis, groups);
    select.value = state[axis];
    select.addEventListener("change", () => { state[axis] = select.value; update(); });
  }
  document.getElementById("formulas").addEventListener("click", turn);
  const select = fill("form", Object.entries(FORMS).map(([value, text]) => element("option", { value }, text)));
  select.addEventListener("change", () => { state.form = select.value; update(); });
  if (data.forms.length < 2) select.parentElement.remove();
  document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());
}

// From the axes that a person understands to the formulas of the study, and back.
function turn() {
  [state.x, state.y] = onFormulas() ? data.axes : data.formulas;
  for (const axis of ["x", "y"]) document.getElementById(axis).value = state[axis];
  update();
}

const onFormulas = () => data.formulas.every((name, i) => name === [state.x, state.y][i]);

function explainAxes() {
  const way = document.getElementById("formulas");
  way.hidden = data.formulas.every((name, i) => name === data.axes[i]);
  way.textContent = onFormulas() ? "Show it in plain words" : `Show the study's formulas: ${data.formulas.join(" and ")}`;
  for (const axis of ["x", "y"]) {
    const measure = measures.get(state[axis]);
    fill(`${axis}-meaning`, `${measure.kind}; ${measure.meaning}; ${measure.better} is better`);
  }
}

// -- tables -------------------------------------------------------------------------------------------------

const valueHeads = () => [state.x, state.y].map((name) => [label(name), "number"]);
const valueCells = (point) => [state.x, state.y].map((name) => cell(written(name, point.values[name]), "number"));

function nameCell(point) {
  const code = (text) => element("code", {}, text);
  const more = point.baseline ? element("span", { class: "tag" }, "baseline") : code(`· ${point.requirement}`);
  return element("td", {}, pointButton(point, point.words), element("br"), code(point.id), " ", more);
}

function change(name, from, to) {
  const difference = to.values[name] - from.values[name];
  if (Number.isNaN(difference) || difference === 0) return element("span", {}, `${label(name)} unchanged`);
  const kind = cost(name, difference) < 0 ? "better" : "worse";
  const amount = isPlain(name) ? `${shown(Number((100 * difference).toPrecision(2)))} points` : shown(difference);
  return element("span", { class: kind }, `${label(name)} ${difference > 0 ? "+" : ""}${amount}`);
}

function stepCell(point, next) {
  if (!next) return cell("the end", "step quiet");
  return element("td", { class: "step" }, change(state.x, point, next), element("br"), change(state.y, point, next));
}

function frontierTable() {
  const best = frontier();
  const rows = best.map((point, i) => {
    const marked = { "data-id": point.id, class: point.id === state.chosen ? "chosen" : null };
    return element("tr", marked, nameCell(point), valueCells(point), stepCell(point, best[i + 1]));
  });
  const made = table([["Release"], ...valueHeads(), ["One step further"]], element("tbody", {}, rows));
  fill("frontier-table", ...made.childNodes);
  const exact = best.filter((point) => !point.baseline && point.form === "bucketization").length;
  fill(
    "frontier-reading",
    `${count(best.length, "release")} of ${shown(candidates().length)}, from the best “${label(state.x)}” to the best ` +
      `“${label(state.y)}”. The last column says what changes from each release to the next: what is gained, and what it costs.`,
    exact
      ? ` ${shown(exact)} of these publish exact quasi-identifiers (bucketization) and do not hide who is in the ` +
        "table; the choice “Releases” beside the map leaves them out."
      : null,
  );
}

function allTable() {
  if (!document.getElementById("all").open) return;
  const best = new Set(frontier());
  const rows = points.filter(isShown).map((point) => {
    const tag = best.has(point) ? element("span", { class: "tag on" }, "frontier") : "";
    return element("tr", {}, nameCell(point), valueCells(point), cell(tag));
  });
  const made = table([["Release"], ...valueHeads(), [""]], element("tbody", {}, rows));
  fill("all-table", ...made.childNodes);
}

// -- the chosen point ---------------------------------------------------------------------------------------

function standing(point) {
  if (!isMeasured(point)) return element("p", {}, "Not measured on the chosen axes.");
  const own = costs(point);
  const better = frontier().filter((other) => beats(costs(other), own));
  const equal = candidates().filter((other) => other !== point && costs(other).every((value, i) => value === own[i]));
  const buttons = equal.slice(0, 5).map((other) => pointButton(other, other.id));
  const same = equal.length ? element("p", {}, "At the same place: ", separated(buttons)) : null;
  if (!better.length) return [element("p", {}, element("span", { class: "tag on" }, "on the frontier")), same];
  const other = better[Math.floor((better.length - 1) / 2)];
  return [element("p", {}, "Beaten by:", element("br"), pointButton(other, other.words)), same];
}

function summary() {
  const point = byId.get(state.chosen);
  if (!point) {
    const hint = "Click a point on the map, or a release in the table below, to see how it is made, what it risks " +
      "and what it costs.";
    fill("summary", element("p", { class: "quiet" }, hint));
    return;
  }
  const figures = [...new Set([state.x, state.y])].map((name) =>
    element("div", {}, element("b", {}, written(name, point.values[name])), isPlain(name) ? measures.get(name).meaning : name));
  fill(
    "summary",
    element("p", {}, point.words),
    element("div", { class: "figures" }, figures),
    standing(point),
    point.worth && point.worth.told ? element("p", {}, `Learning ${point.worth.target}: ${point.worth.told}.`) : null,
    element("p", {}, link("Everything about this release ↓", showPanel)),
    element("p", {}, keepButton(point)),
  );
}

function keepButton(point) {
  const kept = byId.get(state.other);
  if (kept && kept !== point) return link(`Side by side with ${kept.id} ↓`, () => showSection("compare"));
  if (kept) return element("span", { class: "quiet" }, "Kept. Click another release to see the two side by side.");
  return link("Keep to compare with another", () => keepToCompare(point.id));
}

// The three headlines, and what was done to each column.
function headlinesBlock(point) {
  const formulas = (names) => names.map((name) => `${name} ${shown(point.values[name])}`).join(", ");
  const one = ({ about, said, measures: names }) => element(
    "div", {}, element("h4", {}, about), element("p", {}, said), names.length ? element("code", {}, formulas(names)) : null,
  );
  return [
    element("div", { class: "headlines" }, point.headlines.map(one)),
    point.done ? element("p", { class: "done" }, element("b", {}, "What was done: "), point.done) : null,
  ];
}

// Where a measure lies between publishing nothing and the original; a dash, with the reason, where there is no scale.
function placeCell(point, name) {
  const [share, reason] = point.places[name] || [null, ""];
  if (share === null) return element("td", { class: "number quiet", title: reason || null }, "–");
  return cell(wholePercent(share), "number place");
}

function measuresBlock(point, kind) {
  const own = data.measures.filter((one) => !one.plain && one.kind === kind && one.name in point.values);
  if (!own.length) return null;
  const isScaled = Object.keys(point.places).length > 0;
  const rows = own.map(({ name, meaning, better }) => {
    const formula = element("small", {}, element("code", {}, name), ` ${meaning}; ${better} is better`);
    const said = element("th", { scope: "row" }, point.sentences[name], element("br"), formula);
    return element("tr", {}, said, cell(shown(point.values[name]), "number"), isScaled ? placeCell(point, name) : null);
  });
  const title = kind === "risk" ? "Risk" : "Utility";
  const heads = [[title], ["value", "number"], ...(isScaled ? [["of the original", "number"]] : [])];
  return element("div", {}, table(heads, element("tbody", {}, rows), "measures"));
}

function foldedMeasures(point) {
  const many = Object.keys(point.measures).length;
  const scale = "The last column places each between publishing nothing (0 %) and the original (100 %), where the map " +
    "has both ends and they differ.";
  return element(
    "details", { class: "all-measures" },
    element("summary", {}, `All ${count(many, "measure")} with their formulas`),
    Object.keys(point.places).length ? element("p", { class: "quiet" }, scale) : null,
    element("div", { class: "columns" }, measuresBlock(point, "risk"), measuresBlock(point, "utility")),
  );
}

function sizeRange(size) {
  if (size.from === size.to) return shown(size.from);
  return size.to > 1e8 ? `${shown(size.from)}+` : `${shown(size.from)}–${shown(size.to)}`;
}

function sizesBlock(details) {
  const sizes = details.sizes || [];
  if (!sizes.length) return null;
  const largest = Math.max(...sizes.map((size) => size.records));
  const cells = sizes.flatMap((size) => {
    const bar = element("i");
    bar.style.width = `${(100 * size.records) / largest}%`;
    const many = `${count(size.groups, "group")}, ${count(size.records, "record")}`;
    return [
      element("span", { class: "from" }, sizeRange(size)),
      element("span", { class: "bar" }, bar),
      element("span", { class: "many" }, many),
    ];
  });
  const title = `Group sizes: ${count(details.groups, "group")}, bars by records`;
  return block(title, element("div", { class: "bars" }, cells));
}

function worstBlock(details) {
  const worst = details.worst || [];
  if (!worst.length) return null;
  const columns = Object.keys(worst[0].quasi);
  const heads = [...columns.map((name) => [name]), ["records", "number"]];
  const told = worst[0].attribute !== undefined;
  if (told) {
    heads.push([`commonest ${worst[0].attribute}`]);
    heads.push(...["in the group", "in the table", "p_loss"].map((text) => [text, "number"]));
  }
  const rows = worst.map((group) => {
    const cells = [...columns.map((name) => cell(group.quasi[name])), cell(shown(group.size), "number")];
    if (told) {
      const numbersOf = [percent(group.share), percent(group.share_in_table), shown(group.p_loss)];
      cells.push(cell(group.commonest), ...numbersOf.map((text) => cell(text, "number")));
    }
    return element("tr", {}, cells);
  });
  const title = told ? "Worst groups: where a reader learns most" : "Smallest groups";
  return block(title, wide(table(heads, element("tbody", {}, rows), "groups")));
}

// What is published of a record in one column; a record may be left out.
function publishedCell(record, name) {
  if (!record.after) return cell("left out", "quiet");
  const text = name in record.after ? record.after[name] : "not published";
  return cell(text, text === record.before[name] ? "same" : null);
}

function recordsBlock(details) {
  const records = details.records || [];
  if (!records.length) return null;
  const columns = Object.keys(records[0].before);
  const rows = records.flatMap((record) => [
    element("tr", { class: "before" }, rowHead("before"), columns.map((name) => cell(record.before[name])), cell("")),
    element(
      "tr", { class: "after" },
      rowHead("after"), columns.map((name) => publishedCell(record, name)),
      cell(record.after ? shown(record.size) : "", "number"),
    ),
  ]);
  const heads = [[""], ...columns.map((name) => [name]), ["its group", "number"]];
  return block("Some records, before and after", wide(table(heads, element("tbody", {}, rows), "records")));
}

// What the budget of a differentially private release was spent on.
function budgetBlock(details) {
  if (!details.by_purpose) return null;
  const rows = Object.entries(details.by_purpose).map(([what, epsilon]) => [what, epsilon]);
  const levels = details.by_level.map(([level, epsilon]) => [`level ${level}`, epsilon]);
  const line = ([what, epsilon]) => element("tr", {}, cell(what), cell(shown(epsilon), "number"));
  const body = element("tbody", {}, [...rows, ...levels, ["in all", details.epsilon]].map(line));
  const title = `Budget: epsilon ${shown(details.epsilon)}, in one draw ${shown(details.groups)} boxes`;
  return block(title, table([["spent on"], ["epsilon", "number"]], body));
}

// Tables that a study of its own kind shows as they are: heads with their kinds, and rows of texts and numbers.
function tablesBlock(details) {
  return (details.tables || []).filter((own) => own.rows.length).map((own) => {
    const line = (row) => element("tr", {}, row.map((value, i) =>
      cell(typeof value === "number" ? shown(value) : value, own.heads[i][1])));
    return block(own.title, wide(table(own.heads, element("tbody", {}, own.rows.map(line)), "groups")));
  });
}

function commandBlock(point) {
  if (data.public) return null;
  if (!point.command) {
    return element("p", { class: "block quiet" }, "The original is here to compare with; there is no release to make.");
  }
  const text = element("code", { id: "command" }, point.command);
  const copy = element("button", { class: "plain", type: "button", onclick: () => {
    window.getSelection().selectAllChildren(text);
    if (!navigator.clipboard) return;
    navigator.clipboard.writeText(point.command).then(() => { copy.textContent = "Copied"; }, () => {});
  } }, "Copy");
  return block("The command that makes it", element("div", { class: "command" }, text, copy));
}

function showSection(id) {
  document.getElementById(id).scrollIntoView({ behavior: "smooth" });
}

function showPanel() {
  showSection("point");
}

function panel() {
  const point = byId.get(state.chosen);
  const place = document.getElementById("point");
  place.hidden = !point;
  if (!point) return;
  const details = point.details || {};
  const exact = !point.baseline && point.form === "bucketization";
  const form = point.baseline ? "" : point.form;
  const setting = [point.id, point.anonymizer, point.requirement, form].filter(Boolean).join(" · ");
  const caution = "Quasi-identifiers are exact: this release does not hide who is in the table.";
  fill(
    "point",
    element("h2", {}, "The chosen release"),
    element("h3", {}, point.words),
    element("p", { class: "quiet" }, element("code", {}, setting)),
    exact ? element("p", { class: "note" }, caution) : null,
    point.worth ? element("p", { class: verdictMark(point) ? "note" : null }, point.worth.said) : null,
    point.disagreements.map((said) => element("p", { class: "note" }, said)),
    headlinesBlock(point),
    foldedMeasures(point),
    commandBlock(point),
    sizesBlock(details),
    budgetBlock(details),
    tablesBlock(details),
    worstBlock(details),
    ownFidelity(point),
    columnsBlock(details),
    recordsBlock(details),
  );
}

// -- is it worth it -----------------------------------------------------------------------------------------

// What is drawn over a release that is not the better for it: the same as mark_of in Python.
function verdictMark(point) {
  return point.baseline || !point.worth || point.worth.verdict === "better" ? "" : point.worth.verdict;
}

async function worth() {
  for (const button of document.querySelectorAll("button[data-point]")) {
    button.addEventListener("click", () => choose(button.dataset.point, true));
  }
  if (!data.worth || !data.worth.spec) return;
  const spec = structuredClone(data.worth.spec);
  for (const layer of spec.layer) {
    for (const channel of ["color", "shape"]) if (layer.encoding[channel]) layer.encoding[channel].legend = null;
  }
  worthView = await embed("#worth-chart", spec);
}

function choose(id, scroll) {
  state.chosen = id;
  address();
  mark();
  summary();
  panel();
  compare();
  frontierTable();
  if (scroll) showPanel();
}

function update() {
  explainAxes();
  legend();
  reading();
  undrawn();
  frontierTable();
  allTable();
  summary();
  return draw();
}

function start() {
  if (!points.length || !data.measures.length) {
    for (const id of ["map", "frontier"]) document.getElementById(id).hidden = true;
    document.body.setAttribute("data-ready", "");
    return;
  }
  controls();
  document.getElementById("all").addEventListener("toggle", allTable);
  const [asked] = location.hash.slice(1).split("&");
  if (byId.has(asked)) state.chosen = asked;
  comparing();
  panel();
  compare();
  Promise.all([worth(), update()]).then(() => document.body.setAttribute("data-ready", ""));
}
