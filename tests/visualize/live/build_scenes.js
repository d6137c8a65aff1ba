/* Builds scenes of traces and writes them down for test_scene.py: `node build_scenes.js ASKED ANSWERS`. ASKED is a JSON
 * list of {language, trace}; for each there are the whole scene, and the newest iteration after each iteration. */

import {readFileSync, writeFileSync} from "node:fs";

const [, , asked, answers, module = "../../../visualize/live/scene/builder.js"] = process.argv;
const {SceneBuilder} = await import(module);

function scenesOf({language, trace}) {
  const {prompt, settings, models, iterations, result} = trace;
  const names = [models.target, models.draft].filter(Boolean).map(({id}) => id);
  const builder = new SceneBuilder({prompt, settings, title: settings.method, models: names, language});
  const live = iterations.map((iteration) => {
    builder.add(iteration);
    return JSON.parse(JSON.stringify(builder.scene({last: 1})));
  });
  return {live, whole: builder.scene({result})};
}

writeFileSync(answers, JSON.stringify(JSON.parse(readFileSync(asked, "utf8")).map(scenesOf)));
