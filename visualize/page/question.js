/* What the form asks, {pair, prompt}: this tab remembers it over a reload, and an answer is one to it or to another. */

const KEY = "dsbd-question";

/* Null where nothing was asked, or a browser forbids to remember. */
export function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY));
  } catch {
    return null;
  }
}

export function remember(question) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(question));
  } catch (error) {
    console.warn(error.message);
  }
}

/* A decode of a model that the page does not have, opened from a file, is told by its prompt alone. */
export function isAnswerTo({pair, prompt}, {models, prompt: {text}}, facts) {
  const {typedIn} = globalThis.DsbdPage;
  const isForeign = !Object.values(facts.targets).includes(models.target.id);
  const typed = typedIn(text, facts);
  return (
    typed === (typed === text ? prompt : typedIn(prompt, facts).trim()) &&
    (isForeign || facts.targets[pair] === models.target.id)
  );
}

/* What the form says of guesses, once the switch of distinct beams was turned: at a fixed width the noise that draws
 * guesses, too, so that the same seed writes the same text. */
export function forestOf([method, ...values], {fields, defaults}) {
  const [forest, repeats, least, most] = ["forest", "replacement", "min_width", "max_width"].map(
    (name) => values[fields.indexOf(name)],
  );
  if (repeats) return forest === "coupled" ? defaults.forest : forest;
  return forest === defaults.forest && method === "dsbd" && least === most ? "coupled" : forest;
}
