// What the pages before the run share: undo and redo, sentences beside fields, pages made anew after a change.
import { call, t } from "./api.js";
import { takesDrops, upload } from "./uploads.js";

// The API of the project that the page is about.
export const api = (rest) => `/api/projects/${location.pathname.split("/")[2]}/${rest}`;

// What the server said of this page; a page that was made anew has other data.
export const pageData = () => JSON.parse(document.getElementById("data").textContent);
export const version = () => document.querySelector("[data-version]")?.dataset.version ?? null;

// Show a sentence where it belongs, or take it away.
export function wrong(sentence, place = document.getElementById("wrong")) {
  if (!place) return;
  place.textContent = sentence ?? "";
  place.hidden = !sentence;
  if (sentence) place.scrollIntoView({ block: "nearest" });
}

// Do something that may be refused; the sentence stands at the place that `where` names for its field.
export async function attempt(action, where = () => undefined) {
  document.querySelectorAll(".wrong:not(.stays)").forEach((each) => wrong("", each));
  document.body.setAttribute("aria-busy", "true");
  try {
    return await action();
  } catch (error) {
    wrong(error.message, where(error.field) ?? document.getElementById("wrong"));
    return null;
  } finally {
    document.body.removeAttribute("aria-busy");
  }
}

// Make the page anew as the server has it now, and go back to where the focus was.
export async function renew(url = location.href) {
  const kept = mark(document.activeElement);
  const text = await (await fetch(url)).text();
  const page = new DOMParser().parseFromString(text, "text/html");
  document.getElementById("data").textContent = page.getElementById("data").textContent;
  const opened = new Set([...document.querySelectorAll("main details[open]")].map((each) => each.id || each.firstElementChild.textContent));
  document.querySelector("main").replaceChildren(...page.querySelector("main").childNodes);
  for (const each of document.querySelectorAll("main details")) if (opened.has(each.id || each.firstElementChild.textContent)) each.open = true;
  if (url !== location.href) history.replaceState(null, "", url);
  document.dispatchEvent(new Event("renewed"));
  if (kept) [...document.querySelectorAll(kept.tag)].find((each) => mark(each)?.key === kept.key)?.focus();
}

// What tells a control apart from the others of its page.
function mark(each) {
  if (!each || each === document.body) return null;
  const said = [each.id, each.name, each.value, each.getAttribute("aria-label"), JSON.stringify(each.dataset)];
  return { tag: each.tagName.toLowerCase(), key: said.join("|") };
}

// Run a page's script now, and whenever the page is made anew.
export function onPage(start) {
  document.addEventListener("renewed", start);
  start();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (button) attempt(async () => { await call("POST", api(button.dataset.do)); await renew(); });
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select");
  if (typing || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
  event.preventDefault();
  document.querySelector(`[data-do=${event.shiftKey ? "redo" : "undo"}]:not([disabled])`)?.click();
});

// Let a file be dropped or chosen.
export function takesFiles(act) {
  const input = document.getElementById("file");
  const said = document.getElementById("uploading");
  const take = (file) => attempt(async () => {
    said.textContent = t("open.uploading", { file: file.name });
    try {
      await act((await upload(file)).source);
    } finally {
      said.textContent = "";
    }
  });
  takesDrops(document.getElementById("drop"), take);
  input.addEventListener("change", () => { if (input.files.length) take(input.files[0]); });
}
