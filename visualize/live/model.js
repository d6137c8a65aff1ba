/* A language model on ONNX Runtime Web: the graph of its forward, with the weights that Python reads too.
 *
 * The graph comes from dsbd/models/engines/onnx_graph.py. It takes the keys and values of the slots in use and
 * returns those of the tokens that were fed. */

import {parsed} from "./files.js";
import {Refused} from "./refused.js";
import {Row} from "./row.js";

const NO_MEMORY = /memory|alloc|out of range/i;

/* record: id, revision, dtype and device, as the trace has them. files: contents by name, the graph among them. */
export async function openModel(ort, record, files) {
  const config = parsed(files.get("config.json"));
  const weights = [...files].filter(([name]) => name.endsWith(".safetensors"));
  const externalData = weights.map(([path, data]) => ({path, data}));
  const options = {externalData, logSeverityLevel: 3};
  const session = await spoken(() => ort.InferenceSession.create(files.get("browser.onnx"), options));
  const caches = session.inputNames.filter((name) => /^(keys|values)\d+$/.test(name));
  const groups = config.num_key_value_heads;
  const size = config.head_dim;

  async function forward({tokens, positions, mask, asked, used}) {
    const count = tokens.length;
    const integers = (values, shape) => new ort.Tensor("int64", BigInt64Array.from(values, BigInt), shape);
    const feeds = {
      tokens: integers(tokens, [count]),
      positions: integers(positions, [1, count]),
      asked: integers(asked, [asked.length]),
      mask: new ort.Tensor("float32", mask, [count, mask.length / count]),
    };
    caches.forEach((name, number) => {
      feeds[name] = new ort.Tensor("float32", used[number], [mask.length / count - count, groups, 1, size]);
    });
    const made = await spoken(() => session.run(feeds));
    const width = config.vocab_size;
    const logits = asked.map((_, row) => made.logits.data.subarray(row * width, (row + 1) * width));
    return {logits, fresh: caches.map((name) => made[`new_${name}`].data)};
  }

  return {
    ...record,
    vocabulary: config.vocab_size,
    context: config.max_position_embeddings,
    attention: "forest",
    row: () => new Row(forward, caches.length, groups * size),
  };
}

/* Says what the runtime's bare errors mean. */
async function spoken(work) {
  try {
    return await work();
  } catch (error) {
    const said = String(error?.message ?? error);
    if (error instanceof RangeError || typeof error === "number" || NO_MEMORY.test(said)) {
      throw new Refused("memory", {}, {cause: error});
    }
    throw error;
  }
}
