/* The tokens of a scene as running texts: which tokens lead to a node, and which of them became the final text. */

import {records} from "./dom.js";
import {YIELDED} from "./marks.js";

export class Texts {
  constructor(scene) {
    this.tokens = new Map(records(scene.tokens).map((token) => [token.id, token]));
    const [best] = scene.result; // ranked; none while the decode runs
    this.final = new Set(best ? this.path(best.node).map((token) => token.id) : []);
  }

  /* Whether a node is part of the final text; a guess that is still open does not count. */
  becomes(node, {state}) {
    return this.final.has(node.id) && (state === "input" || YIELDED.includes(state));
  }

  /* The tokens behind the prompt that lead to a node, itself included. */
  path(node) {
    const path = [];
    for (let token = this.tokens.get(node); token; token = this.tokens.get(token.parent)) path.push(token);
    return path.reverse();
  }
}
