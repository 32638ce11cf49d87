// What is known of one release, block by block.

// The three headlines, and what was done to each column.
function headlinesBlock(point) {
  const formulas = (names) => names.map((name) => `${name} ${shown(point.values[name])}`).join(", ");
  const one = ({ about, said, measures: names }) => element(
    "div", {}, element("h4", {}, about), element("p", {}, said), names.length ? element("code", {}, formulas(names)) : null,
  );
  return [
    element("div", { class: "headlines" }, point.headlines.map(one)),
    point.done ? element("p", { class: "done" }, element("b", {}, w("what_was_done")), point.done) : null,
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
    const formula = element("small", {}, element("code", {}, name), ` ${w("is_better", { meaning, better: w(`better_${better}`) })}`);
    const said = element("th", { scope: "row" }, point.sentences[name], element("br"), formula);
    return element("tr", {}, said, cell(shown(point.values[name]), "number"), isScaled ? placeCell(point, name) : null);
  });
  const title = w(kind);
  const heads = [[title], [w("value"), "number"], ...(isScaled ? [[w("of_original"), "number"]] : [])];
  return element("div", {}, table(heads, element("tbody", {}, rows), "measures"));
}

function foldedMeasures(point) {
  const many = Object.keys(point.measures).length;
  return element(
    "details", { class: "all-measures" },
    element("summary", {}, w("all_measures", { count: shown(many) })),
    Object.keys(point.places).length ? element("p", { class: "quiet" }, w("scale")) : null,
    element("div", { class: "columns" }, measuresBlock(point, "risk"), measuresBlock(point, "utility")),
  );
}

function sizeRange(size) {
  if (size.from === size.to) return shown(size.from);
  return size.to > 1e8 ? `${shown(size.from)}+` : `${shown(size.from)}–${shown(size.to)}`;
}

const sizeTold = (size) => w("sizes", { groups: counted(size.groups, "group"), records: counted(size.records, "record") });

function sizesBlock(details) {
  const sizes = details.sizes || [];
  if (!sizes.length) return null;
  const largest = Math.max(...sizes.map((size) => size.records));
  const cells = sizes.flatMap((size) => {
    const bar = element("i");
    bar.style.width = `${(100 * size.records) / largest}%`;
    const many = sizeTold(size);
    return [
      element("span", { class: "from" }, sizeRange(size)),
      element("span", { class: "bar" }, bar),
      element("span", { class: "many" }, many),
    ];
  });
  const title = w("group_sizes", { groups: counted(details.groups, "group") });
  return block(title, element("div", { class: "bars" }, cells));
}

function worstBlock(details) {
  const worst = details.worst || [];
  if (!worst.length) return null;
  const columns = Object.keys(worst[0].quasi);
  const heads = [...columns.map((name) => [name]), [w("records"), "number"]];
  const told = worst[0].attribute !== undefined;
  if (told) {
    heads.push([w("commonest", { column: worst[0].attribute })]);
    heads.push(...[w("in_group"), w("in_table"), "p_loss"].map((text) => [text, "number"]));
  }
  const rows = worst.map((group) => {
    const cells = [...columns.map((name) => cell(group.quasi[name])), cell(shown(group.size), "number")];
    if (told) {
      const numbersOf = [percent(group.share), percent(group.share_in_table), shown(group.p_loss)];
      cells.push(cell(group.commonest), ...numbersOf.map((text) => cell(text, "number")));
    }
    return element("tr", {}, cells);
  });
  const title = w(told ? "worst_groups" : "smallest_groups");
  return block(title, wide(table(heads, element("tbody", {}, rows), "groups")));
}

// What is published of a record in one column; a record may be left out.
function publishedCell(record, name) {
  if (!record.after) return cell(w("left_out"), "quiet");
  const text = name in record.after ? record.after[name] : w("not_published");
  return cell(text, text === record.before[name] ? "same" : null);
}

function recordsBlock(details) {
  const records = details.records || [];
  if (!records.length) return null;
  const columns = Object.keys(records[0].before);
  const rows = records.flatMap((record) => [
    element("tr", { class: "before" }, rowHead(w("before")), columns.map((name) => cell(record.before[name])), cell("")),
    element(
      "tr", { class: "after" },
      rowHead(w("after")), columns.map((name) => publishedCell(record, name)),
      cell(record.after ? shown(record.size) : "", "number"),
    ),
  ]);
  const heads = [[""], ...columns.map((name) => [name]), [w("its_group"), "number"]];
  return block(w("some_records"), wide(table(heads, element("tbody", {}, rows), "records")));
}

// What the budget of a differentially private release was spent on.
function budgetBlock(details) {
  if (!details.by_purpose) return null;
  const rows = Object.entries(details.by_purpose).map(([what, epsilon]) => [what, epsilon]);
  const levels = details.by_level.map(([level, epsilon]) => [w("level", { level }), epsilon]);
  const line = ([what, epsilon]) => element("tr", {}, cell(what), cell(shown(epsilon), "number"));
  const body = element("tbody", {}, [...rows, ...levels, [w("in_all"), details.epsilon]].map(line));
  const title = w("budget", { epsilon: shown(details.epsilon), boxes: shown(details.groups) });
  const unit = details.neighbours ? [element("p", {}, `${w("neighbours")}: ${details.neighbours}.`)] : [];
  return block(title, ...unit, table([[w("spent_on")], [w("epsilon"), "number"]], body));
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
    return element("p", { class: "block quiet" }, w("only_compared"));
  }
  const text = element("code", { id: "command" }, point.command);
  const copy = element("button", { class: "plain", type: "button", onclick: () => {
    window.getSelection().selectAllChildren(text);
    if (!navigator.clipboard) return;
    navigator.clipboard.writeText(point.command).then(() => { copy.textContent = w("copied"); }, () => {});
  } }, w("copy"));
  return block(w("the_command"), element("div", { class: "command" }, text, copy));
}
