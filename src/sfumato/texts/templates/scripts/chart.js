// The map: drawn by Vega, with its legend, its axes by choice, and what it is read as.

const FORMS = { "": "all", generalization: "generalization", bucketization: "bucketization" };
let view = null;

// Between which values a point lies, draw by draw; without draws it lies where it is.
function ends(point) {
  const of = (name) => point.intervals[name] || [point.values[name], point.values[name]];
  const [x1, x2] = of(state.x), [y1, y2] = of(state.y);
  return { x1, x2, y1, y2 };
}

function drawn() {
  const best = new Set(frontier());
  const labels = new Map();
  const place = (point) => `${point.values[state.x]} ${point.values[state.y]}`;
  const finite = candidates().filter((p) => Number.isFinite(p.values[state.x]) && Number.isFinite(p.values[state.y]));
  for (const point of finite.filter((one) => one.baseline)) {
    labels.set(place(point), [...(labels.get(place(point)) || []), point.baseline]);
  }
  return finite.map((point) => {
    const label = point.baseline ? (labels.get(place(point)) || []).join(", ") : "";
    if (point.baseline) labels.delete(place(point));
    return {
      id: point.id, x: point.values[state.x], y: point.values[state.y], ...ends(point), family: point.family, form: point.form,
      frontier: best.has(point), verdict: verdictMark(point), baseline: point.baseline !== "", label,
    };
  });
}

// A logarithmic axis has ticks at powers of ten; where fewer than two of them are in sight it is drawn linear.
function axisLook(name, drawnValues) {
  const measure = measures.get(name);
  const least = Math.min(...drawnValues), most = Math.max(...drawnValues);
  const ticks = (measure.ticks || []).filter((tick) => least <= tick && tick <= most);
  const common = { title: measure.title, format: measure.plain ? ".0~%" : ",~r" };
  if (ticks.length < 2) return { axis: common, scale: { type: "linear", zero: true, nice: false, padding: 26 } };
  return { axis: { ...common, values: ticks }, scale: { type: "log", nice: false, padding: 26 } };
}

// The limit is proved for two measures; whichever of them is drawn across, the line is the same.
function limitRows() {
  if (!data.limit || ![state.x, state.y].every((name) => data.limit.axes.includes(name)) || state.x === state.y) return [];
  const turned = state.x !== data.limit.axes[0];
  return data.limit.points.map(([p, u], i) => ({
    x: turned ? u : p, y: turned ? p : u, label: i === data.limit.named ? w("limit") : "",
  }));
}

function specification() {
  const spec = structuredClone(data.spec);
  spec.datasets.points = drawn();
  const floor = limitRows();
  if (floor.length) spec.datasets.limit = floor;
  else spec.layer = spec.layer.filter((layer) => !["limit", "limit label"].includes(layer.name));
  const isSpread = spec.datasets.points.some((row) => row.x1 !== row.x2 || row.y1 !== row.y2);
  if (!isSpread) spec.layer = spec.layer.filter((layer) => layer.mark.type !== "rule");
  for (const layer of spec.layer) {
    for (const axis of ["x", "y"]) {
      Object.assign(layer.encoding[axis], axisLook(state[axis], spec.datasets.points.map((row) => row[axis])));
    }
    for (const channel of ["color", "shape"]) if (layer.encoding[channel]) layer.encoding[channel].legend = null;
    if (layer.mark.type === "line" && layer.name !== "limit") layer.mark.interpolate = measures.get(state.x).step;
  }
  return spec;
}

async function embed(place, spec) {
  const result = await vegaEmbed(place, spec, {
    actions: false, ast: true, renderer: "svg", defaultStyle: false, mode: "vega-lite", tooltip: hover,
  });
  result.view.addEventListener("click", (event, item) => {
    if (item && item.datum && byId.has(item.datum.id)) choose(item.datum.id);
  });
  return result.view;
}

async function draw() {
  const drawnView = await embed("#chart", specification());
  if (view) view.finalize();
  view = drawnView;
  mark();
}

function mark() {
  if (view) view.signal("chosen", state.chosen).runAsync();
}

function hover(handler, event, item, value) {
  const point = value && item && item.datum ? byId.get(item.datum.id) : null;
  const box = document.getElementById("tooltip");
  box.hidden = !point;
  if (!point) return;
  fill(
    "tooltip",
    element("p", {}, point.words),
    [state.x, state.y].map((name) => element("p", {}, `${label(name)} ${written(name, point.values[name])}`)),
    point.worth && point.worth.told ? element("p", {}, point.worth.told) : null,
    element("p", { class: "quiet" }, item.datum.frontier ? w("on_frontier_at", { id: point.id }) : point.id),
  );
  box.style.left = `${Math.min(event.clientX + 16, window.innerWidth - box.offsetWidth - 12)}px`;
  box.style.top = `${Math.min(event.clientY + 16, window.innerHeight - box.offsetHeight - 12)}px`;
}

function direction(axis) {
  const measure = measures.get(state[axis]);
  const way = { x: { lower: "left", higher: "right" }, y: { lower: "down", higher: "up" } }[axis][measure.better];
  const formula = measure.plain ? "" : w("direction_formula", { better: w(`better_${measure.better}`), name: measure.name });
  return w(`direction_${measure.kind}`, { way: w(`way_${way}`), formula });
}

function reading() {
  fill(
    "reading",
    w("reading", { across: direction("x"), upward: direction("y") }),
    limitRows().length ? w("reading_limit") : null,
    data.worth && data.worth.marks ? ` ${data.worth.marks}` : null,
  );
}

function undrawn() {
  const missing = points.filter((point) => isShown(point) && !isMeasured(point));
  const infinite = candidates().filter((p) => ![state.x, state.y].every((name) => Number.isFinite(p.values[name])));
  const name = (point) => point.baseline || `${point.requirement} (${point.form})`;
  const line = (found, why) => {
    if (!found.length) return null;
    const names = separated(found.map((point) => pointButton(point, name(point))));
    const said = w(`undrawn_${why}`, { count: counted(found.length, "release") });
    if (found.length <= 3) return element("p", {}, `${said}: `, names);
    return element("details", {}, element("summary", {}, said), element("p", {}, names));
  };
  fill("undrawn", line(infinite, "infinite"), line(missing, "unmeasured"));
}

// -- legend and controls ------------------------------------------------------------------------------------

function symbol(path, attributes) {
  const space = "http://www.w3.org/2000/svg";
  const image = document.createElementNS(space, "svg");
  image.setAttribute("viewBox", "-7 -7 14 14");
  const shape = document.createElementNS(space, "path");
  for (const [name, value] of Object.entries({ d: path, ...attributes })) shape.setAttribute(name, value);
  image.append(shape);
  return image;
}

function legend() {
  const circle = "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0", triangle = "M0,-5L5.5,4.5L-5.5,4.5Z";
  const diamond = "M0,-6L5,0L0,6L-5,0Z", stairs = "M-7,-4H0V4H7";
  const outline = { fill: "none", stroke: "currentColor", "stroke-width": 1.5 };
  const color = data.spec.layer.find((layer) => layer.encoding.color).encoding.color.scale;
  const entry = (image, text) => element("span", {}, image, text);
  const marked = (verdict) => points.some((point) => verdictMark(point) === verdict);
  const has = (form) => points.some((point) => !point.baseline && point.form === form);
  fill(
    "legend",
    color.domain.map((name, i) => entry(symbol(circle, { fill: color.range[i % color.range.length] }), name)),
    has("generalization") && data.forms.length > 1
      ? entry(symbol(circle, { fill: "currentColor" }), w("generalization")) : null,
    has("bucketization") ? entry(symbol(triangle, { fill: "currentColor" }), w("bucketization")) : null,
    points.some((point) => point.baseline) ? entry(symbol(diamond, outline), w("baseline")) : null,
    entry(symbol(stairs, outline), w("frontier")),
    limitRows().length ? entry(symbol("M-7,-4Q-4,4 7,5", { ...outline, "stroke-dasharray": "3 2" }), w("limit")) : null,
    marked("no better") ? entry(symbol("M-5,-5L5,5M-5,5L5,-5", outline), w("no_better")) : null,
    marked("not shown") ? entry(symbol("M-5,5L5,-5", outline), w("not_shown")) : null,
  );
}

function controls() {
  for (const axis of ["x", "y"]) {
    const kinds = { in_plain_words: (one) => one.plain };
    for (const kind of ["risk", "utility"]) kinds[`kind_${kind}`] = (one) => !one.plain && one.kind === kind;
    const groups = Object.entries(kinds).map(([title, belongs]) => {
      const options = data.measures.filter(belongs).map((one) =>
        element("option", { value: one.name }, `${one.label}: ${one.meaning}`));
      return options.length ? element("optgroup", { label: w(title) }, options) : null;
    });
    const select = fill(axis, groups);
    select.value = state[axis];
    select.addEventListener("change", () => { state[axis] = select.value; update(); });
  }
  document.getElementById("formulas").addEventListener("click", turn);
  const select = fill("form", Object.entries(FORMS).map(([value, text]) => element("option", { value }, w(`form_${text}`))));
  select.addEventListener("change", () => { state.form = select.value; update(); });
  if (data.forms.length < 2) select.parentElement.remove();
  document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());
}

// From the axes that a person understands to the formulas of the study, and back.
function turn() {
  [state.x, state.y] = onFormulas() ? data.axes : data.formulas;
  for (const axis of ["x", "y"]) document.getElementById(axis).value = state[axis];
  update();
}

const onFormulas = () => data.formulas.every((name, i) => name === [state.x, state.y][i]);

function explainAxes() {
  const way = document.getElementById("formulas");
  way.hidden = data.formulas.every((name, i) => name === data.axes[i]);
  way.textContent = onFormulas() ? w("show_plain") : w("show_formulas", { names: data.formulas.join(w("and")) });
  for (const axis of ["x", "y"]) {
    const measure = measures.get(state[axis]);
    const said = { kind: w(`kind_${measure.kind}`), meaning: measure.meaning, better: w(`better_${measure.better}`) };
    fill(`${axis}-meaning`, w("axis_meaning", said));
  }
}
