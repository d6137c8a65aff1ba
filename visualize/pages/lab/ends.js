/* The likeliest ends as a table with bars: counted so far, beside what the exact law expects of so many decodes. */

import {filled, make, whole} from "./elements.js";
import {nameOf} from "./tables.js";

const SHOWN = 9;

export function ends({law, counts, done, settings}, pair, words) {
  const sorted = [...law].sort(([, one], [, other]) => other - one);
  const rows = sorted.slice(0, SHOWN).map(([end, chance]) => [nameOf(pair, end), chance, counts.get(end) ?? 0]);
  const rest = sorted.length - rows.length;
  if (rest > 0) {
    const sum = (place) => rows.reduce((total, row) => total + row[place], 0);
    rows.push([filled(words.others, {count: whole(rest)}), Math.max(0, 1 - sum(1)), done - sum(2)]);
  }
  const scale = 100 / Math.max(...rows.map(([, chance, count]) => Math.max(chance * settings.runs, count)));
  const bar = (kind, count) => {
    const element = make("span", {className: `lab-bar lab-${kind}`});
    element.style.width = `${Math.min(100, count * scale)}%`;
    return element;
  };
  const head = [words.end, words.counted, words.expected].map((text) => make("th", {scope: "col"}, text));
  const body = rows.map(([name, chance, count]) => {
    const bars = make("span", {className: "lab-bars"}, bar("counted", count), bar("expected", chance * done));
    const cells = [count, chance * done].map((number) => make("td", {}, whole(number)));
    return make("tr", {}, make("th", {scope: "row"}, name, bars), ...cells);
  });
  return make("table", {className: "lab-ends"}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
}
