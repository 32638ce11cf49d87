// Publishing: what will be written is told while one chooses; what is refused stands next to the button.
import { call, data, element, t } from "/static/api.js";

const here = `/projects/${encodeURIComponent(data.project)}`;
const LOOK_MS = 400;
const form = document.getElementById("publish");
const byName = (id) => document.getElementById(id);
const isTicked = (id) => Boolean(byName(id)?.checked);

// What a file is and for whom: some are safe to share, the others are internal.
const kept = (kind) => element("span", { class: `mark ${kind === "data" || kind === "public" ? "public" : "internal"}` }, t(`publish.file_${kind}`));

function files() {
  const file = byName("file").value;
  const all = [[file, "data"]];
  for (const [name, kind] of [["certificate", "own"], ["certificate-public", "public"]]) {
    for (const format of ["html", "json"]) all.push([`${file}.${name}.${format}`, kind]);
  }
  all.push([`${file}.board.html`, "board"]);
  if (isTicked("mapping")) all.push([`${file}.mapping.json`, "mapping"]);
  byName("files").replaceChildren(...all.map(([name, kind]) =>
    element("li", {}, element("code", {}, name), " ", kept(kind))));
}

function reformat() {
  const field = byName("file");
  field.value = field.value.replace(/\.[^.]*$/, "") + byName("format").value;
  files();
}

function refused(error) {
  for (const place of form.querySelectorAll("[data-field]")) place.textContent = "";
  byName("publish-error").textContent = "";
  if (!error) return;
  const place = error.field && form.querySelector(`[data-field="${error.field}"]`);
  (place || byName("publish-error")).textContent = error.message;
}

// What is under way, in this tab or in another: which step it is at, and a button that stops it.
function tellProgress(progress) {
  const isOver = !progress.under_way;
  byName("stop").hidden = byName("bar").hidden = isOver;
  byName("do").disabled = !isOver || Boolean(data.chosen.refused);
  byName("wait").textContent = isOver ? "" : t("publish.step_of", progress);
  if (!isOver) [byName("bar").max, byName("bar").value] = [progress.steps, progress.step - 0.5];
}

// Look how far it is until `isOver` says so, or until nothing is under way.
async function watch(isOver) {
  for (;;) {
    const progress = await call("GET", `/api${here}/publishing`).catch(() => ({ under_way: true }));
    if (isOver ? isOver() : !progress.under_way) break;
    if (progress.under_way && progress.steps) tellProgress(progress);
    await new Promise((resolve) => { setTimeout(resolve, LOOK_MS); });
  }
  tellProgress({ under_way: false });
}

async function publish(event) {
  event.preventDefault();
  refused(null);
  byName("do").disabled = true;
  let over = false;
  const watched = watch(() => over);
  try {
    const done = await call("POST", `/api${here}/releases`, {
      point: data.chosen.id, file: byName("file").value, layout: byName("layout").value,
      recipient: form.querySelector("[name=recipient]:checked").value || null,
      mapping: isTicked("mapping"), escape_formulas: isTicked("escape"), replace: isTicked("replace"),
    });
    tell(done);
    await relist();
  } catch (error) {
    refused(error);
  }
  over = true;
  await watched;
}

async function stop() {
  byName("stop").disabled = true;
  await call("DELETE", `/api${here}/publishing`).then(tellProgress, () => {});  // it may be done already
  byName("stop").disabled = false;
}

// The list of what was published, as the page itself has it now.
async function relist() {
  const text = await (await fetch(location.href)).text();
  const list = new DOMParser().parseFromString(text, "text/html").getElementById("list");
  byName("list").replaceChildren(...list.childNodes);
}

function tell(done) {
  const address = (name) => `${here}/releases/${encodeURIComponent(name)}`;
  const file = ({ name, kind }) => element("li", {}, element("a", { href: address(name) }, name), " ", kept(kind));
  byName("result").replaceChildren(
    element("h2", {}, t("publish.done")), ...done.lines.map((line) => element("p", {}, line.trim())),
    ...done.notices.map((text) => element("p", { class: "note" }, text)),
    element("ul", { class: "files" }, done.files.map(file)),
    element("p", {}, element("a", { class: "button", href: `${address(done.file)}/again.sh`, download: "" }, t("publish.commands")), " ",
      element("a", { class: "button", href: `${address(done.file)}/again.py`, download: "" }, t("publish.script"))),
  );
  byName("result").scrollIntoView({ block: "nearest", behavior: "smooth" });
}

if (form) {
  byName("point").addEventListener("change", () => location.assign(`${here}/publish?point=${encodeURIComponent(byName("point").value)}`));
  if (data.chosen) {
    form.addEventListener("input", files);
    byName("format").addEventListener("change", reformat);
    form.addEventListener("submit", publish);
    byName("stop").addEventListener("click", stop);
    if (data.publishing) watch().then(relist);
    files();
  }
}
document.body.setAttribute("data-ready", "");
