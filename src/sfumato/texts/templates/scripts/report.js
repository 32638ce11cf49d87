// The report: tables, the chosen release, and how they follow a click.

// -- the chosen point ---------------------------------------------------------------------------------------

function summary() {
  const point = byId.get(state.chosen);
  if (!point) {
    fill("summary", element("p", { class: "quiet" }, w("r_hint")));
    return;
  }
  const figures = [...new Set([state.x, state.y])].map((name) =>
    element("div", {}, element("b", {}, written(name, point.values[name])), isPlain(name) ? measures.get(name).meaning : name));
  fill(
    "summary",
    element("p", {}, point.words),
    element("div", { class: "figures" }, figures),
    standing(point),
    point.worth && point.worth.told ? element("p", {}, w("r_learning", { column: point.worth.target, told: point.worth.told })) : null,
    element("p", {}, link(w("r_everything"), showPanel)),
    element("p", {}, keepButton(point)),
  );
}

function keepButton(point) {
  const kept = byId.get(state.other);
  if (kept && kept !== point) return link(w("r_side_by_side", { id: kept.id }), () => showSection("compare"));
  if (kept) return element("span", { class: "quiet" }, w("r_kept"));
  return link(w("r_keep"), () => keepToCompare(point.id));
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
  fill(
    "point",
    element("h2", {}, w("r_chosen")),
    element("h3", {}, point.words),
    element("p", { class: "quiet" }, element("code", {}, setting)),
    exact ? element("p", { class: "note" }, w("r_exact")) : null,
    point.worth ? element("p", { class: verdictMark(point) ? "note" : null }, point.worth.said) : null,
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

// -- choosing a release --------------------------------------------------------------------------------------

function listen() {
  for (const button of document.querySelectorAll("button[data-point]")) {
    button.addEventListener("click", () => choose(button.dataset.point, true));
  }
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
  take(JSON.parse(document.getElementById("data").textContent));
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
  listen();
  update().then(() => document.body.setAttribute("data-ready", ""));
}
