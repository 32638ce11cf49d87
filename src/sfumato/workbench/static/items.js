// How items are read, their tree, which are sensitive: a form made of JSON Schema.
import { call, t } from "./api.js";
import { api, attempt, onPage, pageData, renew, version } from "./before.js";
import { schemaForm } from "./form.js";

onPage(() => {
  const form = document.getElementById("items-settings");
  if (!form) return;
  const { items, columns } = pageData();
  const fields = schemaForm(items.schema, items.values, { columns });
  document.getElementById("items-form").replaceChildren(fields.element);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const place = (field) => fields.wrongPlace(field) ?? form.querySelector(":scope > .wrong");
    attempt(async () => {
      await call("POST", api("items"), { values: fields.values(), version: version() });
      await renew();
      document.querySelector(".said").textContent = t("changes.last", { what: t("items.changed") });
    }, place);
  });
});
