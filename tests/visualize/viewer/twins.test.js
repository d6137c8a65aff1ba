/* What the browser says is what Python says: sentences, numbers, plurals, the table of nodes, the drawing's edges. */

import assert from "node:assert/strict";
import test from "node:test";

import {Words, number, tellApart} from "../../../visualize/viewer/base/words.js";
import {measure} from "../../../visualize/viewer/forest/geometry.js";
import {Iteration} from "../../../visualize/viewer/forest/iteration.js";
import {given, iterationsOf, near} from "../given.js";

for (const {name, language, iterations} of given.said) {
  /* Catches a sentence that only one of the two authors has changed. */
  test(`both say the same sentences of ${name} in ${language}`, () => {
    const {scene} = given.traces[name];
    const words = new Words(language);
    iterationsOf(scene).forEach((iteration, at) => {
      const factsOf = (node, place) =>
        iteration.facts[place].map((fact) => [
          words.title(iteration, fact),
          words.verdict(iteration, fact),
          words.detail(iteration, fact, node),
        ]);
      const layerOf = (layer) => [
        words.layerTitle(layer, iteration.before),
        words.outcome(layer, iteration.landed),
        words.width(layer, scene.settings),
      ];
      assert.deepEqual(
        {
          steps: iteration.steps.map((_, step) => words.step(iteration, step, scene.settings)),
          layers: iteration.layers.map(layerOf),
          facts: iteration.nodes.map(factsOf),
        },
        iterations[at],
      );
    });
  });
}

test("both write numbers alike", () => {
  assert.ok(given.numbers.length > 1000);
  for (const [values, one, apart] of given.numbers) {
    assert.equal(number(values[0]), one);
    assert.deepEqual(tellApart(...values), apart);
  }
});

test("both choose the same plural", () => {
  for (const [language, expected] of Object.entries(given.plurals)) {
    const rules = new Intl.PluralRules(language);
    const found = expected.map((_, count) => rules.select(count));
    assert.deepEqual(found, expected);
  }
});

/* Catches an edge that starts, bends or ends elsewhere in one of the two. Columns are made equally wide. */
for (const {name, at, room, pitch, left, band, row, edges} of given.edges) {
  test(`both draw the same edges of ${name}, iteration ${at}`, () => {
    const iteration = new Iteration(given.traces[name].scene.iterations[at]);
    const {nodes, steps} = iteration;
    const drawn = measure(iteration, room);
    const looks = iteration.looksAt(steps.length - 1);
    const paths = nodes
      .filter((node) => node.parent >= 0)
      .map((node) => drawn.edge(nodes[node.parent], node, looks[node.parent].slots));
    const origin = drawn.at({column: 0, row: 0});
    const pixels = drawn.at({column: 0, row: 1}).y - origin.y;
    assert.equal(drawn.upright, false);
    near(drawn.pitch, pitch, 1e-6);
    assert.equal(paths.length, edges.length);
    edges.forEach(([start, above, bend, end, below], place) => {
      const numbers = paths[place].match(/-?[\d.]+/g).map(Number);
      const shift = left - origin.x;
      near(numbers[0] + shift, start, 0.2, "start");
      near(numbers[2] + shift, bend, 0.2, "bend");
      near(numbers[numbers.length - 2] + shift, end, 0.2, "end");
      near(numbers[1] / pixels, (above - band) / row, 0.02, "above");
      near(numbers[numbers.length - 1] / pixels, (below - band) / row, 0.02, "below");
    });
  });
}

/* Catches a misspelt import: joining drops the import lines, and then only a visitor would find it. */
test("every import names an export", async () => {
  assert.equal(typeof (await import("../../../visualize/viewer/main.js")).mount, "function");
});

/* Catches two files that use one name: joined, they share one scope, and of a module two functions may not, either. */
test("the module of the viewer is one", () => import(`data:text/javascript,${encodeURIComponent(given.module)}`));

for (const [name, code] of Object.entries(given.joined)) {
  test(`the joined code of the ${name} parses`, () => assert.equal(typeof new Function(code), "function"));
}
