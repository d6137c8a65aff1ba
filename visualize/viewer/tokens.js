/* Token text as a reader sees it: untrusted, and here only made visible. Twin of visualize/tokens.py. And the
 * running text of a decode: what each token adds to it, and the bytes that wait for the next token. */

const MARKS = {" ": "␣", "\n": "⏎", "\t": "⇥"};
const RUNNING = {" ": " ", "\n": "⏎\n", "\t": "⇥\t"};
const UNPRINTED = /(?!\u200d)[ \p{C}\p{Zl}\p{Zp}]/gu; // joiners belong to the emoji around them
const LABEL_WIDTH = 14;

/* Text with marks for white space and for all that would not print. */
export const visible = (text) => text.replace(UNPRINTED, (character) => MARKS[character] ?? codeOf(character));

/* Running text: spaces stay, line ends and tabs stay behind a mark, the rest is made visible. */
export const flowing = (text) => text.replace(UNPRINTED, (character) => RUNNING[character] ?? codeOf(character));

const codeOf = (character) => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/* Bytes that are no character: ⟨E4 BD⟩; for no bytes nothing. */
export function hexOf(bytes) {
  const pairs = bytes.map((byte) => byte.toString(16).toUpperCase().padStart(2, "0"));
  return bytes.length ? `⟨${pairs.join(" ")}⟩` : "";
}

/* The visible text of a lone token, or its bytes if they are only part of a character. */
export function pieceLabel(piece) {
  if (!piece.bytes) return visible(piece.text) || "∅";
  const [text, pending] = decodePiece(piece, []);
  return visible(text) + hexOf(pending);
}

/* The text that a token adds after `pending` bytes, and the bytes left over. What can never become a character is
 * written as hex. */
export function decodePiece({text, bytes}, pending) {
  if (!bytes && !pending.length) return [text, pending];
  const own = bytes ? bytes.match(/../g).map((pair) => parseInt(pair, 16)) : new globalThis.TextEncoder().encode(text);
  const raw = [...pending, ...own];
  let decoder = null;
  let decoded = "";
  let begun = []; // the beginning of a character
  for (let at = 0; at < raw.length; at++) {
    decoder ??= new globalThis.TextDecoder("utf-8", {fatal: true, ignoreBOM: true});
    begun.push(raw[at]);
    try {
      const character = decoder.decode(Uint8Array.of(raw[at]), {stream: true});
      decoded += character;
      if (character) begun = [];
    } catch {
      if (begun.length > 1) {
        begun.pop(); // this byte may begin a character
        at--;
      }
      decoded += hexOf(begun);
      [decoder, begun] = [null, []];
    }
  }
  return [decoded, begun];
}

/* How many columns text takes in a monospace font: a letter of Chinese or Japanese, and an emoji, takes two. */
export const columnsOf = (text) => [...text].reduce((sum, letter) => sum + (letter >= "\u2e80" ? 2 : 1), 0);

/* Text cut to the columns of a label, with an ellipsis where it was cut. */
export function shorten(text) {
  if (columnsOf(text) <= LABEL_WIDTH) return text;
  let kept = "";
  for (const character of text) {
    if (columnsOf(kept + character) > LABEL_WIDTH - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

/* ---- the running text ------------------------------------------------------------------------------------------- */

export const PROMPT_END = 0; // the end of the prompt
const PATH_CHARACTERS = 48; // how much of a beam's text the card of a node shows
const UNKNOWN = {end: "", pending: []};

export class RunningText {
  /** @param {import("./types").Prompt} prompt */
  constructor(prompt) {
    const [text, pending] = written(prompt);
    const turn = turnIn(prompt);
    this.prompt = flowing(turn === null ? text.replaceAll(EDGE, "") : `${turn}\n`);
    /** @type {Map<number, any>} */
    this.known = new Map([[PROMPT_END, {end: lastOf(this.prompt), pending}]]);
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

const EDGE = "\uffff";
const TURN = /\uffffuser\uffff?\n*([^\uffff]*)/g;

/* The text of a prompt, with an edge for each special token, and the bytes left over. */
const written = ({pieces}) =>
  pieces.reduce(
    ([text, pending], piece) => {
      const [added, rest] = piece.special ? [EDGE, pending] : decodePiece(piece, pending);
      return [text + added, rest];
    },
    ["", []],
  );

/* What a person wrote last in a chat's prompt, without what its template puts around it; null of any other prompt. */
export const turnIn = (prompt) => [...written(prompt)[0].matchAll(TURN)].at(-1)?.[1].trim() ?? null;

const lastOf = (text) => (text.length > PATH_CHARACTERS ? [...text].slice(-PATH_CHARACTERS).join("") : text);
