/* The page's side of the worker: it asks, and hears what comes back. Nothing is fetched before the first load. */

import {Refused} from "./refused.js";

export class Client {
  /* base: address of the folder of shared files, with a slash. hear: {progress, start, iteration}, called with each
   * message. */
  constructor(base, pair, hear) {
    Object.assign(this, {base: new URL(base, document.baseURI).href, pair, hear, worker: null, loaded: null});
  }

  /* Resolves with {kind: "ready", addresses}, what the worker has loaded, or with {kind: "stopped"}. */
  load() {
    this.loaded ??= this.begin().catch((error) => {
      this.end();
      throw error;
    });
    return this.loaded;
  }

  async begin() {
    if (globalThis.origin === "null") {
      throw new Refused("sandbox");
    }
    this.worker = new Worker(`${this.base}worker.js`, {type: "module"});
    const told = await this.ask({kind: "load", base: this.base, pair: this.pair});
    if (told.kind === "stopped") this.end();
    return told;
  }

  /* Resolves with the message that ends a run: {kind: "done", ...} or {kind: "stopped", ...}. */
  async run(asked) {
    const told = await this.load();
    return told.kind === "stopped" ? told : this.ask({kind: "run", ...asked});
  }

  stop() {
    this.worker?.postMessage({kind: "stop"});
  }

  /* Frees the models; the next run loads them again. */
  end() {
    this.worker?.terminate();
    this.worker = this.loaded = null;
  }

  ask(message) {
    const {worker} = this;
    return new Promise((done, failed) => {
      worker.onmessage = ({data}) => {
        if (data.kind === "failed") failed(data.key ? new Refused(data.key, data.values) : new Error(data.text));
        else if (data.kind in this.hear) this.hear[data.kind](data);
        else done(data);
      };
      worker.onerror = ({message}) =>
        failed(message ? new Error(message) : new Refused("unloaded", {path: "worker.js", said: "error"}));
      worker.postMessage(message);
    });
  }
}
