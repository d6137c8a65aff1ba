/* Prints what Python asks of the decoder in JavaScript: `decodes FILE` decodes with tables and prints the traces, one a
 * line; `random SEED` prints random numbers. */

import {readFileSync} from "node:fs";

import {generatorOf} from "../../visualize/live/decode.js";
import {decode} from "../../visualize/live/trace.js";
import {tablePair} from "./tables.js";

const [, , asked, given] = process.argv;
const read = () => JSON.parse(readFileSync(given, "utf8"));

if (asked === "random") {
  const generator = generatorOf(Number(given));
  for (const numbers of [generator.uniforms(2000), generator.exponentials(50)]) {
    console.log(JSON.stringify([...numbers]));
  }
}
if (asked === "decodes") {
  for (const {tables, prompt, settings} of read()) {
    let last;
    for await (last of decode(tablePair(tables), prompt, settings));
    console.log(JSON.stringify(last.trace));
  }
}
