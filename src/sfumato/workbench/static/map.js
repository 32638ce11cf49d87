// The page of the map: what report pages draw of a map, with bounds to drag, a lasso, and questions.
import { call, data as given, t } from "/static/api.js";
import { listen } from "/static/events.js";
import { answer, outward, typed } from "/static/bounds.js";

const here = `/projects/${encodeURIComponent(given.project)}`;
const api = `/api${here}`;
const AXES = ["x", "y"];
const DIGITS = 3;
const STEP = 0.01;
const LEAST_DRAG = 6;
const MOST_COMPARED = 3;
const REFRESH_MS = 1500;
const SEARCH = "60s";
const bounds = { x: null, y: null };
const selected = new Set();
let plot = null;
let lassoed = false;
take(given);

const byName = (id) => document.getElementById(id);
const pointLink = (point) => element("a", { href: `${here}/points/${point.id}` }, t("map.everything"));
const publishLink = (point) => (point.refused ? null : element("a", { class: "button", href: `${here}/publish?point=${point.id}` }, t("map.publish")));
const actions = (...made) => element("p", { class: "actions" }, made.filter(Boolean).flatMap((each) => [each, " "]));

// -- where things are on the chart ----------------------------------------------------------------------------

// The frame of the plot in pixels, and its scales; read once after Vega has drawn.
function measurePlot() {
  const pad = view.padding();
  const [left, top] = view.origin();
  const side = (name) => (typeof pad === "number" ? pad : pad[name] || 0);
  plot = { left: left + side("left"), top: top + side("top"), width: view.width(), height: view.height(), x: view.scale("x"), y: view.scale("y") };
  const overlay = byName("overlay");
  const box = byName("chart").getBoundingClientRect();
  overlay.setAttribute("width", box.width);
  overlay.setAttribute("height", box.height);
}

const pixel = (axis, value) => (axis === "x" ? plot.left : plot.top) + plot[axis](value);
const start = (axis) => (axis === "x" ? plot.left : plot.top);
const length = (axis) => (axis === "x" ? plot.width : plot.height);
const measureOf = (axis) => measures.get(state[axis]);
const domain = (axis) => plot[axis].domain();

// Where the worse values end: there a line stands that bounds nothing.
function worstPixel(axis) {
  const isLow = measureOf(axis).better === "lower";
  return start(axis) + (axis === "x" ? (isLow ? length(axis) : 0) : isLow ? 0 : length(axis));
}

function valueAt(axis, at) {
  const from = start(axis), to = from + length(axis);
  const inside = Math.min(Math.max(at, from), to);
  if (Math.abs(inside - worstPixel(axis)) < 1) return null;
  return Number(sensible(axis, plot[axis].invert(inside - from)).toPrecision(DIGITS));
}

// The frame is wider than what is drawn in it: nothing is bounded below 0 where all are above it, nor a share beyond all.
function sensible(axis, value) {
  const name = state[axis];
  const low = points.every((point) => !(point.values[name] < 0)) ? 0 : -Infinity;
  return Math.min(Math.max(value, low), isPlain(name) ? 1 : Infinity);
}

// -- bounds ---------------------------------------------------------------------------------------------------

const given_bounds = () => AXES.filter((axis) => bounds[axis] !== null).map((axis) => [state[axis], bounds[axis]]);
const bounded = (name, value) => t(measures.get(name).better === "lower" ? "map.bound_max" : "map.bound_min", { name: label(name) }) + ` ${written(name, value)}`;

function setBound(axis, value) {
  bounds[axis] = value;
  drawBounds();
  tellAnswer();
}

function shapes(name, all) {
  const space = "http://www.w3.org/2000/svg";
  return all.map((attributes) => {
    const made = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  });
}

// What lies over the chart: what is cut off, the two lines, the knee, the best, what is selected.
function drawBounds(best = answered().best) {
  if (!plot) return;
  const at = Object.fromEntries(AXES.map((axis) => [axis, bounds[axis] === null ? worstPixel(axis) : clamped(axis, pixel(axis, bounds[axis]))]));
  const cut = [];
  const { left, top, width, height } = plot;
  const isRight = measureOf("x").better === "lower", isAbove = measureOf("y").better === "lower";
  cut.push({ class: "cut", x: isRight ? at.x : left, y: top, width: isRight ? left + width - at.x : at.x - left, height });
  cut.push({ class: "cut", x: left, y: isAbove ? top : at.y, width, height: isAbove ? at.y - top : top + height - at.y });
  const lines = [{ class: "line", x1: at.x, x2: at.x, y1: top, y2: top + height }, { class: "line", x1: left, x2: left + width, y1: at.y, y2: at.y }];
  byName("overlay").replaceChildren(...shapes("rect", cut), ...shapes("line", lines), ...rings(best));
  place("x", at.x, isAbove ? top + height + 2 : top - 2);  // where the other line begins to bound is the other end
  place("y", left + width + 2, at.y);
}

const clamped = (axis, at) => Math.min(Math.max(at, start(axis)), start(axis) + length(axis));

function rings(best) {
  const spot = (point, kind, r) => ({ class: kind, cx: pixel("x", point.values[state.x]), cy: pixel("y", point.values[state.y]), r });
  const isDrawn = (point) => point && AXES.every((axis) => Number.isFinite(point.values[state[axis]])) && isShown(point);
  const all = [...selected].map((id) => byId.get(id)).filter(isDrawn).map((point) => spot(point, "picked", 8));
  const knee = byId.get(data.knee);
  if (isDrawn(knee)) all.push(spot(knee, "knee", 11));
  if (isDrawn(best) && given_bounds().length) all.push(spot(best, "best", 10));
  return shapes("circle", all);
}

// A handle says by itself which bound it is, for who cannot see where it stands.
function place(axis, x, y) {
  const handle = byName(`handle-${axis}`), measure = measureOf(axis), [low, high] = domain(axis);
  handle.style.left = `${x}px`;
  handle.style.top = `${y}px`;
  const value = bounds[axis];
  const worst = measure.better === "lower" ? high : low;
  const said = value === null ? t("map.bound_none") : bounded(state[axis], value);
  const attributes = { "aria-label": `${t(`map.bound_${axis}`)}: ${measure.label}`, "aria-valuemin": Math.min(low, high), "aria-valuemax": Math.max(low, high), "aria-valuenow": value ?? worst, "aria-valuetext": said };
  for (const [name, text] of Object.entries(attributes)) handle.setAttribute(name, text);
  const field = byName(`bound-${axis}`);
  if (document.activeElement !== field) field.value = value === null ? "" : measure.plain ? `${Number((100 * value).toPrecision(DIGITS))} %` : value;
}

function labelBounds() {
  for (const axis of AXES) {
    const way = measureOf(axis).better === "lower" ? "map.bound_max" : "map.bound_min";
    const place = byName(`bound-${axis}-label`);
    place.textContent = t(way, { name: measureOf(axis).label });
    place.title = measureOf(axis).meaning;
  }
  const choice = byName("prefer");
  const kept = choice.value;
  choice.replaceChildren(...AXES.map((axis) => element("option", { value: axis }, measureOf(axis).label)));
  choice.value = kept || "y";
}

function answered() {
  const asked = state[byName("prefer").value || "y"];
  return answer(points.filter(isShown), measures, asked, given_bounds());
}

// Tell the best release within the bounds, at once; where there is none, what would have to be moved.
function tellAnswer() {
  const found = answered(), set = given_bounds(), asked = state[byName("prefer").value || "y"];
  drawBounds(found.best);
  const count = t(found.inside.length === 1 ? "map.inside_one" : "map.inside", { count: shown(found.inside.length), all: shown(found.counted.length) });
  const more = [["left_out", found.refused], ["passed_over", found.passedOver]].filter(([, some]) => some.length)
    .map(([name, some]) => element("p", { class: "hint" }, t(`map.${name}`, { count: shown(some.length) })));
  if (!found.best) {
    fill("answer", element("p", { class: "note" }, t("map.nothing")), found.relax.map(relaxing), more);
    return;
  }
  if (!set.length) {
    fill("answer", element("p", { class: "hint" }, found.counted.length === 1 ? t("map.unbounded_one") : t("map.unbounded", { all: shown(found.counted.length) })), more);
    return;
  }
  const { best } = found;
  const values = [...new Set(AXES.map((axis) => state[axis]))].map((name) =>
    element("div", {}, element("b", {}, written(name, best.values[name])), label(name)));
  fill(
    "answer", element("p", { class: "hint" }, count),
    element("p", {}, `${t("map.best", { measure: label(asked) })} `, pointButton(best, best.id), `: ${best.words}.`),
    best.warnings.map((text) => element("p", { class: "note" }, text)),
    element("div", { class: "figures" }, values), actions(publishLink(best), pointLink(best)), more, asCommand(asked, set),
  );
}

function relaxing({ name, value, point }) {
  if (value === null) return element("p", {}, t("map.relax_never", { name: label(name) }));
  const loose = outward(measures.get(name), value);
  const axis = AXES.find((each) => state[each] === name);
  return element("p", {}, t("map.relax", { bound: bounded(name, loose), words: `${point.id} (${point.words})` }), " ",
    link(t("map.relax_do"), () => setBound(axis, loose)));
}

function asCommand(asked, set) {
  if ([asked, ...set.map(([name]) => name)].some(isPlain)) return element("p", { class: "hint" }, t("map.plain_command"));
  const question = typed(asked, set);
  return element("p", { class: "hint" }, `${t("map.as_command")} `, link(question, () => ask(question)), element("br"),
    element("code", {}, `sfumato ask ${given.project} "${question}"`));
}

// -- dragging, by mouse and by keys ---------------------------------------------------------------------------

function draggable(axis) {
  const handle = byName(`handle-${axis}`);
  handle.addEventListener("pointerdown", (event) => { handle.setPointerCapture(event.pointerId); event.preventDefault(); handle.focus(); });
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const box = byName("chart").getBoundingClientRect();
    setBound(axis, valueAt(axis, axis === "x" ? event.clientX - box.left : event.clientY - box.top));
  });
  handle.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowDown: axis === "x" ? -1 : 1, ArrowRight: 1, ArrowUp: axis === "x" ? 1 : -1, PageUp: axis === "x" ? 10 : -10, PageDown: axis === "x" ? -10 : 10 }[event.key];
    const ends = { Home: start(axis), End: start(axis) + length(axis) }[event.key];
    if (steps === undefined && ends === undefined) return;
    event.preventDefault();
    const now = bounds[axis] === null ? worstPixel(axis) : pixel(axis, bounds[axis]);
    setBound(axis, moved(axis, ends ?? now + steps * Math.max(STEP * length(axis), 1)));
  });
  const field = byName(`bound-${axis}`);
  field.addEventListener("input", () => {
    const text = field.value.trim();
    const value = Number(text.replace("%", "")) / (text.endsWith("%") || (isPlain(state[axis]) && Number(text) > 1) ? 100 : 1);
    field.setAttribute("aria-invalid", String(text !== "" && !Number.isFinite(value)));
    if (text === "") setBound(axis, null);
    else if (Number.isFinite(value)) setBound(axis, value);
  });
}

// A step of the keys moves a line even where rounding to few digits would keep it.
function moved(axis, at) {
  const value = valueAt(axis, at);
  if (value === null || value !== bounds[axis]) return value;
  return sensible(axis, plot[axis].invert(clamped(axis, at) - start(axis)));
}

// -- lasso ----------------------------------------------------------------------------------------------------

function within([x, y], path) {
  let isIn = false;
  for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
    const [x1, y1] = path[i], [x2, y2] = path[j];
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) isIn = !isIn;
  }
  return isIn;
}

function lasso() {
  const chart = byName("chart");
  let path = null;
  const at = (event) => { const box = chart.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  chart.addEventListener("pointerdown", (event) => { if (event.button === 0) path = [at(event)]; });
  window.addEventListener("pointermove", (event) => {
    if (!path) return;
    const here = at(event);
    if (path.length === 1 && Math.hypot(here[0] - path[0][0], here[1] - path[0][1]) < LEAST_DRAG) return;
    path.push(here);
    const overlay = byName("overlay");
    overlay.querySelector(".lasso")?.remove();
    overlay.append(...shapes("polygon", [{ class: "lasso", points: path.map((each) => each.join(",")).join(" ") }]));
  });
  window.addEventListener("pointerup", () => {
    if (!path) return;
    const drawn = path;
    path = null;
    if (drawn.length < 3) return;
    lassoed = true;
    setTimeout(() => { lassoed = false; });
    const spot = (point) => AXES.map((axis) => pixel(axis, point.values[state[axis]]));
    const finite = candidates().filter((point) => AXES.every((axis) => Number.isFinite(point.values[state[axis]])));
    select(finite.filter((point) => within(spot(point), drawn)).map((point) => point.id));
  });
}

function select(ids) {
  selected.clear();
  for (const id of ids) selected.add(id);
  tellSelection();
  drawBounds();
}

function toggle(id) {
  if (!selected.delete(id)) selected.add(id);
  tellSelection();
  summary();
  drawBounds();
}

function tellSelection() {
  const some = [...selected].map((id) => byId.get(id)).filter(Boolean);
  if (!some.length) return fill("selection", element("p", { class: "hint" }, t("map.selected_hint")));
  const rows = some.map((point) => element("tr", {}, nameCell(point), valueCells(point), element("td", {}, link(t("map.unselect"), () => toggle(point.id)))));
  const canCompare = some.length >= 2 && some.length <= MOST_COMPARED;
  const compare = element("a", { class: "button main", href: `${here}/compare?points=${some.map((point) => point.id).join(",")}` }, t("map.compare"));
  return fill(
    "selection", canCompare ? null : element("p", { class: "hint" }, t("map.selected_many", { count: shown(some.length) })),
    wide(table([[t("drawing.release")], ...valueHeads(), [""]], element("tbody", {}, rows))),
    actions(canCompare ? compare : null, element("button", { type: "button", onclick: () => select([]) }, t("map.clear"))),
  );
}

// -- the chosen release ---------------------------------------------------------------------------------------

function summary() {
  const point = byId.get(state.chosen);
  if (!point) return;
  fill(
    "summary", element("h2", {}, t("map.chosen_title")), element("p", {}, element("code", {}, point.id), ` ${point.words}.`),
    point.refused ? element("p", { class: "note" }, t("point.refused", { why: point.refused })) : null,
    point.headlines.map(({ about, said }) => element("p", {}, element("b", {}, `${about}. `), said)),
    standing(point),
    actions(publishLink(point), pointLink(point), element("button", { type: "button", onclick: () => toggle(point.id) }, t(selected.has(point.id) ? "map.unselect" : "map.select"))),
  );
}

window.choose = (id, scroll) => {
  if (lassoed) return;
  state.chosen = id;
  history.replaceState(null, "", `#${id}`);
  mark();
  summary();
  for (const row of document.querySelectorAll("#frontier-table tr[data-id]")) row.classList.toggle("chosen", row.dataset.id === id);
  if (scroll) byName("summary").scrollIntoView({ block: "nearest", behavior: "smooth" });
};

// -- questions and recommendations ----------------------------------------------------------------------------

const listed = (title, texts) => (texts && texts.length ? [element("h3", {}, title), element("ul", {}, texts.map((text) => element("li", {}, text)))] : null);
const headlinesOf = (headlines) => element("div", { class: "headlines" }, headlines.map(({ about, said }) => element("div", {}, element("h3", {}, about), element("p", {}, said))));
const goTo = (id) => actions(element("button", { type: "button", onclick: () => window.choose(id, true) }, id), byId.has(id) ? publishLink(byId.get(id)) : null, byId.has(id) ? pointLink(byId.get(id)) : null);

async function ask(question) {
  byName("question").value = question;
  byName("ask-error").textContent = "";
  try {
    tellReply(await call("GET", `${api}/map/ask?question=${encodeURIComponent(question)}`));
  } catch (error) {
    fill("reply");
    byName("ask-error").textContent = error.message;
  }
}

function tellReply(reply) {
  const words = (some) => some.map((each) => each.words);
  const search = element("button", { type: "button", onclick: () => searchOn(reply.question) }, t("map.search"));
  if (!reply.answer) {
    fill("reply", listed(t("map.choose_none"), reply.why), actions(search));
    return;
  }
  fill(
    "reply", element("p", {}, reply.answer.words), headlinesOf(reply.headlines), reply.done ? element("p", { class: "done" }, element("b", {}, `${t("point.done")}: `), reply.done) : null,
    listed(t("map.others"), words(reply.others)), listed(t("map.neighbours"), reply.neighbours.map((each) => each.words)),
    listed(t("map.relaxed"), words(reply.relaxed)),
    listed(t("map.by_maker"), [reply.tried].filter(Boolean)),
    listed(t("map.how_far"), [reply.bound ? reply.bound.words : reply.why_no_bound]), listed(t("map.not_counted"), reply.notes),
    goTo(reply.answer.id), actions(search),
  );
}

async function searchOn(question) {
  try {
    await call("POST", `${api}/run`, { budget: SEARCH, question });
    byName("ask-error").textContent = "";
    searched = question;
    tellLive(t("map.search_started"));
    listening();
  } catch (error) {
    byName("ask-error").textContent = error.message;
  }
}

async function recommend(recipient) {
  for (const button of document.querySelectorAll("[data-for]")) button.setAttribute("aria-pressed", String(button.dataset.for === recipient));
  const choice = await call("GET", `${api}/map/choose?for=${encodeURIComponent(recipient)}`);
  if (!choice.point) {
    fill("recommendation", listed(t("map.choose_none"), [...choice.why, ...choice.impossible]));
    return;
  }
  fill(
    "recommendation", element("p", {}, element("b", {}, choice.point.id), ` ${choice.words}.`), headlinesOf(choice.headlines),
    choice.done ? element("p", { class: "done" }, element("b", {}, `${t("point.done")}: `), choice.done) : null,
    listed(t("map.choose_why"), choice.why), listed(t("map.choose_before"), choice.warnings),
    listed(t("map.choose_worth"), choice.worth ? [choice.worth] : []),
    listed(t("map.choose_around"), choice.neighbours.map((each) => `${each.side}: ${each.said}`)), goTo(choice.point.id),
    element("p", { class: "hint" }, `${t("map.choose_command")} `, element("code", {}, choice.command)),
  );
}

// -- live -----------------------------------------------------------------------------------------------------

function tellLive(text) {
  const place = byName("live");
  place.hidden = !text;
  place.textContent = text;
}

let due = null;
let searched = "";

// Follow a run: what it has measured is asked for at most so often, and put on the map.
function listening() {
  listen(given.project, {
    progress: (run) => tellLive(run.total > 0 ? t("map.running", { sentence: run.sentence, done: shown(Math.round(run.done)), total: shown(Math.round(run.total)), unit: run.unit }) : run.sentence),
    point: () => { due ??= setTimeout(refresh, REFRESH_MS); },
    end: async (run) => {
      await refresh();
      tellLive(t("map.run_ended", { sentence: run.sentence }));
      if (searched) ask(searched);
      searched = "";
    },
  });
}

async function refresh() {
  clearTimeout(due);
  due = null;
  const families = (content) => JSON.stringify(content.spec.layer.map((layer) => layer.encoding.color));
  const before = families(data);
  take(await call("GET", `${api}/map`));
  if (before !== families(data)) return window.update();
  view.data("points", drawn());
  await view.runAsync();
  return told();
}

// -- together -------------------------------------------------------------------------------------------------

window.update = async () => {
  explainAxes();
  legend();
  ownLegend();
  reading();
  labelBounds();
  await draw();
  told();
};

// Everything around the chart, once it is drawn.
function told() {
  measurePlot();
  undrawn();
  tellAnswer();
  frontierTable();
  allTable();
  summary();
  tellSelection();
}

function ownLegend() {
  const outline = { fill: "none", stroke: "currentColor", "stroke-width": 1.5 };
  const entries = [["M-6,0a6,6 0 1,0 12,0a6,6 0 1,0 -12,0", { ...outline, "stroke-dasharray": "2 2" }, "legend_knee"], ["M0,-7V7", { ...outline, "stroke-dasharray": "4 2" }, "legend_bound"]];
  byName("legend").append(...entries.map(([path, look, text]) => element("span", {}, symbol(path, look), t(`map.${text}`))));
}

async function begin() {
  controls();
  for (const axis of AXES) {
    draggable(axis);
    byName(axis).addEventListener("change", () => { bounds[axis] = null; }, { capture: true });
  }
  byName("formulas").addEventListener("click", () => { bounds.x = bounds.y = null; }, { capture: true });
  byName("prefer").addEventListener("change", tellAnswer);
  byName("unbound").addEventListener("click", () => { bounds.x = bounds.y = null; tellAnswer(); });
  byName("all").addEventListener("toggle", allTable);
  byName("ask").addEventListener("submit", (event) => { event.preventDefault(); ask(byName("question").value); });
  for (const button of document.querySelectorAll("[data-question]")) button.addEventListener("click", () => ask(button.dataset.question));
  for (const button of document.querySelectorAll("[data-for]")) button.addEventListener("click", () => recommend(button.dataset.for));
  lasso();
  if (byId.has(location.hash.slice(1))) state.chosen = location.hash.slice(1);
  await window.update();
  new ResizeObserver(() => requestAnimationFrame(() => { if (view) { measurePlot(); drawBounds(); } })).observe(byName("chart"));
  if (given.running) listening();
  await recommend("");
  document.body.setAttribute("data-ready", "");
}

begin();
