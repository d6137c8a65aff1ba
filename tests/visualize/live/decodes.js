/* Decodes with tables and prints the traces, one a line: node decodes.js FILE. test_live.py writes the file. */

import {readFileSync} from "node:fs";

import {decode} from "../../../visualize/live/trace.js";
import {tablePair} from "./tables.js";

for (const {tables, prompt, settings} of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  let last;
  for await (last of decode(tablePair(tables), prompt, settings));
  console.log(JSON.stringify(last.trace));
}
