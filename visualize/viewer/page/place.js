/* The state in the address: #iteration=4&step=10&layer=2&node=17, counted from 1.
 * Several viewers on a page each keep theirs below a prefix. */

const PAUSE_MS = 120; // browsers ignore addresses that are written faster than this for long
const FIELDS = ["iteration", "step", "layer", "node"];

/* The place that a text like iteration=4&step=10 names. Inside the viewer, iterations and steps count from 0. */
export function placeIn(text, prefix = "") {
  const found = new URLSearchParams(text);
  const {iteration, step, ...place} = Object.fromEntries(
    FIELDS.filter((field) => /^\d{1,9}$/.test(found.get(prefix + field) ?? "")).map((field) => [
      field,
      Number(found.get(prefix + field)),
    ]),
  );
  if (iteration !== undefined) place.it = Math.max(0, iteration - 1);
  if (step !== undefined) place.step = Math.max(0, step - 1);
  return place;
}

export class Place {
  /* prefix: "" for the only viewer of a page, else a name: #left.iteration=3&right.iteration=4 */
  constructor(prefix) {
    this.prefix = prefix ? `${prefix}.` : "";
  }

  read() {
    return placeIn(location.hash.slice(1), this.prefix);
  }

  get language() {
    return new URLSearchParams(location.hash.slice(1)).get(`${this.prefix}lang`);
  }

  /* Writes at most once per pause, and the last place always: that is where a key that was held down is let go. */
  write(place) {
    clearTimeout(this.later);
    const wait = (this.written ?? -PAUSE_MS) + PAUSE_MS - performance.now();
    if (wait > 0) this.later = setTimeout(() => this.put(place), wait);
    else this.put(place);
  }

  /* Keeps the fields of other viewers, and everything else in the address. */
  put(place) {
    this.written = performance.now();
    const found = new URLSearchParams(location.hash.slice(1));
    const {it, step, ...rest} = place;
    const told = {...rest, iteration: it + 1, step: step + 1};
    for (const field of [...FIELDS, "lang"]) {
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
