/* The running text of a decode: what each token adds to it, and the bytes that wait for the next token. */

import {decodePiece, flowing, pieceLabel, visible} from "./tokens.js";

export const PROMPT_END = 0; // the end of the prompt
const PATH_CHARACTERS = 48; // how much of a beam's text the card of a node shows
const UNKNOWN = {end: "", pending: []};

export class RunningText {
  constructor(prompt) {
    this.prompt = [];
    let pending = [];
    for (const piece of prompt.pieces) {
      if (piece.special) continue;
      const [text, rest] = decodePiece(piece, pending);
      this.prompt.push(flowing(text));
      pending = rest;
    }
    this.known = new Map([[PROMPT_END, {end: lastOf(this.prompt.join("")), pending}]]);
  }

  /* What is known of a node: {node, label, adds, completes, pending, end}: its record, its visible text, what it adds
   * to the text, the character that it completes or "", the bytes that wait after it, and the end of the text there. */
  at(id) {
    return this.known.get(id) ?? UNKNOWN;
  }

  /* Takes the nodes that an iteration added, parents first. */
  take(nodes) {
    for (const node of nodes) {
      const before = this.at(node.parent);
      const [text, pending] = decodePiece(node, before.pending);
      const adds = flowing(text);
      const completes = before.pending.length ? visible(text) : "";
      const end = lastOf(before.end + adds);
      this.known.set(node.id, {node, label: pieceLabel(node), adds, completes, pending, end});
    }
  }
}

const lastOf = (text) => (text.length > PATH_CHARACTERS ? [...text].slice(-PATH_CHARACTERS).join("") : text);
