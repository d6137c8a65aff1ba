/* A pair of tables in place of models: the next token follows from the last two. test_live.py has Python's. */

/* logits: {key: row}; the key of a node is the last two of its tokens, the prompt's last one included. */
function tableModel(id, logits) {
  const vocabulary = Object.values(logits)[0].length;
  const keyOf = (node) => `${node.parent ? `${node.parent.token},` : ""}${node.token}`;
  return {id, revision: null, dtype: "float64", device: "cpu", vocabulary, attention: "forest", row};

  function row() {
    const feed = (nodes) => nodes.map((node) => Float64Array.from(logits[keyOf(node)]));
    return {peak: 0, slots: 0, bytesPerSlot: 8, prefill() {}, feed, commit() {}};
  }
}

export const tablePair = ({target, draft, eos}) => ({
  target: tableModel("tables/target", target),
  draft: tableModel("tables/draft", draft),
  eos: new Set(eos),
  tokenizer: {
    decode: (ids) => ids.filter((id) => !eos.includes(id)).join(""),
    piece: (id) => [eos.includes(id) ? "." : String(id), null],
    isSpecial: (id) => eos.includes(id),
  },
});
