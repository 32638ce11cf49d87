// The frontier step by step, all releases, and where one of them stands among them.

const valueHeads = () => [state.x, state.y].map((name) => [label(name), "number"]);
const valueCells = (point) => [state.x, state.y].map((name) => cell(written(name, point.values[name]), "number"));

function nameCell(point) {
  const code = (text) => element("code", {}, text);
  const more = point.baseline ? element("span", { class: "tag" }, w("baseline")) : code(`· ${point.requirement}`);
  return element("td", {}, pointButton(point, point.words), element("br"), code(point.id), " ", more);
}

function change(name, from, to) {
  const difference = to.values[name] - from.values[name];
  if (Number.isNaN(difference) || difference === 0) return element("span", {}, w("unchanged", { name: label(name) }));
  const kind = cost(name, difference) < 0 ? "better" : "worse";
  const amount = isPlain(name) ? w("points", { number: shown(Number((100 * difference).toPrecision(2))) }) : shown(difference);
  return element("span", { class: kind }, `${label(name)} ${difference > 0 ? "+" : ""}${amount}`);
}

function stepCell(point, next) {
  if (!next) return cell(w("the_end"), "step quiet");
  return element("td", { class: "step" }, change(state.x, point, next), element("br"), change(state.y, point, next));
}

function frontierTable() {
  const best = frontier();
  const rows = best.map((point, i) => {
    const marked = { "data-id": point.id, class: point.id === state.chosen ? "chosen" : null };
    return element("tr", marked, nameCell(point), valueCells(point), stepCell(point, best[i + 1]));
  });
  const made = table([[w("release")], ...valueHeads(), [w("further")]], element("tbody", {}, rows));
  fill("frontier-table", ...made.childNodes);
  const exact = best.filter((point) => !point.baseline && point.form === "bucketization").length;
  fill(
    "frontier-reading",
    w("frontier_reading", { count: counted(best.length, "release"), all: shown(candidates().length), across: label(state.x), upward: label(state.y) }),
    exact ? w("frontier_exact", { count: shown(exact) }) : null,
  );
}

function allTable() {
  if (!document.getElementById("all").open) return;
  const best = new Set(frontier());
  const rows = points.filter(isShown).map((point) => {
    const tag = best.has(point) ? element("span", { class: "tag on" }, w("frontier")) : "";
    return element("tr", {}, nameCell(point), valueCells(point), cell(tag));
  });
  const made = table([[w("release")], ...valueHeads(), [""]], element("tbody", {}, rows));
  fill("all-table", ...made.childNodes);
}

function standing(point) {
  if (!isMeasured(point)) return element("p", {}, w("not_on_axes"));
  const own = costs(point);
  const better = frontier().filter((other) => beats(costs(other), own));
  const equal = candidates().filter((other) => other !== point && costs(other).every((value, i) => value === own[i]));
  const buttons = equal.slice(0, 5).map((other) => pointButton(other, other.id));
  const same = equal.length ? element("p", {}, w("same_place"), separated(buttons)) : null;
  if (!better.length) return [element("p", {}, element("span", { class: "tag on" }, w("on_frontier"))), same];
  const other = better[Math.floor((better.length - 1) / 2)];
  return [element("p", {}, w("beaten_by"), element("br"), pointButton(other, other.words)), same];
}
