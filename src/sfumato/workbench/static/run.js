// The page of a run: start, progress, stop, go on.
import { call, data, element, t } from "./api.js";
import { listen } from "./events.js";

const at = (id) => document.getElementById(id);
const path = `/api/projects/${encodeURIComponent(data.project)}/run`;
const underWay = (state) => state === "waiting" || state === "running";
let explored = data.explored;
let many = 0;

function show(run) {
  const busy = underWay(run.state);
  at("begin").hidden = busy;
  at("begin").textContent = run.state === "stopped" || run.state === "failed" ? t("run.go_on")
    : explored ? t("run.again") : t("run.start");
  at("begin").classList.toggle("main", !explored);
  at("map").classList.toggle("main", explored && !busy);
  at("budget").disabled = busy;
  at("cancel").hidden = !busy;
  at("map").hidden = !explored && !many;
  at("sentence").textContent = run.sentence || t("run.idle");
  at("sentence").classList.toggle("error", run.state === "failed");
  at("bar").hidden = !busy;
  if (run.total > 0) { at("bar").max = run.total; at("bar").value = Math.min(run.done, run.total); }
  else at("bar").removeAttribute("value");
  at("counted").textContent = run.total > 0 && run.state !== "done" ? t("run.of", { done: Math.round(run.done), total: Math.round(run.total), unit: run.unit }) : "";
  at("noted").hidden = run.notes.length === 0;
  at("notes").replaceChildren(...run.notes.map((note) => element("li", {}, note)));
}

function add(point) {
  many += 1;
  at("measured").hidden = false;
  at("how-many").textContent = `(${many})`;
  at("points").prepend(element("li", {}, point.words));
}

function fail(error) {
  at("error").textContent = error.message;
  at("error").hidden = false;
}

function follow() {
  listen(data.project, {
    progress: show,
    point: add,
    end: (run) => { explored ||= run.state === "done"; show(run); },
  });
}

at("start").addEventListener("submit", async (event) => {
  event.preventDefault();
  at("error").hidden = true;
  try {
    const budget = at("budget").value;
    many = 0;
    at("points").replaceChildren();
    show(await call("POST", path, budget ? { budget } : {}));
    follow();
  } catch (error) { fail(error); }
});

at("cancel").addEventListener("click", async () => {
  at("sentence").textContent = t("run.stopping");
  try { await call("DELETE", path); } catch (error) { fail(error); }
});

show(data);
if (underWay(data.state)) follow();
