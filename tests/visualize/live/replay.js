/* Feeds a row what Python wrote down, and says how far its logits are from those of the model's own Python. */

/* told: {prompt, nodes: [parent, token, length] each, steps}; a step feeds nodes or commits beams, given by number. */
export async function replay(model, told) {
  const nodes = [];
  for (const [parent, token, length] of told.nodes) nodes.push({parent: nodes[parent] ?? null, token, length});
  const row = model.row();
  await row.prefill(told.prompt);
  let worst = 0;
  let fullest = row.slots;
  for (const {feed, logits, commit, slots} of told.steps) {
    if (commit) row.commit(commit.map((number) => nodes[number]));
    const found = commit ? [] : await row.feed(feed.map((number) => nodes[number]));
    found.forEach((values, place) =>
      values.forEach((value, token) => {
        worst = Math.max(worst, Math.abs(value - logits[place][token]) || (Number.isNaN(value) ? Infinity : 0));
      }),
    );
    if (row.slots !== slots) throw new Error(`${row.slots} slots are in use, not ${slots}`);
    fullest = Math.max(fullest, slots);
  }
  if (row.peak !== fullest) throw new Error(`the row was at most ${row.peak} slots full, not ${fullest}`);
  return {worst, calls: row.calls};
}
