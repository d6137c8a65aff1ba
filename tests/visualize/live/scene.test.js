/* The scene that the browser builds of a decode is the one that Python builds, as the viewer reads both. */

import assert from "node:assert/strict";
import test from "node:test";

import {SceneBuilder} from "../../../visualize/live/scene/builder.js";
import {decodePiece, flowing, hexOf, pieceLabel, shorten, visible} from "../../../visualize/live/scene/tokens.js";
import {records} from "../../../visualize/viewer/base/dom.js";
import {given, iterationsOf} from "../given.js";

/* Equal in all that `expected` has, but for the sum of the widths, which only Python needs. It rounds what is only
 * drawn. */
function same(found, expected, place) {
  if (typeof expected === "number" && typeof found === "number") {
    const within = Math.max(6e-4 * Math.abs(expected), 1e-3 * /row$/.test(place), 1e-12);
    assert.ok(Math.abs(found - expected) <= within, `${place}: ${found} is not ${expected}`);
  } else if (expected && found && typeof expected === "object") {
    if (Array.isArray(expected)) assert.equal(found.length, expected.length, place);
    for (const [name, value] of Object.entries(expected)) {
      if (name !== "widths") same(found[name], value, `${place}.${name}`);
    }
  } else assert.equal(found, expected, place);
}

/* A scene without its packing. */
function read({tokens, whole, ...scene}) {
  const tree = {...whole, nodes: records(whole.nodes), bands: records(whole.bands)};
  return {...scene, evidence: null, tokens: records(tokens), whole: tree, iterations: iterationsOf(scene)};
}

for (const {name, trace, scene} of given.scenes) {
  /* Catches another row, step, label or count, and a text that a token does not add. */
  test(`the scene of ${name}`, () => {
    const builder = new SceneBuilder(trace, scene.language);
    trace.iterations.forEach((iteration, at) => {
      builder.add(iteration);
      const {iterations, whole} = builder.scene({best: iteration.output_beams[0]?.node ?? 0, last: 1});
      assert.deepEqual(
        iterations.map(({index}) => index),
        [iteration.index],
      );
      assert.equal(whole.bands.rows.length, at + 1);
    });
    same(read(builder.scene(trace.result)), read(scene), name);
  });
}

/* Catches a line that needs a result. */
test("a decode that was stopped", () => {
  const {trace, scene, best} = given.stopped;
  const builder = new SceneBuilder(trace, scene.language);
  trace.iterations.forEach((iteration) => builder.add(iteration));
  same(read(builder.scene({best})), read(scene), "stopped");
});

/* Catches a character that is split over tokens and lost, and bytes that are no character and vanish. */
test("hostile tokens", () => {
  let pending = [];
  for (const {piece, text, shown} of given.pieces) {
    const [adds, rest] = decodePiece(piece, pending);
    assert.deepEqual([visible(text), flowing(text), shorten(pieceLabel(piece)), adds, hexOf(rest)], shown);
    pending = rest;
  }
});
