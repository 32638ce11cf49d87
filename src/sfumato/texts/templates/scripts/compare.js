// The report's choice of two releases to see side by side.

state.other = "";

function pairSelects() {
  const options = (chosen) => [
    element("option", { value: "" }, w("r_choose")),
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
    const kept = state.other && pair[1] ? w("r_kept_second", { id: state.other }) : "";
    fill("compared", element("p", { class: "quiet" }, kept, w("r_choose_two")));
    return;
  }
  fill(
    "compared",
    element("h3", {}, w("r_beside", { first: pair[0].id, second: pair[1].id })),
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
