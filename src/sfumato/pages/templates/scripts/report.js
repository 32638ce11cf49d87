// The report: tables, the chosen release, and how they follow a click.

// -- the chosen point ---------------------------------------------------------------------------------------

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
  Promise.all([worth(), update()]).then(() => document.body.setAttribute("data-ready", ""));
}
