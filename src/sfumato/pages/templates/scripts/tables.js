// The frontier step by step, all releases, and where one of them stands among them.

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
