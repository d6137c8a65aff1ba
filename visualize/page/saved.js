/* The decodes that can be looked at: the recordings, which the server lends, and those of this visit. */

const MOST = 10; // decodes of a visit that are kept

export class SavedDecodes {
  /* facts: what the server says of its recordings and pairs. */
  constructor(facts) {
    this.facts = facts;
    this.own = new Map(); // by name: run-1, run-2, ...; file-3 of an opened file
    this.count = 0;
  }

  newName(kind) {
    this.count += 1;
    return `${kind}-${this.count}`;
  }

  keep(decode, kind) {
    const {prompt, settings} = decode.trace;
    const words = globalThis.DsbdPage.typedIn(prompt.text, this.facts).replace(/\s+/g, " ").trim();
    const begins = words.length > 28 ? `${words.slice(0, 28)}…` : words;
    const method = this.facts.methods[settings.method] ?? settings.method;
    decode.label = `${kind} ${decode.name.split("-").at(-1)}: ${method}, “${begins}”`;
    this.own.set(decode.name, decode);
    if (this.own.size > MOST) this.own.delete(this.own.keys().next().value);
  }

  /* The facts of a recording; undefined if the name is that of another decode. */
  recording(name) {
    return this.facts.recorded.find((one) => one.name === name);
  }

  /* A decode as the lists call it. */
  nameOf({name, label}) {
    return label ?? this.recording(name)?.title ?? "Shown now";
  }

  /* The recording of a preset, else the first one, of a prompt or of the whole pair. */
  recordingOf(target, preset = "exact", prompt = null) {
    const {presetOf, typedIn} = globalThis.DsbdPage;
    const typed = (text) => typedIn(text, this.facts);
    const fits = (one) => one.target === target && (prompt === null || typed(one.prompt) === typed(prompt));
    const recordings = this.facts.recorded.filter(fits);
    return recordings.find(({settings}) => presetOf(settings) === preset) ?? recordings[0];
  }

  /* The choices of a list: the run that goes on, the latest decodes, the recordings of a model. */
  options(target, running) {
    const own = [...this.own.values()].reverse().map(({name, label}) => new Option(label, name));
    if (running) own.unshift(new Option("The run that goes on", running.name));
    const recordings = this.facts.recorded.filter((one) => one.target === target);
    return [...own, ...recordings.map(({name, title}) => new Option(title, name))];
  }
}

/* The trace in a file, which never leaves this browser. */
export async function openedTrace(file) {
  const trace = await globalThis.DsbdPage.readTrace(file);
  const isTrace = trace?.format === "dsbd-trace/2" && Array.isArray(trace.iterations) && trace.prompt?.pieces;
  if (!isTrace) throw new Error("it is no trace of the format dsbd-trace/2");
  return trace;
}
