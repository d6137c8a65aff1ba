/* Decodes the cases of a file with tables and prints the traces, one a line, for test_live.py. */

import {readFileSync} from "node:fs";

import {decode} from "../../visualize/live/trace.js";
import {tablePair} from "./tables.js";

for (const {tables, prompt, settings, guess} of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  let last;
  for await (last of decode(tablePair(tables), prompt, settings, {guess}));
  console.log(JSON.stringify(last.trace));
}
