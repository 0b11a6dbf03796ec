import { lstatSync, readdirSync, readlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { LonghaulError } from "../../../contract/error.ts"
import { isOurs } from "../../../lib/own-names.ts"
import { insidePath } from "../files/confine.ts"
import { findProgram, type ProgramSearch } from "./find-program.ts"

/** What a sandboxed command sees and may do. */
export interface SandboxView {
  /** The folder that it may change. */
  readonly root: string
  /** Folders and files that it may only read, besides the system's programs. */
  readonly readOnly: readonly string[]
  /** Folders inside those that are empty for it. They must exist. */
  readonly hidden: readonly string[]
  readonly network: "none" | "all"
  readonly cwd: string
}

/** Where a sandboxed command is at home: private, gone with the command. */
export const sandboxHome = "/tmp/home"

/**
 * Arguments for bubblewrap, up to the program to run. All capabilities go, since root could otherwise remount what it
 * only reads; processes live in a namespace of their own that ends with its first one, or with us. Root without
 * capabilities still owns the kernel's settings below /proc: they are read-only. A further user namespace, which would
 * give capabilities back, cannot be made.
 */
export function sandboxArguments({ root, readOnly, hidden, network, cwd }: SandboxView): readonly string[] {
  const mounts: readonly Mount[] = [
    ["--bind", root, root],
    ...[...readOnly, ...ownNamesIn(root)].map((path) => ["--ro-bind", path, path] as const),
    ...hidden.map((path) => ["--tmpfs", path] as const),
    ...foldersBetween(root, [...readOnly, ...hidden]).map((path) => ["--bind", path, path] as const),
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
    ...mounts.toSorted(([, left], [, right]) => left.length - right.length).flat(),
    // What is written elsewhere would be lost: better to be told.
    ...[...hidden, "/"].flatMap((path) => ["--remount-ro", path]),
    ...["--chdir", cwd, "--"],
  ]
}

type Mount = readonly [kind: "--bind" | "--ro-bind", from: string, to: string] | readonly [kind: "--tmpfs", at: string]

/**
 * The same command line, run with the sandbox's own /dev/null as its input: the one of the machine would be a handle to
 * a device node that root may change.
 */
export const withoutInput = ["/bin/sh", "-c", 'exec "$@" </dev/null', "sh"]

/**
 * The words that start bubblewrap; undefined where it is not on PATH. Root owns the device nodes and, reached from inside
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

/** A folder that holds the system itself would be mounted over all that keeps a command inside. */
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

/** What programs need of /etc. The rest may hold what is nobody's business. */
const systemFiles = [
  ...["alternatives", "ca-certificates.conf", "gitconfig", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d"],
  ...["localtime", "mime.types", "nsswitch.conf", "os-release", "passwd", "pki/ca-trust", "pki/tls/cert.pem"],
  ...["pki/tls/certs", "protocols", "services", "ssl/certs", "ssl/openssl.cnf", "timezone"],
].map((name) => `/etc/${name}`)

const networkFiles = ["/etc/hosts", "/etc/resolv.conf"]

/** Distributions that merged them have links into /usr. */
function likeOutside(path: string): readonly string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats?.isSymbolicLink()) return ["--symlink", readlinkSync(path), path]
  return stats?.isDirectory() ? ["--ro-bind", path, path] : []
}

/** Mounted on themselves, they cannot be renamed: what is mounted below would move along, and lie open to the next command. */
function foldersBetween(root: string, paths: readonly string[]): readonly string[] {
  const folders = paths
    .filter((path) => insidePath(root, path))
    .flatMap((path) => {
      const above: string[] = []
      for (let at = dirname(path); at !== root; at = dirname(at)) above.push(at)
      return above
    })
  // Not in place of what is read-only or hidden itself.
  return [...new Set(folders)].filter((folder) => paths.every((path) => insidePath(path, folder) === undefined))
}

/** What governs the run stays as it is. */
function ownNamesIn(root: string): readonly string[] {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => isOurs(entry.name) && !entry.isSymbolicLink())
    .map((entry) => join(root, entry.name))
}
