// Reads a page as somebody does who sees badly, has no mouse, or a small window; returns what is wrong with it.
() => {
  const problems = [];
  const channels = (text) => text.match(/[\d.]+/g).map(Number);
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const visible = (node) => node.checkVisibility() && node.getClientRects().length;
  for (const node of document.body.querySelectorAll("*")) {
    if (node.closest("svg, script, style, noscript") || !visible(node)) continue;
    const text = [...node.childNodes].filter((each) => each.nodeType === 3).map((each) => each.data.trim()).join("");
    if (!text) continue;
    if (text.includes("`")) problems.push(`a raw backtick: ${text.slice(0, 60)}`);
    const [a, b] = [light(channels(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) problems.push(`contrast ${contrast.toFixed(2)}: ${text.slice(0, 60)}`);
    const box = node.getBoundingClientRect(), frame = node.closest(".wide");
    if (!frame && box.right > innerWidth + 1) problems.push(`cut at the right: ${text.slice(0, 60)}`);
  }
  let level = 0;
  for (const head of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    if (!visible(head)) continue;
    const own = Number(head.tagName[1]);
    if (own > level + 1) problems.push(`h${own} after h${level}: ${head.textContent}`);
    level = own;
  }
  for (const table of document.querySelectorAll("table")) {
    if (!visible(table)) continue;
    const text = table.textContent.slice(0, 60), frame = table.closest(".wide");
    if (!table.querySelector("th[scope]")) problems.push(`a table without heads: ${text}`);
    if (frame && frame.tabIndex !== 0) problems.push(`a frame out of reach: ${text}`);
  }
  for (const field of document.querySelectorAll("select, input, button")) {
    if (!visible(field)) continue;
    const named = field.tagName === "BUTTON" ? field.textContent.trim() : field.labels.length;
    if (!named) problems.push(`no label: ${field.id}`);
    if (field.tabIndex < 0) problems.push(`out of reach: ${field.id}`);
  }
  for (const image of document.querySelectorAll("[role=img], img")) {
    if (!image.getAttribute("aria-label") && !image.getAttribute("alt")) problems.push("a picture without a text");
  }
  if (document.querySelectorAll("h1").length !== 1) problems.push("not one title");
  if (!document.querySelector("main") || !document.documentElement.lang) problems.push("no main part, or no language");
  if (document.documentElement.scrollWidth > innerWidth) problems.push("the page is wider than its window");
  return problems;
}
