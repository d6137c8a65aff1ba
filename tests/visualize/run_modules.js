/* Runs code against the viewer's source files, one request a line: {code, given} in, {value} or {error} out.
 * The code is the body of an async function; `load` imports a file named by its path below the viewer's folder. */

import {createInterface} from "node:readline";

const VIEWER = new URL("../../visualize/viewer/", import.meta.url);
const AsyncFunction = (async () => {}).constructor;

const load = (name) => import(new URL(name, VIEWER));

for await (const line of createInterface({input: process.stdin})) {
  let answer;
  try {
    const {code, given} = JSON.parse(line);
    answer = {value: (await new AsyncFunction("given", "load", code)(given, load)) ?? null};
  } catch (error) {
    answer = {error: error.stack ?? String(error)};
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
