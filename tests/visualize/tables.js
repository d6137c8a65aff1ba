/* A pair of tables in place of models: the next token follows from the last two. test_live.py has Python's. */

/* logits: by the last two tokens up to a node, the prompt's last one included. */
function tableModel(id, logits) {
  const vocabulary = Object.values(logits)[0].length;
  const keyOf = (node) => `${node.parent ? `${node.parent.token},` : ""}${node.token}`;
  return {id, revision: null, dtype: "float64", device: "cpu", vocabulary, attention: "forest", newState};

  function newState() {
    let computed = new Set();
    let prompt = 0;
    const pathOf = (node) => (node ? [...pathOf(node.parent), node] : []);
    return {
      peak: 0,
      bytesPerSlot: 8,
      get slots() {
        return prompt + computed.size;
      },
      prefill(ids) {
        prompt = ids.length - 1;
      },
      forward(nodes) {
        for (const node of nodes.flatMap(pathOf)) computed.add(node);
        this.peak = Math.max(this.peak, this.slots);
        return nodes.map((node) => Float64Array.from(logits[keyOf(node)]));
      },
      commit(nodes) {
        computed = new Set(nodes.flatMap((node) => pathOf(node.parent)));
      },
    };
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
