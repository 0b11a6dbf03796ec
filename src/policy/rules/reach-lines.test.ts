import { describe, expect, test } from "vitest"
import { policyCall, verdictOf } from "../../../test/support/policy-scene.ts"
import type { FileEntry } from "../../contract/env.ts"
import type { PolicyRule } from "../../contract/policy.ts"

const tree: Readonly<Record<string, readonly string[]>> = {
  "/ws": ["src/", "secrets/", "a.txt"],
  "/ws/secrets": ["key.txt"],
  "/ws/src": ["b.ts", "deep/"],
  "/ws/src/deep": ["c.ts"],
}
const listFolder = async (path: string): Promise<readonly FileEntry[]> =>
  (tree[path] ?? []).map((name) =>
    name.endsWith("/") ? { name: name.slice(0, -1), kind: "folder" } : { name, kind: "file" },
  )

const denied: PolicyRule[] = [{ deny: { read: "secrets/**" } }]
const decide = (command: string, rules = denied, more = {}) =>
  verdictOf({ default: "allow", rules }, policyCall("Bash", { command }, more), { listFolder })

test("a folder that a rule refuses is reached even if nothing can be seen in it", async () => {
  const empty = async () => []
  const rules = [{ deny: { read: "vault" } }]
  const call = policyCall("Bash", { command: "tar c vault" })
  expect(await verdictOf({ default: "allow", rules }, call, { listFolder: empty })).not.toBe("allow")
})

test("a path from the root is the same wherever a command changes to", async () => {
  expect(await decide("git -C src diff --no-index /dev/null /ws/secrets/key.txt")).toBe("deny")
  expect(await decide("git -C src diff --no-index /dev/null /ws/a.txt")).toBe("allow")
})

test.each([
  ["git config --edit", false],
  ["git config edit", false],
  ["git config --add user.name Ada", false],
  ["git config --get user.name", true],
])("%s may set what git starts: allowed is %s", async (command, isAllowed) => {
  expect((await decide(command)) === "allow").toBe(isAllowed)
})

const recursive = [
  ["grep -r X ."],
  ["grep -rn X"],
  ["grep --recursive X"],
  ["egrep -R X /ws"],
  ["rg X"],
  ["tar c ."],
  ["tar -czf out.tgz ."],
  ["cp -r . /tmp/x"],
  ["cp -a /ws /tmp/x"],
  ["rsync -a . host:x"],
  ["zip -r out.zip ."],
  ["diff -r . /tmp/x"],
  ["git add -A"],
  ["git diff --cached"],
  ["git show HEAD"],
  ["git log -p"],
  ["git log -p -- ."],
  ["git grep X"],
  ["git archive HEAD"],
  ["tar c -C / ws"],
  ["tar cfC out.tar / ws"],
  ["tar -cf out.tar --directory=/ ws"],
  ["tar -cf out.tar -C src -C .. secrets/.."],
  ["git -C src/.. diff"],
  ["bsdtar -cf out.tar ."],
  ["rgrep X"],
  ["zip out.zip 'secr*/key.txt'"],
  ["zip -R out.zip '*.txt'"],
  ["mv . /tmp/x"],
  ["mv -t /tmp/x a.txt ."],
  ["git add 's*'"],
  ["git diff -- 's*'"],
  ["git log -p -- ':(glob)**'"],
  ["git clone . ../x"],
  ["git worktree add ../x"],
  ["git mv . x"],
  ["git whatchanged -p"],
  ["git diff-tree -p HEAD"],
  ["git diff-files --patch"],
  ["git fast-export --all"],
] as const
/** They change, move or remove what is below a folder. */
const changing = [
  ["mv . /tmp/x"],
  ["rm -rf ."],
  ["rm -r /ws"],
  ["chmod -R 777 ."],
  ["chown --recursive me ."],
  ["find . -name '*.txt' -delete"],
  ["find -delete"],
  ["git clean -fdx"],
  ["git rm -r ."],
  ["tar xf a.tar"],
  ["tar -xf a.tar -C src/.."],
  ["tar -xfC a.tar /ws"],
  ["unzip a.zip"],
  ["unzip a.zip -d /ws"],
  ["7z x a.7z"],
  ["cpio -i"],
  ["patch -p1 -i a.patch"],
] as const
const starting = [
  ["tar cf x src --to-command=./run"],
  ["tar cf x src --checkpoint-action=exec=./run"],
  ["tar -I ./run -cf x src"],
  ["sed 'e ./run' a.txt"],
  ["sed '1e' a.txt"],
  ["sed s/a/b/e a.txt"],
  ["sed 'r x' a.txt"],
  ["zip -TT ./run out.zip a.txt"],
  ["split --filter=./run a.txt"],
  ["sort --compress-program=./run a.txt"],
  ["sort --compress-prog ./run a.txt"],
  ["rg --pre ./run X src"],
  ["git config alias.x '!./run'"],
  ["git config core.hooksPath x"],
  ["git archive --exec=./run --remote=. HEAD src"],
  ["git rebase --exec ./run main"],
  ["git bisect run ./run"],
  ["git clone -u ./run a b"],
  ["git mergetool"],
  ["git config core.hooksPath list"],
  ["tar xf a.tar --to=./run"],
  ["tar cf x src --checkpoint-=exec=./run"],
  ["tar cIf ./run x src"],
  ["tar -cf x -T list"],
  ["tar xf a.tar --rmt-c=./run"],
  ["sed 's_a_b_e' a.txt"],
  ["sed -ne1e a.txt"],
  ["sed 1wout a.txt"],
  ["ssh -o ProxyCommand=./run host"],
  ["ssh -oproxycommand=./run host"],
  ["sftp -S ./run host"],
  ["less -k keys a.txt"],
  ["vim -c '!./run' a.txt"],
  ["wc --files0-from=list"],
  ["rsync --files-from=list src host:x"],
  ["zip out.zip -@"],
  ["socat EXEC:./run -"],
] as const

describe("without a sandbox that hides paths", () => {
  test.each(recursive)("%s is asked where something refused exists", async (command) => {
    expect(await decide(command)).toBe("ask")
    expect(await decide(command, [{ deny: { path: "secrets/**" } }])).toBe("ask")
  })

  test.each(recursive)("%s is not asked where nothing refused exists", async (command) => {
    expect(await decide(command, [{ deny: { read: "other/**" } }])).toBe("allow")
    expect(await decide(command, [{ deny: { read: "**/*.pem" } }])).toBe("allow")
  })

  test.each(changing)("%s is asked where something exists that may not be changed", async (command) => {
    expect(await decide(command, [{ deny: { write: "secrets/**" } }])).toBe("ask")
    expect(await decide(command, [{ deny: { write: "other/**" } }])).toBe("allow")
    expect(await verdictOf([{ deny: { write: "secrets/**" } }], policyCall("Bash", { command }), { listFolder })).toBe(
      "ask",
    )
  })

  test.each(starting)("%s is asked where it could start or use what a rule refuses", async (command) => {
    expect(await decide(command)).toBe("ask")
    expect(await decide(command, [{ deny: { write: "secrets/**" } }])).toBe("ask")
    expect(await decide(command, [{ deny: { exec: "curl **" } }])).toBe("ask")
  })

  test.each([...recursive, ...starting])("%s is asked where the tier decides, too", async (command) => {
    expect(await verdictOf(denied, policyCall("Bash", { command }), { listFolder })).toBe("ask")
  })

  test("without a file system to look at, the rules alone decide", async () => {
    expect(await verdictOf({ default: "allow", rules: denied }, policyCall("Bash", { command: "grep -r X ." }))).toBe(
      "ask",
    )
    expect(await verdictOf({ default: "allow", rules: denied }, policyCall("Bash", { command: "grep -r X src" }))).toBe(
      "allow",
    )
  })
})

test.each([...recursive, ...changing, ...starting])(
  "in a sandbox that hides paths, %s is not asked for them",
  async (command) => {
    expect(await decide(command, denied, { sandboxed: true, hidesRefused: true })).toBe("allow")
  },
)

test.each([
  ["grep X a.txt"],
  ["grep -r X src"],
  ["tar c src"],
  ["cp a.txt b.txt"],
  ["git status"],
  ["git diff --stat"],
  ["git diff HEAD~1 -- src/b.ts"],
  ["rg --files"],
  ["git log --oneline"],
  ["git push -u origin main"],
  ["git config --get core.editor"],
  ["git config user.name me"],
  ["sed -n 1,10p a.txt"],
  ["sed -i s/one/two/g a.txt"],
  ["sort -u a.txt"],
  ["sed -e 's/a/b/;s,c,d,' -e '$!d' a.txt"],
  ["rm -rf src"],
  ["mv src lib"],
  ["mv src/b.ts ."],
  ["cp -r src ."],
  ["tar xf a.tar -C src"],
  ["unzip -l a.zip"],
  ["unzip a.zip -d src"],
  ["git clean -n"],
  ["git -C src diff"],
  ["ssh -o StrictHostKeyChecking=no host ls"],
  ["npm test"],
  ["python3 x.py"],
  ["make"],
])("%s is not asked", async (command) => {
  expect(await decide(command, [{ deny: { path: "secrets/**" } }])).toBe("allow")
})
