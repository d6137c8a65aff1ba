/* When does it pay? What a pass that checks costs, with its guesses, in passes of the large model alone, against the
 * tokens that it brings: below the diagonal guessing wins. A dot is a recorded race of a pair, or what is shown. */

import {clamp, draw, set} from "../viewer/dom.js";

const BOX = {width: 340, height: 190, left: 36, right: 12, top: 12, bottom: 32};
const [TOKENS, COST] = [10, 6]; // the ends of both scales

/* points: [{title, tokens, cost, isOwn}]. */
export function drawPays(svg, points) {
  const {width, height, left, right, top, bottom} = BOX;
  const x = (tokens) => left + ((clamp(tokens, 1, TOKENS) - 1) / (TOKENS - 1)) * (width - left - right);
  const y = (cost) => height - bottom - ((clamp(cost, 1, COST) - 1) / (COST - 1)) * (height - top - bottom);
  const text = (kind, where, words) => draw("text", {class: `pays-${kind}`, ...where, text: words});
  const ticks = [1, 4, 7, 10].map((one) =>
    text("tick", {x: x(one), y: height - bottom + 14, "text-anchor": "middle"}, one),
  );
  const rows = [1, 3, 5].map((one) => text("tick", {x: left - 6, y: y(one) + 4, "text-anchor": "end"}, one));
  const dots = points.map(({title, tokens, cost, isOwn}) => {
    const isRight = x(tokens) > width - 110; // no room for the name
    const [aside, anchor] = isRight ? [-9, "end"] : [9, "start"];
    const beside = {x: x(tokens) + aside, y: y(cost) + 4, "text-anchor": anchor};
    const above = {x: x(tokens) - aside, y: y(cost) + (y(cost) < 4 * top ? 20 : -11), "text-anchor": anchor};
    const where = isOwn ? above : beside; // it often stands near its pair
    const dot = draw("circle", {cx: x(tokens), cy: y(cost), r: isOwn ? 6 : 4});
    return draw("g", {class: isOwn ? "pays-own" : null}, dot, text("name", where, title));
  });
  const area = `M${x(1)},${y(1)}L${x(COST)},${y(COST)}H${x(TOKENS)}V${y(1)}Z`;
  set(svg, {viewBox: `0 0 ${width} ${height}`, width, height});
  svg.replaceChildren(
    draw("path", {class: "pays-area", d: area}),
    draw("path", {class: "pays-even", d: `M${x(1)},${y(1)}L${x(COST)},${y(COST)}`}),
    ...ticks,
    ...rows,
    text("tick", {x: width - right, y: height - 4, "text-anchor": "end"}, "tokens from one pass"),
    text("tick", {x: 2, y: 10}, "its cost, in passes of the large model alone"),
    ...dots,
  );
}
