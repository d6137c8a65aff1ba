/* The state in the address: #it=3&step=9&layer=2&node=17. Several viewers on a page each keep theirs below a prefix. */

const PAUSE_MS = 120; // browsers drop what is written faster than this for long
const FIELDS = ["it", "step", "layer", "node", "lang"];

export class Place {
  /* prefix: "" for the only viewer of a page, else a name of its own: #left.it=3&right.it=4 */
  constructor(prefix) {
    this.prefix = prefix ? `${prefix}.` : "";
  }

  read() {
    const found = new URLSearchParams(location.hash.slice(1));
    const place = {};
    for (const field of FIELDS) {
      const text = found.get(this.prefix + field);
      if (text === null) continue;
      if (field === "lang") place.lang = text;
      else if (/^\d{1,9}$/.test(text)) place[field] = Number(text);
    }
    return place;
  }

  /* At once after a pause, else when the pause is over: a key held down writes the place where it was let go. */
  write(place) {
    clearTimeout(this.later);
    const wait = (this.written ?? -PAUSE_MS) + PAUSE_MS - performance.now();
    if (wait > 0) this.later = setTimeout(() => this.put(place), wait);
    else this.put(place);
  }

  /* Fields of other viewers, and whatever else stands in the address, stay. */
  put(place) {
    this.written = performance.now();
    const found = new URLSearchParams(location.hash.slice(1));
    for (const field of FIELDS) {
      if (place[field] === undefined || place[field] === null) found.delete(this.prefix + field);
      else found.set(this.prefix + field, place[field]);
    }
    try {
      history.replaceState(null, "", `#${found}`);
    } catch {
      /* a frame without an address */
    }
  }
}
