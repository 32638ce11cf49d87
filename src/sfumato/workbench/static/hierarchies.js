// The editor of hierarchies: groups by dragging and choosing, cuts by dragging and by the keyboard.
import { call, t } from "./api.js";
import { api, attempt, onPage, pageData, renew, version } from "./before.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 800;
const TALL = 120;
const ROW = 34;

const change = (body) => attempt(async () => {
  await call("POST", api("hierarchies"), { column: pageData().column, version: version(), ...body });
  await renew();
}, () => document.getElementById("hierarchy-wrong"));

const pathOf = (item) => item.dataset.path;
const chosen = () => [...document.querySelectorAll("#tree input:checked")].map((each) => pathOf(each.closest("li")));

// Ask for a name where the name stands.
function renameAt(place, label, act) {
  const input = document.createElement("input");
  input.value = label;
  input.setAttribute("aria-label", t("hierarchies.rename_of", { label }));
  const back = () => input.replaceWith(place);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); input.removeEventListener("blur", back); act(input.value); }
    if (event.key === "Escape") back();
  });
  input.addEventListener("blur", back);
  place.replaceWith(input);
  input.select();
}

document.addEventListener("click", (event) => {
  const on = (selector) => event.target.closest(selector);
  const tree = on("[data-tree]");
  if (tree) {
    const item = tree.closest("li");
    const place = item.querySelector(".label");
    if (tree.dataset.tree === "rename") renameAt(place, place.textContent, (label) => change({ do: "rename", paths: [pathOf(item)], label }));
    else change({ do: "split", paths: [pathOf(item)] });
  }
  const move = on("[data-chosen=move]");
  if (move) {
    change({ do: "move", paths: chosen(), into: document.getElementById("target").value });
  }
  const level = on("[data-level-do]");
  if (level) change({ do: level.dataset.levelDo, level: Number(level.dataset.level) });
  const proposal = on("[data-propose]");
  if (proposal) change({ do: "propose", proposal: proposal.dataset.propose });
  const node = on("[data-node]");
  if (node) renameAt(node.parentElement.querySelector(".label"), node.dataset.label, (label) => change({ do: "rename", level: Number(node.dataset.level), node: Number(node.dataset.node), label }));
});

document.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target.id === "chosen") change({ do: "merge", paths: chosen(), label: document.getElementById("label").value });
  if (event.target.id === "add-cut") change({ do: "add-cut", level: Number(document.getElementById("cut-level").value), to: document.getElementById("cut-at").value.trim() });
  if (event.target.id === "as-text") change({ do: "text", text: document.getElementById("text").value });
});

// -- dragging groups

let dragged = null;
document.addEventListener("dragstart", (event) => {
  const item = event.target.closest?.("#tree li[data-path]");
  if (!item) return;
  dragged = pathOf(item);
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", "");
  event.stopPropagation();
});
document.addEventListener("dragover", (event) => {
  const item = dragged && event.target.closest?.("#tree li.group");
  if (item) { event.preventDefault(); item.classList.add("over"); }
});
document.addEventListener("dragleave", (event) => event.target.closest?.("#tree li.group")?.classList.remove("over"));
document.addEventListener("drop", (event) => {
  const item = dragged && event.target.closest?.("#tree li.group");
  if (!item) return;
  event.preventDefault();
  change({ do: "move", paths: [dragged], into: pathOf(item) });
});
document.addEventListener("dragend", () => { dragged = null; document.querySelectorAll(".over").forEach((each) => each.classList.remove("over")); });

// -- cuts on a histogram

function shape(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

onPage(() => {
  const place = document.getElementById("line");
  const content = pageData().content?.intervals;
  if (place && content) place.replaceChildren(drawn(content));
});

function drawn(content) {
  const height = TALL + 24 + ROW * content.levels.length;
  const picture = shape("svg", { viewBox: `-12 -4 ${WIDTH + 24} ${height + 12}`, role: "group", "aria-label": t("hierarchies.histogram"), class: "histogram" });
  const most = Math.max(...content.bars.map((bar) => bar.records), 1);
  for (const bar of content.bars) {
    const tall = (TALL * bar.records) / most;
    picture.append(shape("rect", { class: "bar", x: WIDTH * bar.from, y: TALL - tall, width: Math.max(0.5, WIDTH * (bar.to - bar.from) - 1), height: tall }, shape("title", {}, String(Math.round(bar.records)))));
  }
  picture.append(shape("text", { class: "tick", x: 0, y: TALL + 15 }, content.first));
  picture.append(shape("text", { class: "tick end", x: WIDTH, y: TALL + 15 }, content.last));
  content.levels.forEach((level, row) => drawLevel(picture, content, level, TALL + 24 + ROW * row));
  return picture;
}

function drawLevel(picture, content, level, top) {
  for (const [place, node] of level.nodes.entries()) {
    const wide = WIDTH * (node.to - node.from);
    const stretch = shape("rect", { class: `stretch${place % 2 ? " odd" : ""}`, x: WIDTH * node.from, y: top, width: wide, height: ROW - 6 }, shape("title", {}, `${node.label}: ${t("hierarchies.records", { count: node.records.toLocaleString() })}`));
    stretch.addEventListener("click", (event) => {
      const to = nearest(content, at(picture, event));
      if (to) change({ do: "add-cut", level: level.level, to: to.text });
    });
    picture.append(stretch);
    if (wide - 14 > 7 * node.label.length) picture.append(shape("text", { class: "name", x: WIDTH * (node.from + node.to) / 2, y: top + ROW / 2 + 2 }, node.label));
  }
  for (const node of level.nodes) if (node.begins !== null) picture.append(cutOf(picture, content, level, node, top));
}

const at = (picture, event) => {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
  return Math.min(1, Math.max(0, point.x / WIDTH));
};
const nearest = (content, x) => content.places.reduce((best, each) => (!best || Math.abs(each.at - x) < Math.abs(best.at - x) ? each : best), null);

// A cut that can be dragged, or moved with the arrow keys; it stays between its neighbours.
function cutOf(picture, content, level, node, top) {
  const cuts = level.nodes.filter((each) => each.begins !== null).map((each) => each.from);
  const before = Math.max(0, ...cuts.filter((each) => each < node.from));
  const after = Math.min(1, ...cuts.filter((each) => each > node.from));
  const inside = content.places.filter((each) => each.at > before && each.at < after);
  let here = inside.findIndex((each) => each.text === node.begins);
  const handle = shape("rect", { class: "handle", x: -5, y: top - 3, width: 10, height: ROW, rx: 3 });
  const cut = shape("g", { class: "cut", tabindex: 0, role: "slider", "aria-label": t("hierarchies.cut", { level: level.level, value: node.begins }), "aria-valuemin": 0, "aria-valuemax": inside.length - 1 },
    shape("line", { x1: 0, x2: 0, y1: 0, y2: top - 3 }), handle);
  const show = () => {
    cut.setAttribute("transform", `translate(${WIDTH * inside[here].at} 0)`);
    cut.setAttribute("aria-valuenow", here);
    cut.setAttribute("aria-valuetext", inside[here].text);
    cut.dataset.value = inside[here].text;
  };
  const commit = () => {
    if (inside[here].text !== node.begins) change({ do: "move-cut", level: level.level, value: node.begins, to: inside[here].text });
  };
  show();
  let waiting = null;
  cut.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -inside.length, End: inside.length }[event.key];
    if (event.key === "Delete" || event.key === "Backspace") { event.preventDefault(); change({ do: "remove-cut", level: level.level, value: node.begins }); return; }
    if (event.key === "Enter") { clearTimeout(waiting); commit(); return; }
    if (step === undefined) return;
    event.preventDefault();
    here = Math.min(inside.length - 1, Math.max(0, here + step));
    show();
    clearTimeout(waiting);
    waiting = setTimeout(commit, 700);
  });
  cut.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    cut.setPointerCapture(event.pointerId);
    cut.classList.add("dragging");
    cut.focus();
  });
  cut.addEventListener("pointermove", (event) => {
    if (!cut.hasPointerCapture(event.pointerId)) return;
    const x = at(picture, event);
    here = inside.reduce((best, each, place) => (Math.abs(each.at - x) < Math.abs(inside[best].at - x) ? place : best), here);
    show();
  });
  cut.addEventListener("pointerup", (event) => { cut.releasePointerCapture(event.pointerId); cut.classList.remove("dragging"); commit(); });
  return cut;
}
