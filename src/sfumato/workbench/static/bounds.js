// The best release within bounds: the rule of `sfumato ask` ("u_loss within p_loss 0.2 and u_loss 1"), over values that a
// page has at hand, so that it is told while a line is dragged. `measures` is a Map of measures by name.

const TOLERANCE = 1e-9;

// How far a value is outside of a bound: 0 within. A bound cuts off the worse values.
export function outside(measure, bound, value) {
  const beyond = measure.better === "lower" ? value - bound : bound - value;
  const slack = Number.isFinite(bound) ? TOLERANCE * Math.max(1, Math.abs(bound)) : 0;
  return beyond > slack ? beyond : 0;
}

// Order by what is asked, then by what it costs; ties are decided by what hides more, and then by id.
function order(measures, names) {
  const cost = (name, value) => (measures.get(name).better === "lower" ? value : -value);
  return (a, b) => {
    for (const name of names) {
      const [one, other] = [cost(name, a.values[name]), cost(name, b.values[name])];
      if (one !== other) return one < other ? -1 : 1;
    }
    const at = a.rank.findIndex((part, i) => part !== b.rank[i]);
    if (at >= 0) return a.rank[at] - b.rank[at];
    return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
  };
}

// Answer a question: what is asked for, and bounds as [name, value] in the order they would be typed.
export function answer(points, measures, asked, bounds) {
  const names = [...new Set([asked, ...bounds.map(([name]) => name)])];
  const known = points.filter((point) => names.every((name) => name in point.values));
  const hiding = names.some((name) => measures.get(name).hiding);
  const admits = (point, some) => some.every(([name, bound]) => outside(measures.get(name), bound, point.values[name]) === 0);
  const may = known.filter((point) => !point.refused);
  const counted = may.filter((point) => !(hiding && point.exact));
  const inside = counted.filter((point) => admits(point, bounds)).sort(order(measures, names));
  return {
    best: inside[0] || null,
    inside,
    counted,
    refused: known.filter((point) => point.refused && admits(point, bounds)),
    passedOver: hiding ? may.filter((point) => point.exact && admits(point, bounds)) : [],
    relax: inside.length ? [] : bounds.map((bound) => relaxation(counted, measures, bound, bounds.filter((other) => other !== bound), admits)),
  };
}

// What one bound would have to be for something to fit, the others kept; a null value where that never helps.
function relaxation(counted, measures, [name, bound], others, admits) {
  const fitting = counted.filter((point) => admits(point, others));
  const far = (point) => outside(measures.get(name), bound, point.values[name]);
  fitting.sort((a, b) => far(a) - far(b) || order(measures, [])(a, b));
  return fitting.length ? { name, value: fitting[0].values[name], point: fitting[0] } : { name, value: null, point: null };
}

// A number with few digits that is never stricter than the value.
export function outward(measure, value, digits = 4) {
  if (!Number.isFinite(value) || Number.isInteger(value)) return value;
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(value))) + 1 - digits);
  const away = measure.better === "lower" ? Math.ceil : Math.floor;
  return Number((away(value / unit) * unit).toPrecision(digits));
}

// The question as a person types it.
export const typed = (asked, bounds) =>
  [asked, ...(bounds.length ? [`within ${bounds.map(([name, value]) => `${name} ${value}`).join(" and ")}`] : [])].join(" ");
