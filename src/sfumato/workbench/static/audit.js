// The page of an audit: a file, the roles of its columns, what is required; then what was found.
import { call, data, element, t } from "./api.js";
import { takesDrops, upload } from "./uploads.js";

const at = (id) => document.getElementById(id);
const kind = () => document.querySelector("input[name=kind]:checked").value;
let chosen = null;

function say(id, sentence) {
  at(id).textContent = sentence || "";
  at(id).hidden = !sentence;
}

function role(column, number, value) {
  const name = `role-${number}`;
  const label = `${column}: ${t(`audit.role_${value}`)}`;
  return element("td", { class: value === "items" ? "of-items" : null }, element("input", { type: "radio", name, value, "aria-label": label, checked: value === "none" ? "" : null }));
}

async function look() {
  say("file-error", "");
  at("go").disabled = chosen === null;
  at("known-part").hidden = kind() === "table";
  at("require").placeholder = t(`audit.require_${kind()}`);
  at("roles-part").hidden = true;
  if (chosen === null || kind() === "baskets") return;
  try {
    const found = await call("POST", "/api/audit/columns", { file: chosen.source, escaped_formulas: at("escaped").checked });
    at("roles").replaceChildren(...found.columns.map((column, number) => element("tr", { "data-column": column },
      element("td", {}, column), ["none", "quasi", "sensitive", "items"].map((value) => role(column, number, value)))));
    at("group").replaceChildren(element("option", { value: "" }, t("audit.no_group")), ...found.columns.map((column) => element("option", {}, column)));
    at("roles-part").classList.toggle("items", kind() === "items");
    at("roles-part").hidden = false;
  } catch (error) { say("file-error", error.message); }
}

async function take(file) {
  at("chosen").textContent = t("audit.uploading", { name: file.name });
  try {
    chosen = await upload(file);
    at("chosen").textContent = chosen.name;
  } catch (error) {
    chosen = null;
    at("chosen").textContent = t("audit.none_chosen");
    say("file-error", error.message);
    return;
  }
  await look();
}

function choose(source) {
  chosen = source ? { source, name: source } : null;
  at("chosen").textContent = source || t("audit.none_chosen");
  return look();
}

function marked(value) {
  return [...at("roles").rows].filter((row) => row.querySelector("input:checked")?.value === value).map((row) => row.dataset.column);
}

function show(found) {
  at("verdict").textContent = t(found.asked ? (found.holds ? "audit.holds" : "audit.fails") : "audit.measured");
  at("verdict").className = `verdict ${found.asked ? (found.holds ? "holds" : "fails") : ""}`;
  at("notices-part").hidden = found.notices.length === 0;
  at("notices").replaceChildren(...found.notices.map((notice) => element("li", {}, notice)));
  at("measures").replaceChildren(...found.measures.map((each) => element("tr", {},
    element("th", { scope: "row" }, each.name), element("td", { class: "number" }, each.value),
    element("td", {}, t(`audit.${each.better}`)), element("td", {}, each.meaning))));
  at("lines").textContent = found.sentences.join("\n");
  at("found").hidden = false;
  at("found").focus();
  at("found").scrollIntoView({ block: "start" });
}

at("audit").addEventListener("submit", async (event) => {
  event.preventDefault();
  for (const id of ["file-error", "roles-error", "require-error", "original-error"]) say(id, "");
  const body = { file: chosen.source, kind: kind(), escaped_formulas: at("escaped").checked };
  if (at("require").value.trim()) body.require = at("require").value.trim();
  if (at("project").value) body.project = at("project").value;
  const given = at("original").files[0];
  if (kind() !== "table" && at("known").value) body.known = Number(at("known").value);
  if (kind() !== "baskets") Object.assign(body, { quasi: marked("quasi"), sensitive: marked("sensitive") });
  if (kind() !== "baskets" && at("suppressed").value) body.suppressed = at("suppressed").value;
  if (kind() === "table" && at("group").value) body.group = at("group").value;
  if (kind() === "items") body.items = marked("items")[0] ?? null;
  at("working").textContent = t("audit.working");
  at("go").disabled = true;
  try {
    if (given) body.original = (await upload(given)).source;
    show(await call("POST", "/api/audit", body));
  }
  catch (error) {
    at("found").hidden = true;
    const places = { file: "file", quasi: "roles", sensitive: "roles", items: "roles", group: "roles", suppressed: "roles", project: "original", original: "original" };
    say(`${places[error.field] ?? "require"}-error`, error.message);
  } finally {
    at("working").textContent = "";
    at("go").disabled = false;
  }
});

takesDrops(at("drop"), take);
at("upload").addEventListener("change", () => { if (at("upload").files.length) take(at("upload").files[0]); });
at("known-file")?.addEventListener("change", () => choose(at("known-file").value));
at("escaped").addEventListener("change", look);
for (const each of document.querySelectorAll("input[name=kind]")) each.addEventListener("change", look);
if (data.file) { at("known-file").value = data.file; choose(data.file); }
