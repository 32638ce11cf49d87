// Any option: the parts of a study as forms made of JSON Schema, texts put together part by part.
import { call, element, t } from "./api.js";
import { api, attempt, renew, version, wrong } from "./before.js";
import { schemaForm } from "./form.js";

// What a text of a scale or a search is put together from: a section of the catalogue, and some names of it.
const COMPOSED = {
  queries: ["scales", ["queries", "item-queries"]], classification: ["scales", ["classification"]], attack: ["scales", ["attack"]],
  reader: ["scales", ["uniform", "em"]], attacks: ["scales", ["attacks"]], fidelity: ["scales", ["fidelity"]],
  problem: ["searches", null], solver: ["searches", ["nsga2"]], requirement: ["requirements", null],
  linking: ["scales", ["linking"]], losses: ["scales", ["item-losses"]],
};

// Offer forms beside a text that has options of its own.
function composing(catalogue, of, around) {
  return (takes, control) => {
    if (!COMPOSED[takes]) return null;
    const [plain, names] = COMPOSED[takes];
    const section = takes === "problem" || takes === "solver" ? plain : of(plain);
    const offered = Object.fromEntries(Object.entries(catalogue[section]).filter(([name]) => !names || names.includes(name)));
    const place = element("div");
    const close = () => place.replaceChildren();
    const open = async () => {
      const given = control.value ? (await call("POST", "/api/options/values", { section, text: control.value })).parts : [names ? { name: names.find((name) => name in offered), values: {} } : null];
      place.replaceChildren(composerOf(section, { [section]: offered }, given, around, (text) => { control.value = text; close(); }, close));
    };
    return [element("button", { type: "button", class: "link", onclick: () => attempt(open) }, t("options.compose")), place];
  };
}

// Fill a place with everything that a study says of makers, requirements, scales and searches.
export function optionsOf(place, catalogue, wishes) {
  const baskets = wishes.kind === "baskets";
  const of = (name) => (baskets ? `${name} of baskets` : name);
  const sections = catalogue[baskets ? "sections of a study of baskets" : "sections of a study"];
  const plain = { columns: wishes.columns, sensitive: wishes.sensitive, quasi: wishes.quasi };
  const around = { ...plain, compose: composing(catalogue, of, plain) };
  const blocks = element("div", { class: "blocks" }, wishes.study.candidates.map((block) => blockOf(block, catalogue, of, around)));
  const axes = axesOf(wishes, catalogue.measures, baskets);
  const scales = sectionOf(sections["[scales]"], wishes.study.scales, around);
  const search = baskets ? null : sectionOf(sections["[search]"], wishes.study.search, around);
  const sentence = element("p", { class: "wrong", role: "alert", hidden: "" });
  const add = element("button", { type: "button", onclick: () => blocks.append(blockOf({ anonymizers: [], requirements: [] }, catalogue, of, around)) }, t("wishes.add_block"));
  const save = element("button", { type: "button", class: "main", onclick: () => {
    const body = { axes: axes.read(), scales: scales.values(), candidates: [...blocks.children].map((each) => each.read()), version: version() };
    if (search) body.search = search.values();
    attempt(async () => { await call("PUT", api("study"), body); await renew(); }, () => sentence);
  } }, t("wishes.save_options"));
  place.replaceChildren(
    element("h3", {}, t("wishes.axes")), axes.element,
    element("h3", {}, t("wishes.candidates")), blocks, add,
    element("details", {}, element("summary", {}, t("wishes.scales")), scales.element),
    ...(search ? [element("details", {}, element("summary", {}, t("wishes.search")), search.element)] : []),
    sentence, element("p", {}, save));
}

function sectionOf(schema, values, around) {
  return schemaForm({ ...schema, required: [] }, values, around);
}

function axesOf(wishes, measures, baskets) {
  const names = Object.keys(measures).filter((name) => (measures[name].said_of === "baskets") === baskets);
  const selects = [0, 1].map((place) => element("select", { "aria-label": `${t("wishes.axes")} ${place + 1}` }, names.map((name) => element("option", { value: name, selected: wishes.study.axes[place] === name ? "" : null }, name))));
  const hints = selects.map((select) => element("p", { class: "hint" }, measures[select.value]?.description ?? ""));
  selects.forEach((select, place) => select.addEventListener("change", () => (hints[place].textContent = measures[select.value].description)));
  const more = wishes.study.axes.slice(2);
  return { element: element("div", { class: "axes-form" }, selects.map((select, place) => element("div", { class: "field" }, select, hints[place]))), read: () => [...selects.map((select) => select.value), ...more] };
}

function blockOf(block, catalogue, of, around) {
  const makers = textsOf(t("wishes.makers"), of("anonymizers"), catalogue, block.anonymizers ?? [], around);
  const wanted = textsOf(t("wishes.requirements"), of("requirements"), catalogue, block.requirements ?? [], around);
  const kept = Object.fromEntries(Object.entries(block).filter(([key]) => !["anonymizers", "requirements", "forms", "suppress"].includes(key)));
  const parts = [makers.element, wanted.element];
  let forms = null;
  let suppress = null;
  if (of("x") === "x") {
    const schema = { properties: {
      forms: { type: "array", items: { enum: ["generalization", "bucketization"] }, description: t("wishes.forms") },
      suppress: { type: "array", items: { type: "number" }, description: t("wishes.suppress") },
    } };
    forms = schemaForm(schema, { forms: block.forms ?? ["generalization"], suppress: block.suppress ?? [0] }, around);
    suppress = forms;
    parts.push(forms.element);
  }
  const made = element("div", { class: "block" }, parts, element("button", { type: "button", class: "link", onclick: () => made.remove() }, t("wishes.remove_block")));
  made.read = () => {
    const texts = { anonymizers: makers.read(), ...(wanted.read().length ? { requirements: wanted.read() } : {}) };
    return { ...kept, ...texts, ...(suppress ? suppress.values() : {}) };
  };
  return made;
}

// A list of texts, each put together by forms: parts of a requirement are joined by &.
function textsOf(title, section, catalogue, texts, around) {
  const list = element("ul", { class: "texts" });
  const composer = element("div");
  const add = (text) => {
    const item = element("li", {}, element("code", {}, text), " ",
      element("button", { type: "button", class: "link", "aria-label": t("options.edit", { text }), onclick: () => attempt(async () => compose(await parts(text), (next) => { item.replaceWith(add(next)); })) }, "✎"), " ",
      element("button", { type: "button", class: "link", "aria-label": t("options.remove", { text }), onclick: () => item.remove() }, "×"));
    item.dataset.text = text;
    list.append(item);
    return item;
  };
  const parts = async (text) => (await call("POST", "/api/options/values", { section, text })).parts;
  const compose = (given, act) => composer.replaceChildren(composerOf(section, catalogue, given, around, (text) => { composer.replaceChildren(); act(text); }, () => composer.replaceChildren()));
  texts.forEach(add);
  const button = element("button", { type: "button", onclick: () => compose([null], add) }, t("options.add"));
  return { element: element("div", { class: "field" }, element("h4", {}, title), list, button, composer), read: () => [...list.children].map((item) => item.dataset.text) };
}

function composerOf(section, catalogue, given, around, act, cancel) {
  const rows = [];
  const place = element("div");
  const addPart = (part) => {
    const select = element("select", { "aria-label": t("options.compose") }, element("option", { value: "" }, t("options.choose")), Object.keys(catalogue[section]).map((name) => element("option", { value: name, selected: part?.name === name ? "" : null }, name)));
    const meaning = element("p", { class: "hint" });
    const box = element("div");
    const row = { form: null, name: () => select.value };
    const fill = () => {
      const schema = catalogue[section][select.value];
      row.form = schema ? schemaForm(schema, part && part.name === select.value ? part.values : {}, around) : null;
      meaning.textContent = schema?.description ?? "";
      box.replaceChildren(...(row.form ? [row.form.element] : []));
    };
    select.addEventListener("change", fill);
    fill();
    rows.push(row);
    place.append(element("div", { class: "part" }, select, meaning, box));
  };
  given.forEach(addPart);
  const sentence = element("p", { class: "wrong", role: "alert", hidden: "" });
  const done = async () => {
    const texts = [];
    for (const row of rows.filter((each) => each.name())) {
      try {
        texts.push((await call("POST", "/api/options/text", { section, name: row.name(), values: row.form.values() })).text);
      } catch (error) {
        wrong(error.message, row.form.wrongPlace(error.field) ?? sentence);
        return;
      }
    }
    if (texts.length) act(texts.join(" & "));
  };
  const more = section === "requirements" ? element("button", { type: "button", class: "link", onclick: () => addPart(null) }, t("options.and")) : null;
  return element("div", { class: "composer" }, place, sentence, element("p", { class: "bar" }, more, element("button", { type: "button", onclick: done }, t("options.done")), element("button", { type: "button", class: "link", onclick: cancel }, t("options.cancel"))));
}
