/** A policy as a team would write it: commands, paths, addresses, servers, agents and backends. */
export function fiftyRules() {
  const programs = "cargo docker go kubectl make npm pip pnpm terraform yarn".split(" ")
  const folders = "bin build dist docs lib public scripts src test tools".split(" ")
  return [
    ...programs.map((program) => ({ allow: { tool: "Bash", command: [`${program} --version`, `${program} test *`] } })),
    { allow: { tool: "Bash", command: ["git status", "git log *", "git diff *", "grep *", "ls *"] } },
    { deny: { tool: "Bash", command: ["git push ** --force **", "git push ** -f **", "rm -rf **", "sudo **"] } },
    { ask: { tool: "Bash", command: ["curl **", "wget **"] } },
    ...folders.map((name) => ({
      allow: { tool: ["Read", "Write", "Edit"], path: [`${name}/**`, `packages/*/${name}/**`] },
    })),
    ...folders.slice(0, 8).map((name) => ({ deny: { tool: ["Write", "Edit"], path: `**/${name}/generated/**` } })),
    {
      deny: { tool: ["Read", "Write", "Edit"], path: ["**/.env*", "**/*.pem", "~/.ssh/**"] },
      except: { path: "**/.env.example" },
    },
    ...folders.map((name) => ({ allow: { tool: "WebFetch", url: `https://${name}.example.com/**` } })),
    { deny: { tool: "WebFetch", url: ["*://*.internal.example.com/**", "*://169.254.169.254/**"] } },
    ...folders.slice(0, 5).map((name) => ({ allow: { tool: `mcp:${name}/*`, agent: "root" } })),
    { deny: { tool: "*", backend: "acp:*" } },
    { deny: { tool: ["Write", "Edit", "Bash"], agent: "**/reviewer" } },
  ]
}
