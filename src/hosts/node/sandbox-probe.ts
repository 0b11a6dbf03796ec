/**
 * What is run inside a sandbox that is being tried: JavaScript for `node -e`, kept as text so that no bundler changes it.
 * It only reports what cannot be seen from outside.
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

attempt(() => fs.writeFileSync(inside + "/probe", ""))
attempt(() => fs.writeFileSync(outside + "/probe", ""))
const remounted = attempt(() => execFileSync("mount", ["-o", "remount,bind,rw", outside], { stdio: "ignore" }))
attempt(() => fs.writeFileSync(outside + "/probe", ""))
const capable = !attempt(() => {
  if (!/^CapEff:\\s*0+$/m.test(fs.readFileSync("/proc/self/status", "utf8"))) throw new Error()
})
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
  process.stdout.write(JSON.stringify({ remounted, capable }), () => process.exit(0))
})
`
