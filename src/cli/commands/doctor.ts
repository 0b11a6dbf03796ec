import { type Command, commonOptions, noPositionals, parseCommandLine, storeOption } from "../arguments.ts"
import { configOptions } from "../config/file.ts"
import type { FoundProgram } from "../doctor/probe-programs.ts"
import type { LocalServer } from "../doctor/probe-servers.ts"
import type { DoctorReport } from "../doctor/report.ts"
import { clip, counted, modelLabel, visible } from "../format.ts"
import type { Output } from "../output.ts"

const options = {
  ...storeOption,
  ...configOptions,
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Check what is available to runs on this machine: store, keys, local servers, programs, the model.",
  usage: "[options]",
  options,
  notes: [
    "Keys are listed by variable name only; addresses are shown as the host only.",
    "Only servers on this machine are contacted. Programs on PATH are run with --version. The sandbox is tried.",
    "With --store, the journal of every run in it is read; a damaged one is listed with a fix.",
    "Exit codes: 0 ready, 1 something that runs need is broken, 2 usage error.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("doctor", args, options)
    noPositionals("doctor", positionals)
    // Exits through process.exit, which also ends the probed programs.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(130))
    const { examine } = await import("../doctor/report.ts")
    const report = await examine(values)
    if (values.json) output.printJson(report)
    else printReport(report, output)
    return report.ok ? 0 : 1
  },
}

type Mark = "good" | "absent" | "notice" | "bad"

function printReport(report: DoctorReport, output: Output): void {
  const { colours } = output
  const signs: Readonly<Record<Mark, string>> = {
    good: colours.green("✓"),
    absent: colours.dim("–"),
    notice: colours.yellow("!"),
    bad: colours.red("✗"),
  }
  const row = (mark: Mark, name: string, text: string) =>
    output.print(`${signs[mark]} ${name.padEnd(10)}${mark === "absent" ? colours.dim(text) : text}`)

  row("good", "longhaul", report.longhaul)
  row(
    report.nodeOk ? "good" : "bad",
    "node",
    `${report.node}${report.nodeOk ? "" : ", too old: 20.19 or later is required"}`,
  )
  row(...platformRow(report))
  row(...storeRow(report))
  row(...configRow(report))
  row(...policyRow(report))
  row(report.keys.length > 0 ? "good" : "absent", "keys", report.keys.join(", ") || "none in the environment")
  for (const [name, host] of Object.entries({ ...report.baseUrls, ...report.proxies })) {
    row(host === null ? "notice" : "good", "address", `${name}: ${host ?? "not a valid address"}`)
  }
  for (const server of report.localServers) row(...serverRow(server))
  for (const program of [...report.clis, ...report.programs]) row(...programRow(program))
  row(...searchRow(report))
  row(...sandboxRow(report))
  row(report.ok ? "good" : "notice", "model", `${modelLabel(report.model)} (${visible(report.modelReason)})`)

  output.print("")
  for (const { message, fix } of report.problems) {
    output.print(`${colours.red("problem:")} ${visible(message)}`)
    output.print(`${colours.cyan("fix:")} ${visible(fix)}`)
  }
  for (const [index, step] of report.next.entries()) {
    output.print(`${colours.dim((index === 0 ? "next" : "").padEnd(6))}${visible(step)}`)
  }
}

type Row = readonly [Mark, string, string]

function platformRow({ platform, platformSupport }: DoctorReport): Row {
  const remarks = {
    full: "",
    partial: ": works, without the sandbox and without protection against paths that change during a tool call",
    none: ": use it through WSL",
  }
  return [platformSupport === "full" ? "good" : "notice", "platform", `${platform}${remarks[platformSupport]}`]
}

function storeRow({ store, storeExists, storeWritable, storeForm }: DoctorReport): Row {
  const where = visible(store)
  if (!storeWritable) return ["bad", "store", `${where}: not writable`]
  const state = storeExists ? "writable" : "does not exist yet, can be created"
  if (storeForm === "appending") return ["good", "store", `${where}: ${state}`]
  return ["notice", "store", `${where}: ${state}; this file system needs the slower create-only format`]
}

function configRow({ config, configNotLoaded, problems }: DoctorReport): Row {
  const other = configNotLoaded === null ? "" : `; ${visible(configNotLoaded)} is a program and was not loaded`
  if (config === null) return [other === "" ? "absent" : "notice", "config", `none${other}`]
  const isBroken = problems.some(({ message }) => message.includes(config))
  return [isBroken ? "bad" : "good", "config", `${visible(config)}${other}`]
}

function policyRow({ policy, problems }: DoctorReport): Row {
  if (policy === null) return ["absent", "policy", "none"]
  const isBroken = problems.some(({ message }) => message.includes(policy))
  return isBroken
    ? ["bad", "policy", visible(policy)]
    : ["good", "policy", `${visible(policy)}: its restrictions apply`]
}

function serverRow({ name, host, status, models }: LocalServer): Row {
  if (host === null) return ["notice", name, "its configured address is invalid"]
  const listed = models.slice(0, 5).join(", ")
  const more = models.length > 5 ? ", …" : ""
  const texts = {
    up: `${host}: ${counted(models.length, "model")}${listed === "" ? "" : `: ${listed}${more}`}`,
    down: `no response at ${host}`,
    other: `a different server responds at ${host}`,
    remote: `${host}: not on this machine, not contacted`,
  }
  return [status === "up" ? "good" : "absent", name, texts[status]]
}

function searchRow({ ripgrep }: DoctorReport): Row {
  if (ripgrep === null)
    return ["absent", "search", "built-in search: ripgrep 15 or later was not found, which would be faster"]
  return ["good", "search", clip(`ripgrep ${ripgrep.version} (${ripgrep.path})`, 200)]
}

function sandboxRow({ sandbox, sandboxFault }: DoctorReport): Row {
  if (sandbox === null) return ["absent", "sandbox", clip(`none for Bash: ${sandboxFault}`, 200)]
  return ["good", "sandbox", "bubblewrap works: Bash can be sandboxed"]
}

function programRow({ name, path, status, version }: FoundProgram): Row {
  const texts = {
    ok: `${version} (${path})`,
    missing: "not on PATH",
    silent: `${path}: no output for --version`,
    failed: `${path}: --version failed`,
    hung: `${path}: --version did not finish within 3 seconds`,
  }
  const mark = status === "ok" ? "good" : status === "missing" ? "absent" : "notice"
  return [mark, name, clip(texts[status], 200)]
}
