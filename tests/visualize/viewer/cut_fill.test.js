/* Cut and fill says of a layer what its trials say: how much the law keeps of the first guess. */

import assert from "node:assert/strict";
import test from "node:test";

import {barsOf, shares} from "../../../visualize/viewer/views/cut_fill.js";
import {given, iterationsOf, near} from "../given.js";

for (const [name, {scene}] of Object.entries(given.traces)) {
  /* Catches all other words as one word: then more is kept in the picture than by the law. */
  test(`what is kept follows the chain in ${name}`, () => {
    for (const layer of iterationsOf(scene).flatMap(({layers}) => layers)) {
      const bins = barsOf(layer, "others");
      if (!bins || layer.chain_S.length < 2) continue;
      const found = bins.map(shares);
      const sum = (kind) => found.reduce((before, share) => before + share[kind], 0);
      const named = found.slice(0, -1).reduce((before, {kept}) => before + kept, 0);
      const {target, draft} = bins[bins.length - 1];
      const most = named + Math.min(target, draft);
      near(sum("kept"), Math.min(Math.max(1 - layer.chain_S[1], named), most), 1e-9);
      bins.forEach((bin, at) => near(found[at].kept + found[at].filled, bin.target, 1e-9));
      bins.forEach((bin, at) => near(found[at].kept + found[at].cut, bin.draft, 1e-9));
      assert.ok(found.every((share) => Object.values(share).every((value) => value >= -1e-12)));
    }
  });
}
