// Every column before and after, and two or three releases side by side. Everything of the data goes onto the page as text.

const SIDES = ["first", "second", "third"];
const sideName = (i) => w(SIDES[i]);

// -- columns ------------------------------------------------------------------------------------------------

function bar(share, kind, largest) {
  const inner = element("i", { class: kind });
  inner.style.width = `${largest ? (100 * share) / largest : 0}%`;
  return element("span", { class: "bar" }, inner);
}

// How far a column is from the table's: records that would need another value, and how far numbers are off.
function columnDistance({ distance, moved, missing }) {
  if (distance === undefined) return "";
  const off = distance ? w("amiss", { share: percent(distance) }) : w("as_in_table");
  const far = moved ? w("moved", { number: shown(moved) }) : "";
  const lost = missing && missing.some(Boolean) ? w("missing", { before: percent(missing[0]), after: percent(missing[1]) }) : "";
  return `; ${off}${far}${lost}`;
}

function columnFacts(column) {
  if (column.role === "length") return w("length");
  if (column.role === "sensitive") return w(column.texts ? "sensitive_published" : "sensitive_unpublished") + columnDistance(column);
  const exact = column.exact === 1 ? w("exact_all") : column.exact ? w("exact_some", { share: percent(column.exact) }) : w("exact_none");
  const facts = { values: counted(column.values, "value"), texts: shown(column.texts), exact };
  return w("column_facts", facts) + columnDistance(column);
}

// One column as a small table: for every bin its share in each of the series, as a number and as a bar.
function columnCard(name, facts, bins, series) {
  const share = (value) => (value === null || value === undefined ? "–" : `${shown(Math.round(1000 * value) / 10)} %`);
  const largest = Math.max(...bins.flatMap((bin) => bin.shares.map((value) => value || 0)));
  const rows = bins.map((bin) => element(
    "tr", {},
    rowHead(bin.label === "" ? w("empty") : bin.label),
    bin.shares.map((value) => cell(share(value), "number")),
    element("td", { class: "drawn", "aria-hidden": "true" }, bin.shares.map((value, i) => bar(value || 0, series[i][1], largest))),
  ));
  const heads = series.map(([text, kind]) => element("th", { scope: "col", class: "number" }, element("i", { class: `key ${kind}` }), text));
  const head = element("tr", {}, element("th", { scope: "col" }, w("value_head")), heads, element("td", { class: "drawn", "aria-hidden": "true" }));
  const table = element("table", { class: "spread" }, element("thead", {}, head), element("tbody", {}, rows));
  return element("div", { class: "card" }, cardHead(name), facts.map((text) => element("p", { class: "quiet" }, text)), wide(table));
}

function columnsBlock(details) {
  const columns = details.columns || [];
  if (!columns.length) return null;
  const series = [[w("before"), "before"], [w("after"), "first"]];
  const cards = columns.map((column) => columnCard(
    column.name, [columnFacts(column)], column.bins.map(([label, ...shares]) => ({ label, shares })), series,
  ));
  return block(w("every_column"), element("p", { class: "small quiet" }, w("even")), element("div", { class: "cards" }, cards));
}

// -- several releases ---------------------------------------------------------------------------------------

const named = (group) => group.map((_, i) => [sideName(i)]);
const detailsOf = (point) => point.details || {};
const marked = (differs) => (differs ? "differs" : null);
const differ = (texts) => texts.some((text) => text !== texts[0]);

function compareColumns(group) {
  const [first, ...others] = group.map((point) => detailsOf(point).columns || []);
  const same = (column) => others.map((columns) => columns.find((other) => other.name === column.name));
  const both = first.filter((column) => same(column).every(Boolean));
  if (!both.length) return null;
  const series = [[w("before"), "before"], ...group.map((_, i) => [sideName(i), SIDES[i]])];
  const cards = both.map((column) => {
    const each = [column, ...same(column)];
    const bins = column.bins.map(([label, before], i) => ({ label, shares: [before, ...each.map((own) => own.bins[i][2])] }));
    const facts = each.map((own, i) => `${sideName(i)}: ${columnFacts(own)}`);
    return columnCard(column.name, facts, bins, series);
  });
  return block(w("every_column_of"), element("p", { class: "small quiet" }, w("even")), element("div", { class: "cards two" }, cards));
}

// A line of texts, one for each release; marked where they differ.
function textRow(title, texts, isCompared = true) {
  const differs = isCompared && differ(texts);
  return element("tr", { class: marked(differs) }, rowHead(differs ? `≠ ${title}` : title), texts.map((text) => cell(text)));
}

function compareSettings(group) {
  const lines = [["in_words", "words"], ["made_by", "anonymizer"], ["required", "requirement"], ["form", "form"], ["id", "id"]];
  const text = (point, key) => (key === "form" && point.baseline ? "" : point[key]) || "–";
  const rows = lines.map(([title, key]) => textRow(w(title), group.map((point) => text(point, key)), key !== "id"));
  return block(w("settings"), wide(table([[""], ...named(group)], element("tbody", {}, rows), "pair")));
}

// The headlines of each, and what was done to their columns.
function compareHeadlines(group) {
  const rows = group[0].headlines.map(({ about }, i) => textRow(about, group.map((point) => point.headlines[i].said)));
  const done = group.map((point) => point.done || "–");
  if (group.some((point) => point.done)) rows.push(textRow(w("done"), done, false));
  return block(w("in_short"), wide(table([[""], ...named(group)], element("tbody", {}, rows), "pair")));
}

// Says which value is the best, in words: colour alone would not reach everybody.
function verdictOf(name, values) {
  if (values.some((value) => value === undefined)) return cell("", "quiet");
  if (!differ(values)) return cell(w(data.public ? "same_rounded" : "same"), "quiet");
  const least = Math.min(...values.map((value) => cost(name, value)));
  const best = SIDES.filter((_, i) => i < values.length && cost(name, values[i]) === least);
  if (values.length > 2) return cell(w(best.length > 1 ? "best_many" : "best_one", { sides: best.map((side) => w(side)).join(w("and")) }), "better");
  return cell(w(best[0] === "first" ? "first_better" : "second_better"), "better");
}

function measureRow({ name, meaning }, group) {
  const values = group.map((point) => point.values[name]);
  const title = element("th", { scope: "row" }, meaning, element("br"), element("code", {}, name));
  return element("tr", {}, title, values.map((value) => cell(written(name, value), "number")), verdictOf(name, values));
}

// How many measures speak for which, of each kind: the sum of the table in a sentence.
function balance(differing, group) {
  const said = ["risk", "utility"].map((kind) => {
    const own = differing.filter((measure) => measure.kind === kind && group.every((point) => measure.name in point.values));
    if (!own.length) return null;
    const least = ({ name }) => Math.min(...group.map((point) => cost(name, point.values[name])));
    const wins = group.map((point) => own.filter((measure) => cost(measure.name, point.values[measure.name]) === least(measure)).length);
    const many = Math.max(...wins);
    const side = sideName(wins.indexOf(many));
    return w(`balance_${kind}_${group.length > 2 ? "three" : "two"}`, { side, count: shown(many), all: shown(own.length) });
  }).filter(Boolean);
  return said.length ? w("balance", { said: said.join("; ") }) : w("no_difference");
}

function compareMeasures(group) {
  const onAxis = ({ name }) => name === state.x || name === state.y;
  const known = data.measures.filter((one) => (!one.plain || onAxis(one)) && group.some((point) => one.name in point.values));
  const differing = known.filter(({ name }) => differ(group.map((point) => point.values[name])));
  const same = known.filter((measure) => !differing.includes(measure));
  const axes = known.filter(onAxis);
  const rest = differing.filter((measure) => !axes.includes(measure));
  const heads = [[w("measure")], ...named(group).map(([side]) => [side, "number"]), [w(group.length > 2 ? "which_best" : "which_better")]];
  const body = (some) => wide(table(heads, element("tbody", {}, some.map((measure) => measureRow(measure, group))), "pair"));
  const folded = (some, text) => (some.length ? element("details", {}, element("summary", {}, text), body(some)) : null);
  return block(
    w("measures"), element("p", {}, balance(differing, group)), body(axes),
    folded(rest, w(rest.length === 1 ? "differing_one" : "differing", { count: shown(rest.length) })),
    folded(same.filter((measure) => !axes.includes(measure)), w("agreeing")),
  );
}

function compareSizes(group) {
  const sizes = group.map((point) => detailsOf(point).sizes || []);
  if (!sizes.some((some) => some.length)) return null;
  const froms = [...new Set(sizes.flat().map((size) => size.from))].sort((a, b) => a - b);
  const largest = Math.max(...sizes.flat().map((size) => size.records));
  const rows = froms.map((from) => {
    const of = sizes.map((some) => some.find((size) => size.from === from));
    const texts = of.map((size) => (size ? sizeTold(size) : "–"));
    const bars = of.map((size, i) => bar(size ? size.records : 0, SIDES[i], largest));
    return element(
      "tr", {}, element("th", { scope: "row" }, sizeRange(of.find(Boolean))), texts.map((text) => cell(text)),
      element("td", { class: "drawn", "aria-hidden": "true" }, bars),
    );
  });
  const heads = [[w("records_in_group")], ...named(group), [""]];
  return block(w("group_sizes_of"), wide(table(heads, element("tbody", {}, rows), "pair spread")));
}

// Releases of one table show the same records, so that one can follow each of them.
function compareRecords(group) {
  const each = group.map((point) => detailsOf(point).records || []);
  if (!each[0].length || each.some((records) => records.length !== each[0].length)) return null;
  const columns = Object.keys(each[0][0].before);
  const line = (title, record, kind) => element(
    "tr", { class: kind }, element("th", { scope: "row" }, title),
    columns.map((name) => publishedCell(record, name)), cell(record.after ? shown(record.size) : "", "number"),
  );
  const rows = each[0].flatMap((record, i) => [
    element("tr", { class: "before" }, element("th", { scope: "row" }, w("before")), columns.map((name) => cell(record.before[name])), cell("")),
    ...each.map((records, j) => line(sideName(j), records[i], j < each.length - 1 ? "after inner" : "after")),
  ]);
  const heads = [[""], ...columns.map((name) => [name]), [w("its_group"), "number"]];
  return block(w(each.length > 2 ? "same_records_three" : "same_records_two"), wide(table(heads, element("tbody", {}, rows), "records")));
}

function compareTables(group) {
  return group.map((point, i) => {
    const details = detailsOf(point);
    const blocks = [budgetBlock(details), tablesBlock(details), worstBlock(details)].flat().filter(Boolean);
    if (!blocks.length) return null;
    const side = element("p", { class: "side" }, element("i", { class: `key ${SIDES[i]}` }), `${sideName(i)}: ${point.id}`);
    return element("div", { class: "block" }, side, blocks);
  }).filter(Boolean);
}
