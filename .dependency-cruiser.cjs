/** The import direction: contract ← lib ← rooms ← settings ← runs ← run ← runtime ← index, hosts ← cli. */
const room = "(journal|policy|tools|providers|backends|stores|extensions|observe|webhooks|testing)"
/** What tools declare about their calls: next to the tool, and read by policies, which know other software's calls by name only. */
const declaration = "/uses\\.ts$"

module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "no-orphans",
      severity: "error",
      from: { orphan: true, pathNot: ["\\.test(-d)?\\.ts$", "^src/cli/main\\.ts$"] },
      to: {},
    },
    {
      name: "contract-imports-nothing",
      severity: "error",
      from: { path: "^src/contract/" },
      to: { pathNot: "^src/contract/" },
    },
    {
      name: "lib-imports-contract-only",
      severity: "error",
      from: { path: "^src/lib/", pathNot: "\\.test(-d)?\\.ts$" },
      to: { pathNot: "^src/(contract|lib)/|node_modules/(@cfworker/json-schema|@noble/hashes|entities|re2js)/" },
    },
    {
      name: "rooms-never-import-siblings",
      severity: "error",
      from: { path: `^src/${room}/`, pathNot: "\\.test(-d)?\\.ts$" },
      to: { path: "^src/", pathNot: ["^src/(contract|lib)/", "^src/$1/", declaration] },
    },
    {
      name: "backends-share-through-shared",
      severity: "error",
      from: { path: "^src/backends/([^/]+)/", pathNot: "\\.test(-d)?\\.ts$" },
      // `claude` holds what both ways to Claude Code have in common.
      to: { path: "^src/backends/", pathNot: ["^src/backends/(shared|claude)/", "^src/backends/$1/"] },
    },
    {
      name: "shared-imports-no-backend",
      severity: "error",
      from: { path: "^src/backends/shared/", pathNot: "\\.test(-d)?\\.ts$" },
      to: { path: "^src/backends/", pathNot: "^src/backends/shared/" },
    },
    {
      name: "declarations-import-contract-and-lib-only",
      severity: "error",
      from: { path: declaration },
      to: { path: "^src/", pathNot: "^src/(contract|lib)/" },
    },
    {
      name: "enforce-imports-policy-only",
      severity: "error",
      from: { path: "^src/enforce/", pathNot: "\\.test(-d)?\\.ts$" },
      to: { path: "^src/", pathNot: "^src/(contract|lib|policy|enforce)/" },
    },
    {
      name: "runtime-knows-its-mechanisms-only",
      severity: "error",
      from: { path: "^src/(settings|runs|run|runtime)/", pathNot: "\\.test(-d)?\\.ts$" },
      to: {
        path: "^src/",
        pathNot: [
          "^src/(contract|lib|settings|runs|run|runtime|journal|policy|observe|webhooks)/",
          "^src/tools/kernel/",
        ],
      },
    },
    ...[
      ["settings", "runs|run|runtime"],
      ["runs", "run|runtime"],
      ["run", "runtime"],
    ].map(([below, above]) => ({
      name: `${below}-imports-nothing-above-it`,
      severity: "error",
      from: { path: `^src/${below}/`, pathNot: "\\.test(-d)?\\.ts$" },
      to: { path: `^src/(${above})/` },
    })),
    {
      name: "nothing-below-imports-hosts-or-cli",
      severity: "error",
      from: { path: "^src/", pathNot: ["^src/(hosts|cli|server)/", "\\.test(-d)?\\.ts$"] },
      to: { path: "^src/(hosts|cli|server|index)" },
    },
    {
      name: "cli-is-the-top",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/cli/" },
      to: { path: "^src/cli/" },
    },
    {
      name: "node-only-in-hosts-and-cli",
      severity: "error",
      from: { path: "^src/", pathNot: ["^src/(hosts/node|cli)/", "\\.test(-d)?\\.ts$"] },
      to: { dependencyTypes: ["core"] },
    },
  ],
  options: {
    parser: "swc",
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      extensions: [".ts", ".js"],
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default"],
    },
  },
}
