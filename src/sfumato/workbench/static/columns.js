// Columns: roles by clicking, values on demand, settings of the table.
import { call, t } from "./api.js";
import { api, attempt, onPage, pageData, renew, version } from "./before.js";
import { schemaForm } from "./form.js";

document.addEventListener("change", (event) => {
  const choice = event.target.closest("fieldset[data-column]");
  if (!choice) return;
  const body = { column: choice.dataset.column, role: event.target.value, version: version() };
  attempt(async () => { await call("POST", api("roles"), body); await renew(); }, () => choice.parentElement.querySelector(".wrong"));
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-show]");
  if (!button) return;
  attempt(async () => {
    const answer = await call("GET", `${api("values")}?column=${encodeURIComponent(button.dataset.show)}`);
    button.parentElement.querySelector("code").textContent = answer.values.map((each) => each.text).join(", ");
    button.setAttribute("aria-expanded", "true");
    button.hidden = true;
  });
});

onPage(() => {
  const form = document.getElementById("settings");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const weights = Object.fromEntries([...form.querySelectorAll("[data-weight]")].map((each) => [each.dataset.weight, each.value === "" ? 1 : Number(each.value)]));
    const body = {
      household: form.household?.value ?? null,
      person: form.person?.value ?? null,
      one_record_per_person: form.one_record_per_person ? form.one_record_per_person.value === "yes" : null,
      missing: form.missing.value,
      na: form.na.value.split("\n").filter((line) => line !== ""),
      weights,
      version: version(),
    };
    const place = (field) => (field?.startsWith("weight") ? form.querySelector("fieldset .wrong") : form.elements[field]?.closest(".field")?.querySelector(".wrong"));
    attempt(async () => { await call("POST", api("table"), body); await renew(); document.querySelector(".said").textContent = t("changes.last", { what: t("columns.changed_settings") }); }, place);
  });
  const { schema, reading, columns } = pageData();
  const read = schemaForm(schema, reading, { columns });
  document.getElementById("reading-form").replaceChildren(read.element);
  document.getElementById("read-again").addEventListener("click", () => attempt(async () => {
    const given = read.values();
    const all = Object.fromEntries(Object.keys(schema.properties).map((name) => [name, given[name] ?? ""]));
    await call("POST", api("table"), { reading: all, version: version() });
    await renew();
  }, (field) => read.wrongPlace(field)));
});
