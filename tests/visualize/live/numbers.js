/* Prints random numbers of a seed, or the text of a JSON file that a digest is of: numbers.js random SEED, or
 * numbers.js canonical FILE. */

import {readFileSync} from "node:fs";

import {canonical} from "../../../visualize/live/trace.js";
import {generatorOf} from "../../../visualize/live/draft.js";

const [, , asked, given] = process.argv;
if (asked === "canonical") console.log(canonical(JSON.parse(readFileSync(given, "utf8"))));
else {
  const generator = generatorOf(Number(given));
  console.log(JSON.stringify([...generator.uniforms(2000)]));
  console.log(JSON.stringify([...generator.exponentials(50)]));
}
