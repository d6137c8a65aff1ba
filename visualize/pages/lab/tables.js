/* Two models as tables, and a reader's changes to them. */

/* A row with another number at one place; the others keep their proportions and fill up to 1. */
export function withCell(row, place, value) {
  const chosen = Math.min(1, Math.max(0, Number.isFinite(value) ? value : row[place]));
  const others = row.reduce((sum, prob, at) => (at === place ? sum : sum + prob), 0);
  const share = (prob) => (others > 0 ? prob / others : 1 / (row.length - 1));
  return row.map((prob, at) => (at === place ? chosen : (1 - chosen) * share(prob)));
}

/* The pair with another row of a model after one path, or after all of them. */
export function withRow(pair, model, row, path) {
  const paths = path === undefined ? Object.keys(pair[model]) : [path];
  return {...pair, [model]: {...pair[model], ...Object.fromEntries(paths.map((one) => [one, row]))}};
}

/* A path in words. */
export const textOf = (pair, path) => [...path].map((word) => pair.words[word]).join(" ");

export function nameOf(pair, end) {
  const paths = end.split("+");
  const times = (path) => paths.filter((other) => other === path).length;
  return [...new Set(paths)]
    .map((path) => textOf(pair, path) + (times(path) > 1 ? ` ×${times(path)}` : ""))
    .join(" + ");
}
