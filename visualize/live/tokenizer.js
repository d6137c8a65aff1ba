/* The tokenizer of a bundled pair, whose vocabulary is one of bytes. Twin of dsbd/models/pieces.py. */

import {Refused} from "./settings.js";

const LONE_SURROGATE = /\p{Surrogate}/u;

/* Tokenizer: the class of the library. definition, settings: tokenizer.json and tokenizer_config.json. */
export function openTokenizer(Tokenizer, definition, settings) {
  const tokenizer = new Tokenizer(definition, settings);
  const added = tokenizer.get_added_tokens_decoder();
  const bytes = byteOfCharacter();
  const strict = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true});
  const lenient = new TextDecoder("utf-8", {ignoreBOM: true});

  function bytesOf(id) {
    const token = tokenizer.id_to_token(id);
    if (token === undefined) return new Uint8Array();
    return added.has(id) ? new TextEncoder().encode(token) : Uint8Array.from(token, (one) => bytes.get(one));
  }

  return {
    encode(text) {
      const at = text.search(LONE_SURROGATE);
      if (at >= 0) {
        throw new Refused("unicode", {at: [...text.slice(0, at)].length});
      }
      return tokenizer.encode(text).ids;
    },
    decode(ids) {
      return tokenizer.decode(ids, {skip_special_tokens: true, clean_up_tokenization_spaces: false});
    },
    /* The text and null; if the bytes alone are not UTF-8, the text with U+FFFD and the bytes in hex. */
    piece(id) {
      const content = bytesOf(id);
      try {
        return [strict.decode(content), null];
      } catch {
        const hex = Array.from(content, (byte) => byte.toString(16).padStart(2, "0"));
        return [lenient.decode(content), hex.join("")];
      }
    },
    isSpecial: (id) => added.get(id)?.special === true,
  };
}

/* A printable Latin-1 character stands for its code, and the characters from U+0100 on stand for the other bytes. */
function byteOfCharacter() {
  const all = Array.from({length: 256}, (_, byte) => byte);
  const isPrintable = (byte) => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  const others = all.filter((byte) => !isPrintable(byte));
  return new Map([
    ...all.filter(isPrintable).map((byte) => [String.fromCharCode(byte), byte]),
    ...others.map((byte, place) => [String.fromCharCode(0x100 + place), byte]),
  ]);
}
