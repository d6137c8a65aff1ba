/* The state in the address: #iteration=4&step=10&layer=2&node=17, counted from 1.
 * Several viewers on a page each keep theirs below a prefix. */

const PAUSE_MS = 120; // browsers drop what is written faster than this for long
const FIELDS = ["iteration", "step", "layer", "node", "lang"];

/* Inside the viewer, iterations and steps count from 0. */
function fromZero({iteration, step, ...place}) {
  if (iteration !== undefined) place.it = Math.max(0, iteration - 1);
  if (step !== undefined) place.step = Math.max(0, step - 1);
  return place;
}

export class Place {
  /* prefix: "" for the only viewer of a page, else a name of its own: #left.iteration=3&right.iteration=4 */
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
    return fromZero(place);
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
    const {it, step, ...rest} = place;
    const told = {...rest, iteration: it + 1, step: step + 1};
    for (const field of FIELDS) {
      if (told[field] === undefined || told[field] === null) found.delete(this.prefix + field);
      else found.set(this.prefix + field, told[field]);
    }
    try {
      history.replaceState(null, "", `#${found}`);
    } catch {
      /* a frame without an address */
    }
  }
}
