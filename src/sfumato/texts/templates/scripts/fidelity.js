// How true a release is to the original, or two beside each other. Everything of the data goes onto the page as text.

const WORST = 12;
const LIKENESS = ["marginal_error_1", "marginal_error_2", "marginal_error_3", "pmse"];

const shareOf = (value) => (value === null || value === undefined ? "–" : `${shown(Math.round(1000 * value) / 10)} %`);

// -- errors and their baseline ------------------------------------------------------------------------------

// Told apart always is a quarter; everything else is a share already.
function likenessRow(name, sides) {
  const scale = name.startsWith("pmse") ? 4 : 1;
  const own = sides.map(({ point }) => point.values[name]);
  if (own.every((value) => value === undefined)) return null;
  const floor = sides[0].fidelity.baselines[name];
  const series = [...own.map((value, i) => [value, sides[i].kind]), [floor, "before"]];
  const bars = series.map(([value, kind]) => bar(scale * (value || 0), kind, 1));
  const numbers = series.map(([value]) => cell(value === undefined ? "–" : shareOf(scale * value), "number"));
  return element("tr", {}, rowHead(w(`error_${name}`)), numbers, element("td", { class: "drawn", "aria-hidden": "true" }, bars));
}

function likenessTable(sides) {
  const heads = [[w("error")], ...sides.map(({ title }) => [title, "number"]), [w("resample"), "number"], ["", "drawn"]];
  const rows = LIKENESS.map((line) => likenessRow(line, sides)).filter(Boolean);
  return wide(table(heads, element("tbody", {}, rows), "pair spread"));
}

function sampleSentence({ point, title }, alone) {
  const value = point.values.sample_equivalent;
  if (value === undefined) return null;
  return element("p", {}, w(alone ? "sample_this" : "sample_side", { side: title, share: shareOf(value) }));
}

// -- pairs of columns, the worst first ----------------------------------------------------------------------

const pairKey = ([one, other]) => JSON.stringify([one, other]);

function pairRows(sides) {
  const errors = sides.map(({ fidelity }) => new Map(fidelity.pairs.map((pair) => [pairKey(pair), pair[2]])));
  const keys = [...new Set(sides.flatMap(({ fidelity }) => fidelity.pairs.map(pairKey)))];
  const worst = (key) => Math.max(...errors.map((own) => own.get(key) || 0));
  const ranked = keys.sort((a, b) => worst(b) - worst(a));
  const largest = Math.max(...ranked.slice(0, 1).map(worst), 1e-9);
  return ranked.map((key) => {
    const values = errors.map((own) => own.get(key));
    const bars = values.map((value, i) => bar(value || 0, sides[i].kind, largest));
    return element(
      "tr", {}, rowHead(JSON.parse(key).join(" × ")), values.map((value) => cell(shareOf(value), "number")),
      element("td", { class: "drawn", "aria-hidden": "true" }, bars),
    );
  });
}

function pairsTable(sides) {
  const rows = pairRows(sides);
  if (!rows.length) return null;
  const heads = [[w("two_columns")], ...sides.map(({ title }) => [title, "number"]), ["", "drawn"]];
  const body = (some) => wide(table(heads, element("tbody", {}, some), "pair spread"));
  const rest = rows.slice(WORST);
  return element(
    "div", { class: "card" }, cardHead(w("pairs_title")),
    element("p", { class: "quiet" }, w("pairs_reading")),
    body(rows.slice(0, WORST)),
    rest.length ? element("details", {}, element("summary", {}, counted(rest.length, "pair")), body(rest)) : null,
  );
}

// -- associations -------------------------------------------------------------------------------------------

function shaded(value, kind, most) {
  const text = value === null ? "–" : value.toFixed(2).replace("-", "−");
  const made = cell(text === "−0.00" ? "0.00" : text, "number");
  const strength = Math.min(Math.abs(value || 0) / most, 1);
  made.style.background = `color-mix(in srgb, var(--${kind}) ${Math.round(40 * strength)}%, transparent)`;
  return made;
}

function matrix(title, facts, names, rows, kindOf, most) {
  const heads = [[""], ...names.map((_, i) => [`${i + 1}`, "number"])];
  const lines = names.map((name, i) => element(
    "tr", {}, rowHead(`${i + 1} ${name}`),
    names.map((_, j) => (j >= i ? cell("", "number") : shaded(rows[i][j], kindOf(rows[i][j]), most))),
  ));
  return element(
    "div", { class: "card" }, cardHead(title), element("p", { class: "quiet" }, facts),
    wide(table(heads.slice(0, -1), element("tbody", {}, lines.slice(1)), "matrix")),
  );
}

function difference({ fidelity }) {
  return fidelity.release.map((row, i) => row.map((value, j) => Math.abs(value) - Math.abs(fidelity.original[i][j])));
}

function matrices(sides) {
  const { names, original } = sides[0].fidelity;
  if (names.length < 2) return null;
  const drawn = [matrix(w("associations"), w("strength"), names, original, () => "accent", 1)];
  const apart = sides.map(difference);
  const most = Math.max(0.1, ...apart.flat(2).map(Math.abs));
  const kindOf = (value) => (value > 0 ? "warn" : "accent");
  const who = ({ title }) => (sides.length === 1 ? w("the_release") : w("the_side", { side: title }));
  for (const side of sides) {
    drawn.push(matrix(w("associations_in", { which: who(side) }), w("as_found"), names, side.fidelity.release, () => "accent", 1));
  }
  sides.forEach((side, i) => drawn.push(matrix(w("off_in", { which: who(side) }), w("apart"), names, apart[i], kindOf, most)));
  return element("div", { class: "cards matrices" }, drawn);
}

// -- together -----------------------------------------------------------------------------------------------

function fidelityBlock(title, sides) {
  if (!sides.every(({ fidelity }) => fidelity)) return null;
  return block(
    title, sides.map((side) => sampleSentence(side, sides.length === 1)),
    likenessTable(sides), element("p", { class: "small quiet" }, w("likeness")),
    pairsTable(sides),
    matrices(sides),
  );
}

const fidelityOf = (point) => (point.details || {}).fidelity;

function ownFidelity(point) {
  return fidelityBlock(w("how_true"), [{ point, title: w("this_release"), kind: "first", fidelity: fidelityOf(point) }]);
}

function compareFidelity(group) {
  const sides = group.map((point, i) => ({ point, title: sideName(i), kind: SIDES[i], fidelity: fidelityOf(point) }));
  return fidelityBlock(w("how_true_they"), sides);
}
