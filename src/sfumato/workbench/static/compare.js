// Two or three releases side by side, drawn as the report draws two.
import { data as given, t } from "/static/api.js";
import { recordsButton } from "/static/records.js";

take(given);
Object.assign(depths, { block: 2, card: 3 });
const here = `/projects/${encodeURIComponent(given.project)}`;
const form = document.getElementById("choice");
form.addEventListener("change", () => {
  const ids = [...form.querySelectorAll("select")].map((select) => select.value).filter(Boolean);
  location.assign(`${here}/compare?points=${[...new Set(ids)].join(",")}`);
});

if (points.length > 1) {
  document.getElementById("told").hidden = true;
  const blocks = [compareHeadlines, compareSettings, compareMeasures, compareSizes, compareFidelity, compareColumns, compareTables];
  document.getElementById("compared").append(...blocks.flatMap((each) => each(points)).filter(Boolean));
  for (const head of document.querySelectorAll("#compared table.pair thead")) linkHeads(head);
  const sample = document.getElementById("sample");
  sample.hidden = points.some((point) => !point.records);
  document.getElementById("masked").textContent = t("point.records_masked", { count: points[0].records });
  recordsButton(points.map((point) => `/api${here}/points/${point.id}/records`), (samples) => {
    const group = points.map((point, i) => ({ ...point, details: samples[i] }));
    return [compareRecords(group), compareTables(group)];
  });
}

// The name of a side leads to its release.
function linkHeads(head) {
  for (const cell of head.querySelectorAll("th")) {
    const side = SIDES.findIndex((_, i) => i < points.length && sideName(i) === cell.textContent);
    if (side >= 0) cell.replaceChildren(element("i", { class: `key ${SIDES[side]}` }), element("a", { href: `${here}/points/${points[side].id}` }, `${sideName(side)}: ${points[side].id}`));
  }
}
document.body.setAttribute("data-ready", "");
