// Promises about what public functions are given: a wrong setting is refused with its name, and none that the types allow.
import { mutation } from "./mutation.mjs"

const shape = "src/lib/schema/shape.ts"
const refuses = (name) => ["test/public-shapes.test.ts", `${name} takes what its types say`]
const takes = (name) => ["test/public-shapes.test.ts", `${name} refuses no value`]

export const mutations = [
  mutation(
    "shapes: a promise that was not awaited passes for settings without rules",
    [["src/lib/known-keys.ts", "!Array.isArray(value) && !builtIn.test(tagOf(value))", "!Array.isArray(value)"]],
    refuses(". createRuntime"),
  ),
  mutation(
    "shapes: a missing setting that must be given passes",
    [[shape, '    else if (isRequired(entry)) throw wrong(`${path}${key}`, "missing", fieldsOf(entry))\n', ""]],
    refuses("./stores/s3 s3Store"),
  ),
  mutation(
    "shapes: entries of an array are not looked at",
    [[shape, "checkArgument(`${name}[${index}]`, entry, chosen.list)", "void [index, entry]"]],
    refuses("./node nodeFiles"),
  ),
  mutation(
    "shapes: a word that means nothing passes",
    [[shape, 'if (allowed.includes("text") || known.some((each) => each === value)) return', "return"]],
    refuses("./policy PolicyClient"),
  ),
  mutation(
    // Each of the two alone refuses a policy that is null.
    "shapes: createAgentTools without a usable policy lets every call run",
    [
      ["src/hosts/node/agent-tools.ts", '  policy: "object",\n', '  policy: "any",\n'],
      ["src/hosts/node/agent-tools.ts", "options.policy === undefined", "!options.policy"],
    ],
    ["src/hosts/node/agent-tools-policy.test.ts", "a policy that is null is refused, not taken for none"],
  ),
  mutation(
    "shapes: the limits of a type of agent are not checked",
    [
      [
        "src/lib/schema/contract-shapes.ts",
        '  effort: words("minimal", "low", "medium", "high", "max"),\n  limits: shapeOf<Partial<Limits>>(limitsShape),',
        '  effort: words("minimal", "low", "medium", "high", "max"),\n  limits: "any",',
      ],
    ],
    refuses(". createRuntime"),
  ),
  mutation(
    "shapes: options of the runtime's methods are not checked",
    [
      [
        "src/settings/input/method-options.ts",
        "  checkShape<unknown>(method, options, shapes[method])\n",
        "  void checkShape\n",
      ],
    ],
    refuses("Runtime waitFor"),
  ),
  mutation(
    "shapes: a wrong setting of continue rejects raw",
    [
      [
        "src/runtime/launch-runs.ts",
        '    checkShape<ContinueInput>("continue", options, continueShape)\n',
        "    void [checkShape, continueShape]\n",
      ],
    ],
    refuses("Runtime continue"),
  ),
  mutation(
    "shapes: a function that returns a secret is refused where it is allowed",
    [["src/extensions/api/index.ts", 'env: recordOf(["text", "function"])', 'env: recordOf("text")']],
    takes("./extensions/api api"),
  ),
  mutation(
    "shapes: a webhook with headers that are none rejects raw",
    [["src/webhooks/verify.ts", '  headers: required("object"),', '  headers: "any",']],
    ["src/webhooks/verify.test.ts", "as headers is refused as config_invalid"],
  ),
  mutation(
    "shapes: a signed body that is no JSON rejects raw",
    [["src/webhooks/verify.ts", "  return parsed(typeof body", "  return JSON.parse(typeof body"]],
    ["src/webhooks/verify.test.ts", "a signed body that is no JSON is refused"],
  ),
  mutation(
    "shapes: an entry of a chain may have keys of another library",
    [
      [
        "src/lib/known-keys.ts",
        "  const mayHaveOthers = open || !isPlain(given)",
        "  const mayHaveOthers = open || isPlain !== undefined",
      ],
    ],
    ["src/settings/input/unknown-keys.test.ts", "a wrong setting is named with its path and what it should be"],
    ["test/reference-code.test.ts", "an entry of a chain with a key of another library is refused"],
  ),
]
