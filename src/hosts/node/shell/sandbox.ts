import { lstatSync, readdirSync, readlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { LonghaulError } from "../../../contract/error.ts"
import { isOurs } from "../../../lib/own-names.ts"
import { insidePath } from "../files/confine.ts"
import { findProgram, type ProgramSearch } from "./find-program.ts"
import { nothingRefused, type RefusedPaths } from "./refused-paths.ts"

/** The paths that a sandboxed command can see, and its permissions. */
export interface SandboxView {
  /** The writable folder. */
  readonly root: string
  /** Read-only folders and files, in addition to the system's programs. */
  readonly readOnly: readonly string[]
  /** Folders inside those that appear empty. They must exist. */
  readonly hidden: readonly string[]
  readonly network: "none" | "all"
  readonly cwd: string
  /** The paths that rules refuse to the command. */
  readonly refused?: RefusedPaths
  /** An empty file that no one may read: it covers files that are refused. */
  readonly emptyFile?: string
}

/** The home of a sandboxed command: private, deleted with the command. */
export const sandboxHome = "/tmp/home"

/**
 * Arguments for bubblewrap, up to the program to run. All capabilities are dropped, since root could otherwise remount
 * read-only folders; processes live in their own namespace, which ends with its first process, or with us. Root without
 * capabilities still owns the kernel settings below /proc: they are read-only. A further user namespace, which would
 * restore capabilities, cannot be created.
 */
export function sandboxArguments(view: SandboxView): readonly string[] {
  const { root, hidden, network, cwd, refused = nothingRefused, emptyFile = "/dev/null" } = view
  const { fixed, between } = coveredPaths(view)
  const masked = refused.unreadable.filter(({ isFolder }) => isFolder).map(({ path }) => path)
  const mounts: readonly Mount[] = [
    ["--bind", root, root],
    ...between.map((path) => ["--bind", path, path] as const),
    ...fixed.map((path) => ["--ro-bind", path, path] as const),
    ...hidden.map((path) => ["--tmpfs", path] as const),
    ...refused.unreadable.map(
      ({ path, isFolder }): Mount => (isFolder ? ["--perms", "0000", "--tmpfs", path] : ["--ro-bind", emptyFile, path]),
    ),
  ]
  return [
    ...["--unshare-all", "--unshare-user", "--disable-userns"],
    ...(network === "all" ? ["--share-net"] : []),
    ...["--die-with-parent", "--new-session", "--cap-drop", "ALL"],
    ...["--ro-bind", "/usr", "/usr"],
    ...programFolders.flatMap(likeOutside),
    ...[...systemFiles, ...(network === "all" ? networkFiles : [])].flatMap((path) => ["--ro-bind-try", path, path]),
    ...["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", sandboxHome],
    // Outer folders first: the most specific one decides.
    ...mounts.toSorted((left, right) => targetOf(left).length - targetOf(right).length).flat(),
    // Writes elsewhere would be lost silently: read-only makes them fail.
    ...[...hidden, ...masked, "/"].flatMap((path) => ["--remount-ro", path]),
    ...["--chdir", cwd, "--"],
  ]
}

type Mount =
  | readonly [kind: "--bind" | "--ro-bind", from: string, to: string]
  | readonly [kind: "--tmpfs", at: string]
  | readonly [option: "--perms", mode: string, kind: "--tmpfs", at: string]

function targetOf(mount: Mount): string {
  return mount.at(-1) ?? ""
}

/** `fixed`: read-only in the sandbox; `between`: folders above covered paths, which cannot be renamed. */
function coveredPaths({ root, readOnly, hidden, refused = nothingRefused }: SandboxView) {
  const fixed = [...new Set([...readOnly, ...ownNamesIn(root), ...refused.unwritable])]
  const unreadable = refused.unreadable.map(({ path }) => path)
  return { fixed, between: foldersBetween(root, [...readOnly, ...refused.unwritable, ...hidden, ...unreadable]) }
}

/**
 * Paths that must stay what they are while a command runs: the sandbox covers nothing that takes their place. The identity of a read-only
 * folder was fixed when the sandbox was made; its content was not.
 */
export function boundPaths(view: SandboxView): readonly string[] {
  const { root, readOnly, hidden, refused = nothingRefused } = view
  const { fixed, between } = coveredPaths(view)
  const closed = [...refused.unwritable, ...refused.unreadable.map(({ path }) => path)]
  const shown = [root, ...readOnly, ...shownSystem]
  const above = closed.flatMap((path) => {
    const folder = shown.find((each) => each !== root && path !== each && insidePath(each, path) !== undefined)
    return folder === undefined ? [] : foldersBetween(folder, [path])
  })
  return [...new Set([...fixed, ...between, ...hidden, ...closed, ...above])].filter((path) => {
    return shown.some((folder) => folder !== path && insidePath(folder, path) !== undefined)
  })
}

/** The parts of the system that a sandbox shows. */
export const shownSystem: readonly string[] = ["/usr", "/etc"]

/**
 * The same command line with the sandbox's own /dev/null as input: the machine's would be a handle to a device node
 * that root may change.
 */
export const withoutInput = ["/bin/sh", "-c", 'exec "$@" </dev/null', "sh"]

/**
 * The command line of bubblewrap; undefined if it is not on PATH. Root owns the device nodes and, reachable from inside
 * as /proc/1/exe, bubblewrap itself: both become read-only in a mount namespace around the sandbox.
 */
export function findBubblewrap(search?: ProgramSearch): readonly string[] | undefined {
  const bwrap = process.platform === "linux" ? findProgram("bwrap", search) : undefined
  if (bwrap === undefined) return undefined
  if (process.getuid?.() !== 0) return [bwrap]
  const program = (name: string) => findProgram(name, search) ?? `/usr/bin/${name}`
  const script = '"$0" -o bind,ro /dev /dev && "$0" -o bind,ro "$1" "$1" && exec "$@"'
  return [program("unshare"), "--mount", "/bin/sh", "-c", script, program("mount"), bwrap]
}

/** A folder with system files would be mounted over the confinement itself. */
export function refuseSystemFolder(folder: string): void {
  const holds = ["/usr", "/etc", ...kernelFolders, ...programFolders].some(
    (path) => insidePath(folder, path) !== undefined,
  )
  if (!holds && kernelFolders.every((path) => insidePath(path, folder) === undefined)) return
  throw new LonghaulError(
    "config_invalid",
    `The folder ${folder} belongs to the system: it cannot be put in a sandbox.`,
    {
      fix: "Choose a folder without system files.",
    },
  )
}

const kernelFolders = ["/proc", "/dev", "/sys"]
const programFolders = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"]

/** The parts of /etc that programs need. The rest may be private. */
const systemFiles = [
  ...["alternatives", "ca-certificates.conf", "gitconfig", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d"],
  ...["localtime", "mime.types", "nsswitch.conf", "os-release", "passwd", "pki/ca-trust", "pki/tls/cert.pem"],
  ...["pki/tls/certs", "protocols", "services", "ssl/certs", "ssl/openssl.cnf", "timezone"],
].map((name) => `/etc/${name}`)

const networkFiles = ["/etc/hosts", "/etc/resolv.conf"]

/** Distributions with a merged /usr have links. */
function likeOutside(path: string): readonly string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats?.isSymbolicLink()) return ["--symlink", readlinkSync(path), path]
  return stats?.isDirectory() ? ["--ro-bind", path, path] : []
}

/**
 * Bind-mounted on themselves, they cannot be renamed: mounts below would move along and be exposed to the next command.
 */
function foldersBetween(root: string, paths: readonly string[]): readonly string[] {
  const folders = paths
    .filter((path) => insidePath(root, path))
    .flatMap((path) => {
      const above: string[] = []
      for (let at = dirname(path); at !== root; at = dirname(at)) above.push(at)
      return above
    })
  // Not for folders that are read-only or hidden themselves.
  return [...new Set(folders)].filter((folder) => paths.every((path) => insidePath(path, folder) === undefined))
}

/** Config files stay read-only. */
function ownNamesIn(root: string): readonly string[] {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => isOurs(entry.name) && !entry.isSymbolicLink())
    .map((entry) => join(root, entry.name))
}
