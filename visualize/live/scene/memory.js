/* The memory in front of a long prompt: its segments, and what each recalled. Twin of visualize/scenes/memory.py. */

import {significant} from "./rounding.js";
import {flowing} from "./tokens.js";

/* prompt: as recorded, or null. Returns what a scene gets of it: nothing if the whole prompt is in the window. */
export function memoryOf(prompt) {
  if (!prompt?.memory) return {};
  const {segments, sensory} = prompt.memory;
  const drawn = segments.map(({tokens, text, first_memory, weights}) => {
    return {tokens, text: flowing(text), first_memory, weights: weights.map((weight) => significant(weight))};
  });
  return {memory: {segments: drawn, sensory}};
}
