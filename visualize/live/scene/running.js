/* The running text of a decode: what each token adds to it, and the bytes that wait for the next token. */

import {decodePiece, flowing, hexOf} from "./tokens.js";

const PATH_CHARACTERS = 48; // how much of a beam's text the card of a node shows
const NOTHING = ["", []];

export class RunningText {
  /* prompt: as recorded, or null. */
  constructor(prompt) {
    this.nodes = new Map();
    this.tokens = new Map(); // of beams: rows [id, parent, text, waiting bytes, origin]
    this.origins = new Map(); // the state of each node after the last iteration that names it
    this.prompt = [];
    let pending = [];
    for (const piece of prompt?.pieces ?? []) {
      if (piece.special) continue;
      const [text, rest] = decodePiece(piece, pending);
      this.prompt.push(flowing(text));
      pending = rest;
    }
    this.ends = new Map([[0, [tail(this.prompt.join("")), pending]]]); // of the text up to each node
    if (!this.prompt.length && prompt?.text) this.prompt.push(flowing(prompt.text));
  }

  /* The end of the text up to a node, and the bytes that wait; unknown nodes say nothing. */
  endAt(id) {
    const waiting = [];
    for (let at = id; !this.ends.has(at) && this.nodes.has(at); at = this.nodes.get(at).parent) waiting.push(at);
    for (const below of waiting.reverse()) {
      const node = this.nodes.get(below);
      const [said, pending] = this.ends.get(node.parent) ?? NOTHING;
      const [text, rest] = decodePiece(node, pending);
      this.ends.set(below, [tail(said + flowing(text)), rest]);
    }
    return this.ends.get(id) ?? NOTHING;
  }

  /* The text that a node adds, and whether it completes a character. */
  addedBy(node) {
    const [, before] = this.endAt(node.parent);
    const [text] = decodePiece(node, before);
    return {text, completes: before.length > 0 && text !== ""};
  }

  /* The bytes, as hex, that wait after a node. */
  waitingAt(id) {
    return hexOf(this.endAt(id)[1]);
  }

  /* Puts the tokens on the way to a beam into the table. */
  remember(beam) {
    const path = [];
    for (let at = beam; !this.tokens.has(at) && this.nodes.has(at); at = this.nodes.get(at).parent) path.push(at);
    for (const id of path.reverse()) {
      const node = this.nodes.get(id);
      const text = flowing(this.addedBy(node).text);
      this.tokens.set(id, [id, node.parent, text, this.waitingAt(id), this.origins.get(id) ?? "accepted"]);
    }
  }
}

const tail = (text) => (text.length > PATH_CHARACTERS ? [...text].slice(-PATH_CHARACTERS).join("") : text);
