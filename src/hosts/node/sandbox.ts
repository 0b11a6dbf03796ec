import { accessSync, constants, lstatSync, readdirSync, readlinkSync } from "node:fs"
import { delimiter, join } from "node:path"
import { LonghaulError } from "../../contract/error.ts"
import { isOurs } from "../../lib/own-names.ts"
import { insidePath } from "./confine.ts"

/** What a sandboxed command sees and may do. */
export interface SandboxView {
  /** The folder that it may change. */
  readonly root: string
  /** Folders and files that it may only read, besides the system's programs. */
  readonly readOnly: readonly string[]
  readonly network: "none" | "all"
  readonly cwd: string
}

/** Where a sandboxed command is at home: private, gone with the command. */
export const sandboxHome = "/tmp/home"

/**
 * Arguments for bubblewrap, up to the program to run. All capabilities go, since root could otherwise remount what it
 * only reads; processes live in a namespace of their own that ends with its first one, or with us.
 */
export function sandboxArguments({ root, readOnly, network, cwd }: SandboxView): readonly string[] {
  return [
    "--unshare-all",
    ...(network === "all" ? ["--share-net"] : []),
    ...["--die-with-parent", "--new-session", "--cap-drop", "ALL"],
    ...["--ro-bind", "/usr", "/usr"],
    ...programFolders.flatMap(likeOutside),
    ...[...systemFiles, ...(network === "all" ? networkFiles : [])].flatMap((path) => ["--ro-bind-try", path, path]),
    ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", sandboxHome],
    // Outer folders first: the most specific one decides.
    ...[root, ...readOnly, ...ownNamesIn(root)]
      .toSorted((left, right) => left.length - right.length)
      .flatMap((path) => [path === root ? "--bind" : "--ro-bind", path, path]),
    // What is written elsewhere would be lost: better to be told.
    ...["--remount-ro", "/", "--chdir", cwd, "--"],
  ]
}

/** Where bubblewrap is; undefined where it is not on PATH. */
export function findBubblewrap(path = process.env.PATH ?? ""): string | undefined {
  if (process.platform !== "linux") return undefined
  return path
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, "bwrap"))
    .find(isExecutable)
}

/** A folder that holds the system itself would be mounted over all that keeps a command inside. */
export function refuseSystemFolder(folder: string): void {
  const holds = ["/usr", "/etc", ...kernelFolders, ...programFolders].some(
    (path) => insidePath(folder, path) !== undefined,
  )
  if (!holds && kernelFolders.every((path) => insidePath(path, folder) === undefined)) return
  throw new LonghaulError("config_invalid", `The folder ${folder} is the system's: it cannot be put into a sandbox.`, {
    fix: "Choose a folder that holds nothing of the system.",
  })
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

/** What governs the run stays as it is. */
function ownNamesIn(root: string): readonly string[] {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => isOurs(entry.name) && !entry.isSymbolicLink())
    .map((entry) => join(root, entry.name))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
