import type { Listing, ReadWord } from "./listing.ts"
import { rejectDifference } from "./unreadable.ts"

/** They change how the rest of the line is read, run text as code, or start commands in ways of their own. */
const ALWAYS_UNREADABLE = new Set(
  [
    "alias unalias set shopt enable hash . source builtin export declare typeset local readonly unset let getopts",
    "mapfile readarray compgen complete compopt bind fc history",
    "sudo doas su pkexec runuser chroot unshare nsenter setpriv systemd-run bwrap firejail fakeroot",
    "script parallel at batch crontab watch flock strace ltrace taskset chrt time unbuffer busybox toybox",
    "prlimit choom setarch linux32 linux64 i386 x86_64 uname26 uclampset coresched runcon numactl cpulimit trickle",
    "capsh sg newgrp gosu su-exec setuidgid chpst softlimit envdir start-stop-daemon daemonize daemon dumb-init tini",
    "systemd-cat systemd-inhibit systemd-nspawn machinectl ssh-agent gpg-agent dbus-run-session dbus-launch xvfb-run",
    "eatmydata faketime fakechroot proot tsocks torsocks proxychains proxychains4 rlwrap valgrind catchsegv perf gdb",
    "entr hyperfine expect direnv run-parts ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-musl-x86_64.so.1",
    "gtimeout gnice genv gxargs gfind gnohup gstdbuf",
    "zsh ksh mksh ash fish csh tcsh rbash",
  ].flatMap((names) => names.split(" ")),
)

const SPECIAL = new Set(": eval exec break continue return shift times trap exit".split(" "))
const BINARY = /^(=|==|!=|<|>|-eq|-ne|-lt|-le|-gt|-ge|-nt|-ot|-ef)$/

export const isAlwaysUnreadable = (name: string) => ALWAYS_UNREADABLE.has(name)

/** Variables in front of a special builtin stay set afterwards. */
export const isSpecialBuiltin = (name: string) => SPECIAL.has(name)

/** Rejects arguments that a builtin of bash would run: it expands subscripts, as in `[ -v 'a[$(id)]' ]`. */
export function checkBuiltin(name: string, args: readonly ReadWord[], listing: Listing): void {
  switch (name) {
    case "cd":
    case "chdir":
    case "pushd":
    case "popd":
      listing.changesFolder = true
      return
    case "[":
      checkTest(args.at(-1)?.text === "]" ? args.slice(0, -1) : args)
      return
    case "test":
      checkTest(args)
      return
    case "printf":
      if (args[0] && (!args[0].isFixed || args[0].text.startsWith("-v"))) rejectDifference("printf -v")
      return
    case "read":
      checkRead(args, listing)
      return
    case "wait":
      for (const { text, isFixed } of args) {
        if (isFixed ? text.startsWith("-") && text !== "-n" : !/^"?\$!"?$/.test(text)) rejectDifference("wait -p")
      }
      return
    case "jobs":
      if (args.some(({ text, isFixed }) => !isFixed || !/^-[lp]$/.test(text))) rejectDifference("jobs -x")
      return
    default:
  }
}

/** Only forms in which no computed word can be an operator. */
function checkTest(given: readonly ReadWord[]): void {
  if (given.some(({ text, isFixed }) => isFixed && /^-[vR]$/.test(text))) rejectDifference("test -v")
  if (given.every(({ isFixed }) => isFixed)) return
  const args = given[0]?.isFixed && given[0].text === "!" ? given.slice(1) : given
  const [first, second] = args
  const isSafe =
    args.every(({ isOne }) => isOne) &&
    (args.length === 1 ||
      (args.length === 2 && first?.isFixed) ||
      (args.length === 3 && second?.isFixed && BINARY.test(second.text)))
  if (!isSafe) rejectDifference("a test with computed operators")
}

/** `read` sets variables for the rest of the line. */
function checkRead(args: readonly ReadWord[], listing: Listing): void {
  const names = args.filter(({ text, isFixed }) => !isFixed || !/^-[rs]+$/.test(text))
  for (const { text, isFixed } of names) {
    if (!isFixed || !/^[A-Za-z_]\w*$/.test(text)) rejectDifference("the arguments of read")
    listing.lineVariables.add(text)
  }
  if (names.length === 0) listing.lineVariables.add("REPLY")
}
