import { spawn } from "node:child_process"

/** Ends programs when this process dies, however it dies. */
export interface DeathWatch {
  /** The leader of a process group that runs now, and that has ended. */
  add(leader: number): void
  remove(leader: number): void
  /** No process is running. */
  close(): void
}

/**
 * Starts a shell that reads a pipe of which only this process has the other end. When the pipe ends, this process is dead: the shell
 * kills the groups that were not removed, and where the system lists processes, those with the marker in their environment, which
 * may have left their group. `mark`: see `markOf`.
 */
export function watchDeath(mark: string): DeathWatch {
  if (process.platform === "win32") return { add() {}, remove() {}, close() {} }
  // In a session of its own: neither a terminal nor a kill of this process's group reaches it.
  const child = spawn("/bin/sh", ["-c", watcher], {
    ...{ cwd: "/", detached: true, stdio: ["pipe", "ignore", "ignore"] },
    env: { PATH: "/usr/bin:/bin" },
  })
  const { stdin } = child
  // Without a shell, the next process that starts a program ends what is left.
  for (const emitter of [child, stdin]) emitter.on("error", () => {})
  child.unref()
  // Safe: the standard input of a child is a socket or a pipe, and both can be unreferenced.
  ;(stdin as typeof stdin & { unref?(): void }).unref?.()
  const tell = (line: string) => stdin.write(`${line}\n`)
  tell(mark)
  return {
    add: (leader) => tell(`${leader}`),
    remove: (leader) => tell(`-${leader}`),
    close: () => stdin.end("close\n"),
  }
}

/** The first line is the marker. It is in no environment and no command line of the shell itself. Several passes: killed programs fork. */
const watcher = `
read -r mark || exit
groups=' '
while read -r line; do
  case $line in
    close) exit ;;
    -*) groups=$(printf '%s' "$groups" | sed "s/ \${line#-} / /") ;;
    *) groups="$groups$line " ;;
  esac
done
for pass in 1 2 3 4 5; do
  for group in $groups; do kill -KILL "-$group" 2>/dev/null; done
  for file in $(grep -lsaF -e "LONGHAUL_SHELL=$mark" -e ":$mark" /proc/[0-9]*/environ 2>/dev/null); do
    process=\${file#/proc/}
    kill -KILL "\${process%/environ}" 2>/dev/null
  done
  sleep 0.1
done
`
