/* What the JavaScript of the page must keep to. The layout of the lines is prettier's business. */

import js from "@eslint/js";
import globals from "globals";

const script = (files, names) => ({
  files,
  languageOptions: {
    sourceType: "script",
    globals: {...globals.browser, ...Object.fromEntries(names.map((name) => [name, "readonly"]))},
  },
});

export default [
  js.configs.recommended,
  {
    rules: {
      curly: ["error", "multi-line"],
      eqeqeq: ["error", "smart"],
      "max-len": ["error", {code: 120, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true}],
      "max-lines": ["error", 400],
      "no-unused-vars": ["error", {args: "after-used", caughtErrors: "all"}],
      "no-var": "error",
      "object-shorthand": "error",
      "one-var": ["error", "never"],
      "prefer-const": "error",
      "prefer-template": "error",
    },
  },
  {
    files: ["visualize/{viewer,live,pages/lab}/*.js", "visualize/page/*.js"],
    ignores: ["visualize/viewer/{distribution,scene,layout,tokens}.js"], // these need no page
    languageOptions: {globals: globals.browser},
  },
  {
    files: ["visualize/page/play.js"],
    languageOptions: {globals: {element: "readonly", props: "readonly", trigger: "readonly", watch: "readonly"}},
  },
  {files: ["visualize/live/**/*.js"], languageOptions: {globals: {...globals.browser, ...globals.worker}}},
  script(["visualize/pages/service_worker.js"], ["registration"]),
  {files: ["tests/**/*.js"], languageOptions: {globals: globals.node}},
  script(
    ["visualize/pages/*.js"],
    ["DsbdCards", "DsbdHost", "DsbdViewer", "Reveal", "dsbdReady", "dsbdRun", "dsbdUnpack"],
  ),
  script(["visualize/page/{live,plots,problem,race}.js"], ["element", "props", "trigger", "watch"]),
  {
    files: ["visualize/page/*.js"],
    languageOptions: {globals: {name: "writable"}},
    rules: {"no-redeclare": ["error", {builtinGlobals: false}]},
  },
];
