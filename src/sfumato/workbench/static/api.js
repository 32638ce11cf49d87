// The one way in which our pages talk to the workbench: JSON there and back, errors as sentences.

const csrf = document.querySelector("meta[name=csrf]").content;
export const texts = JSON.parse(document.getElementById("texts").textContent);
export const data = JSON.parse(document.getElementById("data").textContent);

// A text of ours with its places filled in.
export const t = (name, places = {}) => texts[name].replace(/\{(\w+)\}/g, (all, place) => places[place] ?? all);

// Send something as it is; what is refused is an Error whose message is the sentence to show, and whose field it belongs to.
export async function send(method, path, body, headers = {}) {
  const response = await fetch(path, { method, headers: { "x-sfumato": csrf, ...headers }, body });
  const content = await response.json().catch(() => ({ error: response.statusText }));
  if (!response.ok) throw Object.assign(new Error(content.error), { field: content.field ?? null, status: response.status });
  return content;
}

// Ask for something, or change something.
export const call = (method, path, body) => (body === undefined ? send(method, path)
  : send(method, path, JSON.stringify(body), { "content-type": "application/json" }));

// Make an element; everything of the data goes onto the page as text, never as HTML.
export function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return made;
}
