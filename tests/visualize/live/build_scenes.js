/* Builds scenes for test_scene.py: `node build_scenes.js ASKED ANSWERS [BUILDER]`. ASKED is a list of {builder,
 * iterations, result}; for each there are the whole scene, and the newest iteration after every iteration. */

import {readFileSync, writeFileSync} from "node:fs";

const [asked, answers, file] = process.argv.slice(2);
const {SceneBuilder} = await import(file || "../../../visualize/live/scene/builder.js");

function scenesOf({builder: parts, iterations, result}) {
  const builder = new SceneBuilder(parts);
  const live = iterations.map((iteration) => {
    builder.add(iteration);
    return structuredClone(builder.scene({last: 1}));
  });
  return {live, whole: builder.scene({result})};
}

writeFileSync(answers, JSON.stringify(JSON.parse(readFileSync(asked, "utf8")).map(scenesOf)));
