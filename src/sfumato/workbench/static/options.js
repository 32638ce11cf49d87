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
const BOTH = "requirements of tables with items";

// By what a study is about: its sections of the catalogue, what candidates are lists of, and where else texts come from.
const KINDS = {
  table: { sections: "sections of a study", lists: { anonymizers: "anonymizers", requirements: "requirements" }, suffix: "", composed: {} },
  baskets: {
    sections: "sections of a study of baskets",
    lists: { anonymizers: "anonymizers of baskets", requirements: "requirements of baskets", utility: "requirements of baskets", limits: "requirements of baskets" },
    suffix: " of baskets",
    composed: {},
  },
  items: {
    sections: "sections of a study of a table with items",
    lists: { anonymizers: "anonymizers", item_anonymizers: "anonymizers of baskets", merging: "merging of groups", requirements: BOTH, utility: "requirements of baskets", limits: "requirements of baskets" },
    suffix: "",
    composed: {
      queries: ["scales", ["queries"]], item_queries: ["scales of baskets", ["item-queries"]], joint_queries: ["scales of tables with items", ["joint-queries"]],
      linking: ["scales of baskets", ["linking"]],
    },
  },
};
// What is offered for one list: policies on utility and on what is left out stand beside the requirements of baskets.
const POLICIES = { utility: "utility-constraints", limits: "suppression" };
function offeredFor(key, section, catalogue) {
  const entries = Object.entries(catalogue[section]);
  const policies = Object.values(POLICIES);
  return Object.fromEntries(entries.filter(([name]) => (POLICIES[key] ? name === POLICIES[key] : !policies.includes(name))));
}

// Who makes releases where a block does not say.
const MAKERS = ["anonymizers", "item_anonymizers"];
// A study may have a single text where a list is meant.
const listed = (given) => [].concat(given ?? []);

// Offer forms beside a text that has options of its own.
function composing(catalogue, kind, around) {
  return (takes, control, key) => {
    const [plain, names] = kind.composed[key] ?? COMPOSED[takes] ?? [];
    if (!plain) return null;
    const section = takes === "problem" || takes === "solver" || kind.composed[key] ? plain : `${plain}${kind.suffix}`;
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
export function optionsOf(place, known, wishes) {
  const kind = KINDS[wishes.kind];
  const catalogue = { ...known, [BOTH]: { ...known[BOTH], ...known.requirements } };
  const sections = catalogue[kind.sections];
  const plain = { columns: wishes.columns, sensitive: wishes.sensitive, quasi: wishes.quasi };
  const around = { ...plain, compose: composing(catalogue, kind, plain) };
  const block = (given) => blockOf(given, catalogue, wishes.kind, sections["[[candidates]]"].properties, around);
  const blocks = element("div", { class: "blocks" }, wishes.study.candidates.map(block));
  const axes = axesOf(wishes, catalogue.measures);
  const scales = sectionOf(sections["[scales]"], wishes.study.scales, around);
  const search = sections["[search]"] ? sectionOf(sections["[search]"], wishes.study.search, around) : null;
  const places = Object.fromEntries(["axes", "candidates", "scales", "search"].map((part) => [part, element("p", { class: "wrong", role: "alert", hidden: "" })]));
  const placeOf = (part) => {
    const sentence = places[part] ?? places.candidates;
    sentence.closest("details:not(#any)")?.setAttribute("open", "");
    return sentence;
  };
  const add = element("button", { type: "button", onclick: () => blocks.append(block({})) }, t("wishes.add_block"));
  const save = element("button", { type: "button", class: "main", onclick: () => {
    const body = { axes: axes.read(), scales: scales.values(), candidates: [...blocks.children].map((each) => each.read()), version: version() };
    if (search) body.search = search.values();
    attempt(async () => { await call("PUT", api("study"), body); await renew(); }, placeOf);
  } }, t("wishes.save_options"));
  place.replaceChildren(
    element("h3", {}, t("wishes.axes")), axes.element, places.axes,
    element("h3", {}, t("wishes.candidates")), places.candidates, blocks, add,
    element("details", {}, element("summary", {}, t("wishes.scales")), places.scales, scales.element),
    ...(search ? [element("details", {}, element("summary", {}, t("wishes.search")), places.search, search.element)] : []),
    element("p", {}, save));
}

function sectionOf(schema, values, around) {
  return schemaForm({ ...schema, required: [] }, values, around);
}

function axesOf(wishes, measures) {
  const names = Object.keys(measures).filter((name) => wishes.kind === "items" || (measures[name].said_of === "baskets") === (wishes.kind === "baskets"));
  const selects = [0, 1].map((place) => element("select", { "aria-label": `${t("wishes.axes")} ${place + 1}` }, names.map((name) => element("option", { value: name, selected: wishes.study.axes[place] === name ? "" : null }, name))));
  const hints = selects.map((select) => element("p", { class: "hint" }, measures[select.value]?.description ?? ""));
  selects.forEach((select, place) => select.addEventListener("change", () => (hints[place].textContent = measures[select.value].description)));
  const more = wishes.study.axes.slice(2);
  return { element: element("div", { class: "axes-form" }, selects.map((select, place) => element("div", { class: "field" }, select, hints[place]))), read: () => [...selects.map((select) => select.value), ...more] };
}

// One block of candidates: a list of texts for each part that has options of its own, a form for what else there is.
function blockOf(block, catalogue, kind, known, around) {
  const brought = "file" in block || "command" in block;
  const given = (key) => listed(block[key] ?? (brought || !MAKERS.includes(key) ? [] : known[key].default));
  const lists = Object.entries(KINDS[kind].lists).map(([key, section]) => [key, textsOf(t(`wishes.${key}`), section, { [section]: offeredFor(key, section, catalogue) }, given(key), around)]);
  const others = Object.entries(known).filter(([key]) => !brought && !(key in KINDS[kind].lists));
  const properties = Object.fromEntries(others);
  const value = (key, property) => (property.type !== "array" ? block[key] : listed(block[key] ?? property.default));
  const values = Object.fromEntries(others.map(([key, property]) => [key, value(key, property)]));
  const form = schemaForm({ properties }, values, around);
  const edited = [...lists.map(([key]) => key), ...Object.keys(properties)];
  const kept = Object.fromEntries(Object.entries(block).filter(([key]) => !edited.includes(key)));
  const made = element("div", { class: "block" }, lists.map(([, list]) => list.element), form.element,
    element("button", { type: "button", class: "link", onclick: () => made.remove() }, t("wishes.remove_block")));
  made.read = () => {
    const texts = Object.fromEntries(lists.map(([key, list]) => [key, list.read()]).filter(([, chosen]) => chosen.length));
    const set = Object.fromEntries(Object.entries(form.values()).filter(([, given]) => given.length !== 0));
    return { ...kept, ...texts, ...set };
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
  const more = section === "requirements" || section === BOTH ? element("button", { type: "button", class: "link", onclick: () => addPart(null) }, t("options.and")) : null;
  return element("div", { class: "composer" }, place, sentence, element("p", { class: "bar" }, more, element("button", { type: "button", onclick: done }, t("options.done")), element("button", { type: "button", class: "link", onclick: cancel }, t("options.cancel"))));
}
