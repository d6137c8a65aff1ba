/* The types that the JavaScript of viewer, browser decoder and lab is checked with. Nothing of this file is loaded:
 * JSDoc comments name its types, and `npm run types` reads them.
 *
 * First the records of a trace, dsbd-trace/2, as dsbd/tracing/records.py defines and explains them. */

export interface Beam {
  node: number;
  multiplicity: number;
  log_weight: number;
}

export interface Node {
  id: number;
  parent: number;
  layer: number;
  token_id: number;
  text: string;
  bytes?: string | null;
  kind: "drafted" | "cover" | "drawn";
  ends: boolean;
  target_log_prob: number | null;
  draft_log_prob: number | null;
  target_prob: number | null;
  draft_prob: number | null;
}

export interface Trial {
  layer: number;
  node: number;
  order: number;
  verdict: "accepted" | "rejected" | "orphaned" | "unneeded" | "carried";
  draft_prob: number;
  residual_prob: number | null;
  acceptance: number | null;
  uniform: number | null;
  c: number | null;
  S: number | null;
  joint: {target: number | null; draft: number; threshold: number} | null;
}

export interface Draw {
  layer: number;
  order: number;
  node: number;
  kind: "recovered" | "guessed" | "fresh" | "bonus";
  landed: boolean;
  target_prob: number;
  draft_prob: number;
  c: number | null;
  S: number | null;
  uniform: number | null;
  cdf_low: number | null;
  cdf_high: number | null;
  noise: number | null;
}

export interface Alternative {
  parent: number;
  token_id: number;
  text: string;
  target_prob: number;
  draft_prob: number;
  node: number | null;
}

/* What the width of a layer follows from. */
export interface LayerWidth {
  width: number;
  width_reason: string;
  draws_planned: number;
  chain_c: number[];
  chain_S: number[];
  acceptance_chain: number[];
  accepted_distribution: number[];
}

export interface Layer extends LayerWidth {
  layer: number;
  kind: "draft" | "bonus";
  alive: number[];
  target_support: number;
  accepted: number;
  outcome: "passed" | "landed" | "short" | "bonus" | "finished" | "stopped";
  beams: Beam[];
  finished: number[];
  alternatives: Alternative[];
}

type Phase = "draft" | "score" | "verify" | "commit";

export interface Iteration {
  index: number;
  input_beams: Beam[];
  draft_depth: number;
  nodes: Node[];
  layers: Layer[];
  trials: Trial[];
  draws: Draw[];
  output_beams: Beam[];
  kept: {prompt_slots: number; slots_scored: number; slots_kept: number; nodes: number[]};
  phases: Record<`${Phase}_seconds`, number>;
}

export interface Piece {
  token_id?: number;
  text: string;
  bytes?: string | null;
  special?: boolean;
}

export interface Memory {
  segments: {tokens: number; text: string; first_memory: number; weights: number[]}[];
  sensory: number;
}

export interface Prompt {
  text?: string;
  pieces: Piece[];
  memory?: Memory | null;
}

export interface Settings {
  method: string;
  max_new_tokens: number;
  draft_depth: number;
  draft_width: number;
  cover_width: number;
  min_width: number;
  max_width: number;
  width_threshold: number;
  input_beams: number | null;
  branching: number[] | null;
  forest: "sampled" | "coupled";
  landing: boolean;
  lossless: boolean;
  replacement: boolean;
  temperature: number;
  top_k: number;
  top_p: number;
  length_penalty: number;
  early_stopping: boolean | "never" | null;
  seed: number;
}

export interface Hypothesis extends Beam {
  finished: boolean;
  score: number;
  text: string;
  token_ids: number[];
}

export interface Result {
  text: string;
  token_ids: number[];
  beams: Hypothesis[];
  stats: Record<string, number | null>;
}

export interface Model {
  id: string;
  revision: string | null;
  dtype: string;
  device: string;
  vocabulary_size: number;
  attention: string;
}

export interface Trace {
  format?: string;
  prompt: Prompt;
  settings: Settings;
  models: {target: Model; draft: Model | null};
  iterations: Iteration[];
  result: Result | null;
}

/* ---- the scene (scene.js): what is drawn of a trace; nodes are named by their index in `nodes` ------------------- */

/* How a node looks at a step. multiplicity: how many beams end there. */
export interface Look {
  state: string;
  multiplicity: number;
  landed: boolean;
}

/* A step of an iteration. focus: the index of a node, or -1; about: the numbers that its sentence has. */
export interface Step {
  phase: string;
  layer: number;
  focus: number;
  about: number[];
  changes: (Look & {node: number})[];
}

export interface SceneNode extends Omit<Node, "layer" | "kind" | "bytes"> {
  kind: Node["kind"] | "input";
  state: string;
  token: string;
  label: string;
  label_columns: number;
  adds: string;
  completes: string;
  pending: string;
  column: number;
  row: number;
  kept: boolean;
  log_weight: number | null;
}

/* chances: P(at least k accepted), k = 1, 2, ...; step: the index of the step that chooses the width. */
export interface SceneLayer extends Omit<Layer, "alternatives"> {
  alternatives: {name: string; target: number; draft: number}[];
  chances: number[];
  step: number;
}

/* The trial or the draw that a step tells of. */
export interface Fact {
  step?: number;
  trial?: Trial;
  draw?: Draw;
}

/* A token of the text, as a path through the scene has it. */
export interface Token {
  id: number;
  parent: number;
  text: string;
  pending: string;
  origin: string | undefined;
}

/* ---- the decoder in the browser (live/) --------------------------------------------------------------------------- */

/* A token below its parent; the root is the end of the prompt, and has no parent. */
export interface LiveNode {
  parent: LiveNode | null;
  token: number;
  length: number;
}

export interface LiveBeam {
  node: LiveNode;
  log_weight: number;
  multiplicity: number;
}

export type Numbers = number[] | Float64Array | Float32Array;

/* P: candidates in their order, each with its probability. `ranks` is the order of a ranked distribution, else null;
 * `find` gives the index of a candidate, undefined if it has none. */
export interface JointDistribution {
  candidates: number[];
  probs: number[];
  weights: number[];
  scores: number[];
  ranks: number[] | null;
  find: (beam: number, token: number) => number | undefined;
}

/* Q, in the order in which its candidates may be drawn. */
export interface DraftDistribution {
  candidates: number[];
  probs: number[];
  parents: LiveNode[];
  isRanked: boolean;
  size: number;
}

/* A layer of the forest as it was drafted. rest: the mass of Q that was not drawn. */
export interface ForestLayer {
  drafts: LiveNode[];
  draft_probs: number[];
  untested: LiveNode[];
  rest: number;
  distribution: DraftDistribution;
}

/* A trial and a draw before their nodes have ids. */
export type LiveTrial = Omit<Trial, "node" | "layer" | "joint"> & {node: LiveNode};
export type LiveDraw = Omit<Draw, "node" | "layer" | "order"> & {node: LiveNode};

/* A layer as it was decided. living: the beams that did not end. */
export interface VerifiedLayer {
  kind: Layer["kind"];
  alive: LiveBeam[];
  distribution: JointDistribution;
  draft_probs: number[];
  width: LayerWidth;
  trials: LiveTrial[];
  accepted: number;
  draws: LiveDraw[];
  beams: LiveBeam[];
  living: LiveBeam[];
  outcome: Layer["outcome"];
}

/* What a model keeps of one decode: the keys and values of the prompt and of a tree of nodes. */
export interface DecodingState {
  slots: number;
  peak?: number;
  bytesPerSlot?: number;
  prefill: (ids: number[]) => unknown;
  forward: (nodes: LiveNode[]) => Numbers[] | Promise<Numbers[]>;
  commit: (nodes: LiveNode[]) => void;
}

export interface LiveModel extends Omit<Model, "vocabulary_size"> {
  vocabulary: number;
  context?: number;
  newState: () => DecodingState;
}

export interface LivePair {
  target: LiveModel;
  draft: LiveModel | null;
  eos: Set<number>;
  tokenizer: {
    encode?: (text: string) => number[];
    decode: (ids: number[]) => string;
    piece: (id: number) => [string, string | null];
    isSpecial: (id: number) => boolean;
  };
}
