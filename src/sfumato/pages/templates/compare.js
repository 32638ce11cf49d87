// Every column before and after, and any two releases side by side. Everything of the data goes onto the page as text.

state.other = "";
const SIDES = ["first", "second"];

// -- columns ------------------------------------------------------------------------------------------------

function bar(share, kind, largest) {
  const inner = element("i", { class: kind });
  inner.style.width = `${largest ? (100 * share) / largest : 0}%`;
  return element("span", { class: "bar" }, inner);
}

// How far a column is from the table's: records that would need another value, and how far numbers are off.
function columnDistance({ distance, moved, missing }) {
  if (distance === undefined) return "";
  const off = distance ? `${percent(distance)} of the rows are amiss` : "distributed as in the table";
  const far = moved ? `, by ${shown(moved)} on average over all` : "";
  const lost = missing && missing.some(Boolean) ? `; missing ${missing.map(percent).join(" before, ")} after` : "";
  return `; ${off}${far}${lost}`;
}

function columnFacts(column) {
  if (column.role === "length") return "how many items a record has";
  if (column.role === "sensitive") return (column.texts ? "sensitive; its values are published" : "sensitive; not published") + columnDistance(column);
  const exact = column.exact === 1 ? "every row shows" : column.exact ? `${percent(column.exact)} of the rows show` : "no row shows";
  return `${count(column.values, "different value")} before, ${shown(column.texts)} after; ${exact} the exact value${columnDistance(column)}`;
}

// One column as a small table: for every bin its share in each of the series, as a number and as a bar.
function columnCard(name, facts, bins, series) {
  const share = (value) => (value === null || value === undefined ? "–" : `${shown(Math.round(1000 * value) / 10)} %`);
  const largest = Math.max(...bins.flatMap((bin) => bin.shares.map((value) => value || 0)));
  const rows = bins.map((bin) => element(
    "tr", {},
    element("th", { scope: "row" }, bin.label),
    bin.shares.map((value) => cell(share(value), "number")),
    element("td", { class: "drawn", "aria-hidden": "true" }, bin.shares.map((value, i) => bar(value || 0, series[i][1], largest))),
  ));
  const heads = series.map(([text, kind]) => element("th", { scope: "col", class: "number" }, element("i", { class: `key ${kind}` }), text));
  const head = element("tr", {}, element("th", { scope: "col" }, "value"), heads, element("th", { class: "drawn", "aria-hidden": "true" }));
  const table = element("table", { class: "spread" }, element("thead", {}, head), element("tbody", {}, rows));
  return element("div", { class: "card" }, element("h5", {}, name), facts.map((text) => element("p", { class: "quiet" }, text)), wide(table));
}

const EVEN = "Shares of the records of the table, and of the rows of the file. A range or a set counts evenly for all of " +
  "its values, as a reader without further knowledge would take it.";

function columnsBlock(details) {
  const columns = details.columns || [];
  if (!columns.length) return null;
  const series = [["before", "before"], ["after", "first"]];
  const cards = columns.map((column) => columnCard(
    column.name, [columnFacts(column)], column.bins.map(([label, ...shares]) => ({ label, shares })), series,
  ));
  return block("Every column, before and after", element("p", { class: "small quiet" }, EVEN), element("div", { class: "cards" }, cards));
}

// -- two releases -------------------------------------------------------------------------------------------

function compareColumns(pair) {
  const [left, right] = pair.map((point) => (point.details || {}).columns || []);
  const both = left.filter((column) => right.some((other) => other.name === column.name));
  if (!both.length) return null;
  const series = [["before", "before"], ["first", "first"], ["second", "second"]];
  const cards = both.map((column) => {
    const other = right.find((each) => each.name === column.name);
    const bins = column.bins.map(([label, before, after], i) => ({ label, shares: [before, after, other.bins[i][2]] }));
    const facts = [column, other].map((each, i) => `${SIDES[i]}: ${columnFacts(each)}`);
    return columnCard(column.name, facts, bins, series);
  });
  return block("Every column", element("p", { class: "small quiet" }, EVEN), element("div", { class: "cards two" }, cards));
}

const marked = (differs) => (differs ? "differs" : null);

function compareSettings(pair) {
  const lines = [["in words", "words"], ["made by", "anonymizer"], ["required", "requirement"], ["form", "form"], ["id", "id"]];
  const rows = lines.map(([title, key]) => {
    const texts = pair.map((point) => (key === "form" && point.baseline ? "" : point[key]) || "–");
    const differs = key !== "id" && texts[0] !== texts[1];
    return element("tr", { class: marked(differs) }, rowHead(differs ? `≠ ${title}` : title), texts.map((text) => cell(text)));
  });
  return block("Settings", wide(table([[""], ["first"], ["second"]], element("tbody", {}, rows), "pair")));
}

// The headlines of both, and what was done to their columns.
function compareHeadlines(pair) {
  const rows = pair[0].headlines.map(({ about, said }, i) => {
    const texts = [said, pair[1].headlines[i].said];
    const differs = texts[0] !== texts[1];
    return element("tr", { class: marked(differs) }, rowHead(differs ? `≠ ${about}` : about), texts.map((text) => cell(text)));
  });
  const done = pair.map((point) => point.done || "–");
  if (pair.some((point) => point.done)) rows.push(element("tr", {}, rowHead("what was done"), done.map((text) => cell(text))));
  return block("In short", wide(table([[""], ["first"], ["second"]], element("tbody", {}, rows), "pair")));
}

// Says which of two values is better, in words: colour alone would not reach everybody.
function verdictOf(name, [left, right]) {
  if (left === undefined || right === undefined) return cell("", "quiet");
  if (left === right) return cell(data.public ? "the same, as rounded" : "the same", "quiet");
  return cell(cost(name, left) < cost(name, right) ? "◂ first is better" : "second is better ▸", "better");
}

function measureRow({ name, meaning }, pair) {
  const values = pair.map((point) => point.values[name]);
  const title = element("th", { scope: "row" }, meaning, element("br"), element("code", {}, name));
  return element("tr", {}, title, values.map((value) => cell(shown(value), "number")), verdictOf(name, values));
}

// How many measures speak for either, of each kind: the sum of the table in a sentence.
function balance(differing, pair) {
  const said = [["risk", "safer"], ["utility", "more useful"]].map(([kind, word]) => {
    const own = differing.filter((measure) => measure.kind === kind && pair.every((point) => measure.name in point.values));
    const first = own.filter(({ name }) => cost(name, pair[0].values[name]) < cost(name, pair[1].values[name])).length;
    if (!own.length) return null;
    const side = 2 * first >= own.length ? "first" : "second", many = Math.max(first, own.length - first);
    return `the ${side} is ${word} by ${shown(many)} of ${shown(own.length)} measures of ${kind}`;
  }).filter(Boolean);
  return said.length ? `Where they differ, ${said.join("; ")}.` : "They are the same by every measure.";
}

function compareMeasures(pair) {
  const onAxis = ({ name }) => name === state.x || name === state.y;
  const known = data.measures.filter((one) => (!one.plain || onAxis(one)) && pair.some((point) => one.name in point.values));
  const differing = known.filter(({ name }) => pair[0].values[name] !== pair[1].values[name]);
  const same = known.filter((measure) => !differing.includes(measure));
  const axes = known.filter(onAxis);
  const rest = differing.filter((measure) => !axes.includes(measure));
  const heads = [["measure"], ["first", "number"], ["second", "number"], ["which is better"]];
  const body = (some) => wide(table(heads, element("tbody", {}, some.map((measure) => measureRow(measure, pair))), "pair"));
  const folded = (some, text) => (some.length ? element("details", {}, element("summary", {}, text), body(some)) : null);
  return block(
    "Measures", element("p", {}, balance(differing, pair)), body(axes),
    folded(rest, `${count(rest.length, "more measure")} on which they differ`),
    folded(same.filter((measure) => !axes.includes(measure)), "Measures on which they do not differ"),
  );
}

function compareSizes(pair) {
  const sizes = pair.map((point) => (point.details || {}).sizes || []);
  if (!sizes.some((some) => some.length)) return null;
  const froms = [...new Set(sizes.flat().map((size) => size.from))].sort((a, b) => a - b);
  const largest = Math.max(...sizes.flat().map((size) => size.records));
  const rows = froms.map((from) => {
    const of = sizes.map((some) => some.find((size) => size.from === from));
    const texts = of.map((size) => (size ? `${count(size.groups, "group")}, ${count(size.records, "record")}` : "–"));
    const bars = of.map((size, i) => bar(size ? size.records : 0, SIDES[i], largest));
    return element(
      "tr", {}, element("th", { scope: "row" }, sizeRange(of.find(Boolean))), texts.map((text) => cell(text)),
      element("td", { class: "drawn", "aria-hidden": "true" }, bars),
    );
  });
  const heads = [["records in a group"], ["first"], ["second"], [""]];
  return block("Group sizes, bars by records", wide(table(heads, element("tbody", {}, rows), "pair spread")));
}

// Releases of one table show the same records, so that one can follow each of them.
function compareRecords(pair) {
  const [left, right] = pair.map((point) => (point.details || {}).records || []);
  if (!left.length || left.length !== right.length) return null;
  const columns = Object.keys(left[0].before);
  const line = (title, record, kind) => element(
    "tr", { class: kind }, element("th", { scope: "row" }, title),
    columns.map((name) => publishedCell(record, name)), cell(record.after ? shown(record.size) : "", "number"),
  );
  const rows = left.flatMap((record, i) => [
    element("tr", { class: "before" }, element("th", { scope: "row" }, "before"), columns.map((name) => cell(record.before[name])), cell("")),
    line("first", record, "after inner"),
    line("second", right[i], "after"),
  ]);
  const heads = [[""], ...columns.map((name) => [name]), ["its group", "number"]];
  return block("The same records in both", wide(table(heads, element("tbody", {}, rows), "records")));
}

function compareTables(pair) {
  return pair.map((point, i) => {
    const details = point.details || {};
    const blocks = [budgetBlock(details), tablesBlock(details), worstBlock(details)].flat().filter(Boolean);
    if (!blocks.length) return null;
    const side = element("p", { class: "side" }, element("i", { class: `key ${SIDES[i]}` }), `${SIDES[i]}: ${point.id}`);
    return element("div", { class: "block" }, side, blocks);
  }).filter(Boolean);
}

function pairSelects() {
  const options = (chosen) => [
    element("option", { value: "" }, "choose a release"),
    ...points.map((point) => element("option", { value: point.id, selected: point.id === chosen ? "" : null }, `${point.id}: ${point.words}`)),
  ];
  fill("first", options(state.chosen));
  fill("second", options(state.other));
}

function compare() {
  const place = document.getElementById("compare");
  place.hidden = points.length < 2;
  if (place.hidden) return;
  pairSelects();
  const pair = [byId.get(state.chosen), byId.get(state.other)];
  if (!pair[0] || !pair[1] || pair[0] === pair[1]) {
    const kept = state.other && pair[1] ? `${state.other} is kept as the second. ` : "";
    fill("compared", element("p", { class: "quiet" }, `${kept}Choose two releases here, or “Keep to compare” beside the map and then click another.`));
    return;
  }
  fill(
    "compared",
    element("h3", {}, `${pair[0].id} beside ${pair[1].id}`),
    compareHeadlines(pair), compareSettings(pair), compareMeasures(pair),
    compareSizes(pair), compareFidelity(pair), compareColumns(pair), compareRecords(pair), compareTables(pair),
  );
}

function keepToCompare(id) {
  state.other = id;
  address();
  summary();
  compare();
}

function address() {
  history.replaceState(null, "", `#${state.chosen}${state.other ? `&with=${state.other}` : ""}`);
}

function comparing() {
  const [, other] = location.hash.slice(1).split("&with=");
  if (byId.has(other)) state.other = other;
  const first = document.getElementById("first"), second = document.getElementById("second");
  first.addEventListener("change", () => { if (byId.has(first.value)) choose(first.value); });
  second.addEventListener("change", () => keepToCompare(second.value));
  document.getElementById("pair").addEventListener("submit", (event) => event.preventDefault());
}

start();
