// A form made of JSON Schema: choices, bounds, what applies only beside other values, what a text stands for.
import { element, t } from "./api.js";

let made = 0;

// A name that one can see: columns may be called by blanks alone.
const readable = (name) => (name.trim() ? name : t("columns.blank_name"));

// `around` says what columns there are ({columns, quasi, sensitive}) and how a text with options of its own is put together.
export function schemaForm(schema, values = {}, around = {}) {
  const fields = new Map();
  const form = element("div", { class: "schema" });
  for (const [key, property] of Object.entries(schema.properties)) {
    const field = fieldOf(key, property, values[key], (schema.required || []).includes(key), around);
    fields.set(key, field);
    form.append(field.box);
  }
  const apply = () => {
    for (const [key, property] of Object.entries(schema.properties)) {
      const when = property["x-when"];
      if (!when) continue;
      const [on, allowed] = Object.entries(when)[0];
      const other = fields.get(on);
      fields.get(key).box.hidden = other ? !allowed.includes(other.read() ?? schema.properties[on].default) : false;
    }
  };
  form.addEventListener("change", apply);
  apply();
  return {
    element: form,
    values: () => Object.fromEntries([...fields].filter(([, each]) => !each.box.hidden).map(([key, each]) => [key, each.read()]).filter(([, value]) => value !== undefined)),
    wrongPlace: (key) => fields.get(key)?.wrong,
  };
}

function fieldOf(key, property, value, required, around) {
  const id = `f${(made += 1)}`;
  const { control, read, group, more } = controlOf(id, key, property, value, required, around);
  const wrong = element("p", { class: "wrong", hidden: "", role: "alert" });
  const hint = element("p", { class: "hint", id: `${id}-hint` }, property.description || "");
  control.setAttribute("aria-describedby", `${id}-hint`);
  const title = key + (required ? " *" : "");
  const box = group
    ? element("fieldset", { class: "field" }, element("legend", {}, title), control, hint, wrong)
    : element("div", { class: "field" }, element("label", { for: id }, title), control, more, hint, wrong);
  return { box, wrong, read };
}

function controlOf(id, key, property, value, required, around) {
  const takes = property["x-takes"];
  if (property.type === "array") return severalOf(id, property, value, around);
  if (property.enum) return selectOf(id, property.enum, value, property.default, required);
  if (property.type === "boolean") return booleanOf(id, property, value);
  if (property.type === "integer" || property.type === "number") return numberOf(id, property, value);
  const named = { column: "columns", sensitive: "sensitive", quasi: "quasi" }[takes];
  if (named && around[named]?.length) return selectOf(id, around[named], value, undefined, false);
  if (property.type === "object") return { control: element("span", { id }), read: () => undefined };
  const control = element("input", { id, value: value ?? "", placeholder: property.default ?? "" });
  const read = () => (control.value === "" ? undefined : control.value);
  return { control, read, more: around.compose?.(takes, control, key) };
}

function selectOf(id, choices, value, usual, required) {
  const control = element("select", { id });
  if (!required || value === undefined) control.append(element("option", { value: "" }, usual === undefined ? t("options.choose") : `${t("options.unset")} ${usual}`));
  for (const each of choices) control.append(element("option", { value: each, selected: each === value ? "" : null }, readable(each)));
  return { control, read: () => (control.value === "" ? undefined : control.value) };
}

function booleanOf(id, property, value) {
  const control = element("select", { id });
  const usual = property.default === undefined ? t("options.unset") : `${t("options.unset")} ${t(property.default ? "options.yes" : "options.no")}`;
  for (const [text, each] of [[usual, ""], [t("options.yes"), "yes"], [t("options.no"), "no"]])
    control.append(element("option", { value: each, selected: (value === true && each === "yes") || (value === false && each === "no") ? "" : null }, text));
  return { control, read: () => ({ yes: true, no: false })[control.value] };
}

function numberOf(id, property, value) {
  const least = property.minimum ?? property.exclusiveMinimum;
  const step = property.type === "integer" ? "1" : "any";
  const control = element("input", { id, type: "number", step, min: least ?? null, max: property.maximum ?? null, value: value ?? "", placeholder: property.default ?? "" });
  return { control, read: () => (control.value === "" ? undefined : Number(control.value)) };
}

function severalOf(id, property, value, around) {
  const items = property.items || {};
  const choices = items.enum ?? (property["x-takes"] === "columns" ? around.columns : null);
  if (choices) {
    const chosen = new Set(value ?? []);
    const boxes = choices.map((each) => element("label", { class: "tick" }, element("input", { type: "checkbox", value: each, checked: chosen.has(each) ? "" : null }), " ", readable(each)));
    const control = element("div", { id, class: "ticks", role: "group" }, boxes);
    const read = () => {
      const ticked = [...control.querySelectorAll("input:checked")].map((each) => each.value);
      return ticked.length || value !== undefined ? ticked : undefined;
    };
    return { control, read, group: true };
  }
  const numbers = items.type === "number" || items.type === "integer";
  const control = element("textarea", { id, rows: 3 });
  control.value = (value ?? []).join("\n");
  const read = () => {
    const lines = control.value.split(numbers ? /[\n,]/ : "\n").map((line) => (numbers ? line.trim() : line)).filter((line) => line !== "");
    if (!lines.length && value === undefined) return undefined;
    return numbers ? lines.map((line) => (Number.isNaN(Number(line)) ? line : Number(line))) : lines;
  };
  return { control, read };
}
