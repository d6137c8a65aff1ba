/* Counts what happened in a decode, with the names that a trace has for them. */

const COUNTED = "accepted rejected orphaned unneeded recovered fresh bonus landed".split(" ");

/* iterations: as recorded. seconds: without the prompt. */
export function countsOf(iterations) {
  const found = Object.fromEntries(COUNTED.map((name) => [name, 0]));
  let [layers, widths, seconds] = [0, 0, 0];
  for (const iteration of iterations) {
    layers += iteration.layers.length;
    for (const {width} of iteration.layers) widths += width;
    for (const phase of Object.values(iteration.phases)) seconds += phase;
    for (const {verdict} of iteration.trials) found[verdict] += 1;
    for (const {kind, landed} of iteration.draws) {
      found[kind] += 1;
      found.landed += Number(landed);
    }
  }
  const ratio = (part, whole) => (whole ? part / whole : null);
  return {
    ...found,
    iterations: iterations.length,
    layers,
    seconds,
    acceptance_rate: ratio(found.accepted, found.accepted + found.rejected),
    layers_per_iteration: ratio(layers, iterations.length),
    mean_width: ratio(widths, layers),
  };
}
