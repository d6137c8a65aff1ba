/* Chi-square against the number of decodes: a line for each decoder that ran, and what a lossless one stays near. */

import {drawn, whole} from "./elements.js";

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [330, 150, 40, 8, 18];

/* lines: {decoder: [[decodes, chi-square], ...]}. */
export function chart({runs, freedom, limit}, lines) {
  const finite = (squares) => squares.filter(([, square]) => square < Infinity);
  const all = Object.values(lines).flatMap((squares) => finite(squares).map(([, square]) => square));
  const top = Math.max(1.3 * limit, 1.05 * Math.max(0, ...all));
  const x = (done) => LEFT + (done / runs) * (WIDTH - LEFT - 4);
  const y = (square) => HEIGHT - BOTTOM - (square / top) * (HEIGHT - BOTTOM - TOP);
  const level = (square, name) => drawn("path", {class: name, d: `M${LEFT},${y(square).toFixed(1)}H${WIDTH - 4}`});
  const label = (text, at, height, anchor) => drawn("text", {x: at, y: height, "text-anchor": anchor}, text);
  const highest = 10 ** Math.floor(Math.log10(top));
  const tick = Math.floor(top / highest) * highest;
  const marks = [...new Set([0, tick / 2, tick])].map((square) => label(whole(square), LEFT - 5, y(square) + 4, "end"));
  const drawnLines = Object.entries(lines).map(([decoder, squares]) => {
    const points = finite(squares).map(([done, square]) => `${x(done).toFixed(1)},${y(square).toFixed(1)}`);
    return drawn("path", {class: `lab-line lab-${decoder}`, d: points.length ? `M${points.join("L")}` : ""});
  });
  return drawn(
    "svg",
    {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lab-chart", "aria-hidden": "true"},
    level(0, "lab-axis"),
    level(freedom, "lab-level"),
    level(limit, "lab-level lab-limit"),
    ...marks,
    label("0", LEFT, HEIGHT - 4, "middle"),
    label(whole(runs), WIDTH - 4, HEIGHT - 4, "end"),
    ...drawnLines,
  );
}
