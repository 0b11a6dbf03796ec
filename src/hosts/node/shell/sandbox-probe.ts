/**
 * The program run inside a sandbox during its self-test: JavaScript for `node -e`, kept as text so that no bundler
 * changes it. It only reports what cannot be seen from outside.
 */
export const sandboxProbe = `
const fs = require("node:fs")
const net = require("node:net")
const { execFileSync, spawn } = require("node:child_process")
const { inside, outside, tcp, udp } = JSON.parse(process.argv[1])

function attempt(act) {
  try {
    act()
    return true
  } catch {
    return false
  }
}

function run(program, ...args) {
  execFileSync(program, args, { stdio: "ignore" })
}

/** Changes nothing: every write repeats what is there, or is only opened. */
const escapes = {
  "could mount its file system anew": () => run("mount", "-o", "remount,bind,rw", outside),
  "keeps the rights of root": () => {
    if (/^CapEff:\\s*0+$/m.test(fs.readFileSync("/proc/self/status", "utf8"))) throw new Error()
  },
  "could change the kernel's settings": () => {
    const settings = "/proc/sys/kernel/core_pattern /proc/sys/kernel/printk /proc/sys/vm/swappiness /proc/sysrq-trigger"
    if (!settings.split(" ").some((path) => attempt(() => fs.closeSync(fs.openSync(path, "r+"))))) throw new Error()
  },
  "could change a device of the machine": () => {
    const nodes = fs.readdirSync("/dev").map((name) => "/dev/" + name)
    const isDevice = (path) => fs.lstatSync(path).isCharacterDevice() || fs.lstatSync(path).isBlockDevice()
    const change = (path) => attempt(() => fs.chmodSync(path, fs.statSync(path).mode & 0o7777))
    if (![...nodes.filter(isDevice), "/proc/self/fd/0"].some(change)) throw new Error()
  },
  "could change the program that makes it": () => {
    fs.chmodSync("/proc/1/exe", fs.statSync("/proc/1/exe").mode & 0o7777)
  },
  "could make a user namespace of its own": () => run("unshare", "--user", "true"),
  "has files of the machine open": () => {
    const isFile = (name) => {
      const stats = fs.fstatSync(Number(name))
      return stats.isDirectory() || stats.isFile() || stats.isBlockDevice()
    }
    const open = fs.readdirSync("/proc/self/fd").filter((name) => attempt(() => fs.fstatSync(Number(name))))
    if (!open.some(isFile)) throw new Error()
  },
}

attempt(() => fs.writeFileSync(inside + "/probe", ""))
attempt(() => fs.writeFileSync(outside + "/probe", ""))
const faults = Object.keys(escapes).filter((name) => attempt(escapes[name]))
attempt(() => fs.writeFileSync(outside + "/probe", ""))
const survivor = spawn("/bin/sh", ["-c", "trap '' TERM HUP; sleep 30"], {
  detached: true,
  stdio: ["ignore", "inherit", "inherit"],
})
survivor.on("error", () => {})
survivor.unref()

const socket = require("node:dgram").createSocket("udp4")
const sent = new Promise((resolve) => socket.send("probe", udp, "127.0.0.1", resolve))
const connected = new Promise((resolve) => {
  net.connect(tcp, "127.0.0.1").on("connect", resolve).on("error", resolve).setTimeout(1000, resolve)
})
Promise.all([sent, connected]).then(() => {
  process.stdout.write(JSON.stringify({ faults }), () => process.exit(0))
})
`
