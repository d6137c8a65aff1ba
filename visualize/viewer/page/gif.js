/* Writes pictures as a GIF that plays once and stands still: https://www.w3.org/Graphics/GIF/spec-gif89a.txt. The last
 * picture gives the colours; each picture after the first holds only what changed. */

const COLOURS = 256;
const SAME = 255; // the place of the colour that leaves a pixel as it was
const KEEP = 0x04; // what was drawn stays
const SEE_THROUGH = 0x01;
const CODE_BITS = 8;
const MOST_CODES = 4096;
const BLOCK = 255;

/* pictures: RGBA pixels and milliseconds. Returns the bytes of the file. */
export function gifOf(width, height, pictures) {
  const colours = new Colours(pictures[pictures.length - 1].pixels);
  const bytes = [...text("GIF89a"), ...two(width), ...two(height), 0xf7, 0, 0, ...colours.table()];
  let before = null;
  for (const {pixels, milliseconds} of pictures) {
    const now = colours.places(pixels);
    const box = changed(before, now, width, height);
    const inside = before ? cut(before, now, width, box) : now;
    bytes.push(0x21, 0xf9, 4, KEEP | SEE_THROUGH, ...two(milliseconds / 10), SAME, 0);
    bytes.push(0x2c, ...two(box.x), ...two(box.y), ...two(box.width), ...two(box.height), 0, CODE_BITS);
    const coded = packed(inside);
    for (let at = 0; at < coded.length; at += BLOCK) {
      const part = coded.slice(at, at + BLOCK);
      bytes.push(part.length, ...part);
    }
    bytes.push(0);
    before = now;
  }
  bytes.push(0x3b);
  return Uint8Array.from(bytes);
}

const text = (characters) => [...characters].map((character) => character.charCodeAt(0));
const two = (value) => [Math.round(value) & 255, Math.round(value) >> 8];

/* The commonest colours of a picture, of 5 bits for each channel; every other one becomes the nearest of them. */
class Colours {
  constructor(pixels) {
    const seen = new Map();
    for (let at = 0; at < pixels.length; at += 4) {
      const key = keyOf(pixels, at);
      const entry = seen.get(key);
      if (entry) entry.count++;
      else seen.set(key, {count: 1, colour: [pixels[at], pixels[at + 1], pixels[at + 2]]});
    }
    const common = [...seen.values()].sort((one, other) => other.count - one.count).slice(0, SAME);
    this.list = common.map(({colour}) => colour);
    this.known = new Map();
  }

  table() {
    return Array.from({length: COLOURS}, (_, at) => this.list[at] ?? [0, 0, 0]).flat();
  }

  places(pixels) {
    const places = new Uint8Array(pixels.length / 4);
    for (let at = 0; at < places.length; at++) {
      const key = keyOf(pixels, 4 * at);
      let place = this.known.get(key);
      if (place === undefined) {
        place = this.nearest(pixels[4 * at], pixels[4 * at + 1], pixels[4 * at + 2]);
        this.known.set(key, place);
      }
      places[at] = place;
    }
    return places;
  }

  nearest(...colour) {
    const far = this.list.map((other) => other.reduce((sum, value, at) => sum + (value - colour[at]) ** 2, 0));
    return far.indexOf(Math.min(...far));
  }
}

const keyOf = (pixels, at) => ((pixels[at] >> 3) << 10) | ((pixels[at + 1] >> 3) << 5) | (pixels[at + 2] >> 3);

/* The rectangle in which two pictures differ; at least one pixel. */
function changed(before, now, width, height) {
  if (!before) return {x: 0, y: 0, width, height};
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let at = 0; at < now.length; at++) {
    if (now[at] === before[at]) continue;
    const x = at % width;
    const y = (at - x) / width;
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = y;
  }
  return right < 0
    ? {x: 0, y: 0, width: 1, height: 1}
    : {x: left, y: top, width: right - left + 1, height: bottom - top + 1};
}

/* The pixels inside the box, those that did not change as SAME. */
function cut(before, now, width, box) {
  const inside = new Uint8Array(box.width * box.height);
  for (let at = 0; at < inside.length; at++) {
    const x = at % box.width;
    const place = (box.y + (at - x) / box.width) * width + box.x + x;
    inside[at] = now[place] === before[place] ? SAME : now[place];
  }
  return inside;
}

/* LZW with codes that grow from 9 to 12 bits. */
function packed(places) {
  const clear = 1 << CODE_BITS;
  const out = [];
  let held = 0;
  let bits = 0;
  let size = CODE_BITS + 1;
  let codes = new Map();
  const write = (code) => {
    held |= code << bits;
    bits += size;
    for (; bits >= 8; bits -= 8) {
      out.push(held & 255);
      held >>>= 8;
    }
  };
  write(clear);
  let prefix = places[0];
  let next = clear + 2;
  for (const place of places.subarray(1)) {
    const key = prefix * COLOURS + place;
    const known = codes.get(key);
    if (known !== undefined) {
      prefix = known;
      continue;
    }
    write(prefix);
    if (next < MOST_CODES) {
      if (next === 1 << size) size++;
      codes.set(key, next++);
    } else {
      write(clear);
      size = CODE_BITS + 1;
      codes = new Map();
      next = clear + 2;
    }
    prefix = place;
  }
  write(prefix);
  write(clear + 1);
  if (bits > 0) out.push(held & 255);
  return out;
}
