// Opening data: choose, look at how it is read, correct that, make a project.
import { call, data, element, t } from "./api.js";
import { attempt, takesFiles, wrong } from "./before.js";
import { schemaForm } from "./form.js";

const looked = document.getElementById("looked");

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-source]");
  if (button) look({ source: button.dataset.source });
});
takesFiles((source) => look({ source }));

const look = (wanted) => attempt(async () => {
  looked.hidden = false;
  looked.replaceChildren(element("p", { class: "empty", role: "status" }, t("open.reading", { file: wanted.source.split("/").pop() })));
  try {
    show(await call("POST", "/api/previews", wanted), wanted);
  } catch (error) {
    if (!wanted.kind && !wanted.reading) last = { name: wanted.source.split("/").pop(), kind: "table", why: "" };
    show({ ...last, ...wanted, failed: error }, wanted);
  }
});

let last = {};
const known = new Map();

function show(seen, wanted) {
  if (!seen.failed) last = seen;
  if (seen.all_columns?.length) known.set(seen.source, seen.all_columns);
  const title = element("h2", { id: "looked-title", tabindex: "-1" }, t("open.looked", { name: seen.name }));
  looked.replaceChildren(title, ...kindOf(seen, wanted), ...readingOf(seen, wanted), ...sampleOf(seen, wanted), projectOf(seen, wanted));
  if (seen.failed && !looked.querySelector(".schema .wrong:not([hidden])")) wrong(seen.failed.message, looked.querySelector(".wrong.reading"));
  title.focus();
}

function kindOf(seen, wanted) {
  if (seen.origin === "bundled") return [];
  const radios = ["table", "items", "baskets"].map((kind) => element("label", {}, element("input", { type: "radio", name: "kind", value: kind, checked: kind === seen.kind ? "" : null, onchange: () => look({ source: wanted.source, kind }) }), " ", t(`open.is_${kind}`)));
  return [element("fieldset", { class: "choice kinds" }, element("legend", { class: "visually-hidden" }, t("open.how")), radios), seen.why ? element("p", { class: "hint" }, t("open.why", { why: seen.why })) : ""];
}

function readingOf(seen, wanted) {
  const held = seen.held ? ` ${t(seen.item_column ? "open.held" : "open.held_file", { items: seen.held.items.toLocaleString(), column: seen.item_column })}` : "";
  const what = seen.failed ? "" : seen.kind !== "baskets" ? t("open.records", { count: seen.records.toLocaleString(), columns: seen.all_columns.length }) + held : t("open.baskets", { count: seen.records.toLocaleString(), items: seen.items.toLocaleString() });
  const notices = seen.failed ? null : seen.notices.length ? element("ul", { class: "notices" }, seen.notices.map((each) => element("li", {}, each))) : element("p", {}, t("open.plain"));
  const parts = [element("h3", {}, t("open.how")), ...(seen.failed ? [] : [element("p", {}, what), notices]), element("p", { class: "wrong reading", role: "alert", hidden: "" })];
  if (seen.origin === "bundled") return parts;
  const form = schemaForm(data.reading[seen.kind], wanted.reading ?? {}, { columns: known.get(wanted.source) ?? [] });
  const again = element("button", { type: "button", onclick: () => look({ source: wanted.source, kind: seen.kind, reading: form.values() }) }, t("open.again"));
  if (seen.failed?.field) wrong(seen.failed.message, form.wrongPlace(seen.failed.field));
  parts.push(element("details", { open: wanted.reading || seen.failed ? "" : null }, element("summary", {}, t("open.correct")), form.element, again));
  return parts;
}

function sampleOf(seen, wanted) {
  if (seen.failed || !seen.rows.length) return [];
  const head = seen.columns.length ? element("thead", {}, element("tr", {}, seen.columns.map((name) => element("th", { scope: "col" }, name.trim() ? name : t("columns.blank_name"))))) : null;
  const rows = seen.rows.map((row) => element("tr", {}, row.map((value) => element("td", {}, value))));
  const table = element("table", { class: "records" }, element("caption", { class: "visually-hidden" }, t("open.sample")), head, element("tbody", {}, rows));
  const button = element("button", { type: "button", onclick: () => look({ ...wanted, kind: seen.kind, show: !seen.shown }) }, t(seen.shown ? "open.mask" : "open.show"));
  return [element("h3", {}, t("open.sample")), element("p", { class: "hint" }, seen.shown ? "" : t("open.masked"), " ", button), element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("open.sample") }, table)];
}

function projectOf(seen, wanted) {
  const name = element("input", { id: "name", value: seen.name, size: "30" });
  const sentence = element("p", { class: "wrong", role: "alert", hidden: "" });
  const button = element("button", { type: "submit", class: "main", disabled: seen.failed ? "" : null }, t("open.make"));
  const form = element("form", { class: "field make" }, element("label", { for: "name" }, t("open.name")), name, " ", button, element("p", { class: "hint" }, t("open.name_hint")), sentence);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    button.disabled = true;
    button.textContent = t("open.making");
    const body = { source: wanted.source, kind: seen.kind, ...(wanted.reading ? { reading: wanted.reading } : {}), ...(name.value === seen.name ? {} : { name: name.value }) };
    attempt(async () => {
      const made = await call("POST", "/api/projects", body);
      location.assign(`/projects/${encodeURIComponent(made.project)}/columns`);
    }, () => sentence).finally(() => { button.disabled = false; button.textContent = t("open.make"); });
  });
  return form;
}
