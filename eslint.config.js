import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["node_modules/", ".venv/", "build/", "siteward/frontend/vendor/", "screenshots/"] },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      curly: ["error", "multi-line"],
      eqeqeq: "error",
      "no-console": "error",
      "no-eval": "error",
      "no-var": "error",
      "no-warning-comments": ["error", { terms: ["todo", "fixme", "xxx"] }],
      "prefer-const": "error",
    },
  },
  { files: ["siteward/frontend/app/**"], languageOptions: { globals: globals.browser } },
  {
    files: ["siteward/frontend/app/**"],
    // What a template shows is escaped by Lit; these would go around it.
    rules: {
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "write"].map((property) => ({
          property,
          message: "Render a template instead.",
        })),
      ],
    },
  },
  { files: ["tests/frontend/**", "*.config.js"], languageOptions: { globals: globals.node } },
];
