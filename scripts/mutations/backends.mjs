// Promises about agents that others run: their tools, their sessions, failover and moves.
import { mutation } from "./mutation.mjs"

const own = "src/run/calls/own-calls.ts"
const conformance = (name) => ["test/backend-conformance.test.ts", name]
const runs = (name) => ["test/backend-runtime.test.ts", name]
const codexStart = (name) => ["src/backends/codex/connection.test.ts", name]
const trust = (name) => ["src/backends/acp/trust.test.ts", name]
const ungated = (name) => ["test/ungated-calls.test.ts", name]
const told = (name) => ["src/hosts/node/backends/named-backends.test.ts", name]
const stops = (name) => ["src/backends/acp/stops.test.ts", name]
const claudeRun = (name) => ["src/backends/claude/run.test.ts", name]
const programs = "src/hosts/node/backends/programs.test.ts"
const failover = (name) => ["test/failover.test.ts", name]

export const mutations = [
  mutation(
    "backends: a program of Claude that ends some time after its output is said to be late",
    [["src/backends/claude/program.ts", "isDeaf || inbox.hasEnded ? stopMs : 0", "isDeaf ? stopMs : 0"]],
    [
      "src/backends/claude-cli/protocol.test.ts",
      "a program whose output ends some time before it exits has crashed, too",
    ],
    ["src/backends/claude-sdk/program.test.ts", "a program whose messages end some time before it exits has crashed"],
  ),
  mutation(
    "backends: a vendor's tool runs without its intent on record",
    [[own, "        journal.append(intentOf(this.#run, call, effect))\n", ""]],
    conformance("a tool of the backend runs after its intent was recorded"),
  ),
  mutation(
    "backends: a call of a vendor that is not recorded may run",
    [[own, "if (!this.#runner.isAnnounced(call.callId)) return refuse", "if (false) return refuse"]],
    ["src/run/calls/own-calls.test.ts", "a call that is not recorded is refused"],
  ),
  mutation(
    "backends: a call that was begun before may run again",
    [[own, "    if (earlier) return earlier\n", ""]],
    ["src/run/calls/own-calls.test.ts", "a call that was begun or settled before is refused"],
  ),
  mutation(
    "backends: file tools of a vendor reach outside the workspace",
    [["src/run/calls/decide.ts", "return outside ?? showsHidden(", "return showsHidden("]],
    runs("does not write to another folder, whatever the policy allows"),
  ),
  mutation(
    "backends: a vendor's tool runs although its policy denies it",
    [
      [
        own,
        'if (decided.kind === "deny") return this.#deny(call, decided.reason)',
        'if (decided.kind === "deny") return this.#begin(call, tool)',
      ],
    ],
    conformance("a tool of the backend that the policy denies does not run"),
  ),
  mutation(
    "backends: a failure that would repeat moves the run on",
    [["src/run/attempts.ts", "return retryable || code", "return true || code"]],
    failover("a failure that would repeat elsewhere ends the run at once"),
  ),
  mutation(
    "backends: a call that a failed backend began is not flagged",
    [["src/run/attempts.ts", "  await settleOpenCalls(run)\n  const to", "  const to"]],
    failover("a call that a failed backend had begun is flagged for the next one, and not repeated"),
  ),
  mutation(
    "backends: a session is continued although it ended in the middle of a step",
    [["src/run/open/open-run.ts", 'const isClean = resumedFrom === "paused" || !stepIsOpen', "const isClean = true"]],
    runs("that was running when the process died is flagged, and its session is not continued"),
  ),
  mutation(
    "backends: a fork continues the session of the other run",
    [["src/run/open/open-run.ts", "forkOf === undefined || sessionAt > forkOf.at", "true"]],
    runs("a fork has a session of its own"),
  ),
  mutation(
    "backends: a result claims more enforcement than there was",
    [["src/journal/route-fold.ts", "record.enforcement ?? this.enforcement", "record.enforcement"]],
    runs("a result does not claim more enforcement than its backend declares"),
  ),
  mutation(
    "backends: a silent session is never stopped",
    [["src/run/session/watch.ts", "else if (this.#waiting === 0) this.stop(this.#stalled())", ""]],
    runs("a session without a sign of life is stopped as stalled"),
  ),
  mutation(
    "backends: a run moves although its files have changed",
    [["src/run/session/handover.ts", "return now === before ? [] : [path]", "return []"]],
    runs("pauses and says which files have changed"),
  ),
  mutation(
    "backends: a listener in the middle of a text gets its deltas",
    [
      [
        "src/run/state/redact-events.ts",
        "this.#streams.get(event.id)?.push(event.delta)",
        "redactor.stream().push(event.delta)",
      ],
    ],
    runs("a listener that comes in the middle of a secret gets none of it"),
  ),
  mutation(
    "backends: the gate prints whatever it was answered",
    [["src/hosts/node/backends/gate-program.ts", "case $answer in '{'*'}') ;; *) exit 2 ;; esac\n", ""]],
    ["src/hosts/node/backends/loopback.test.ts", "exits with 2 if the service sends an answer that is not an object"],
  ),
  mutation(
    "backends: the gate takes functions from its environment",
    [["src/hosts/node/backends/gate-program.ts", '"-pc"', '"-c"']],
    ["src/hosts/node/backends/loopback.test.ts", "the gate in a shell is not opened by an environment with"],
  ),
  mutation(
    "backends: Codex uses the settings of the workspace",
    [["src/backends/codex/settings.ts", '["projects", untrusted(folders)]', '["projects", {}]']],
    codexStart("Codex is told that the workspace, all folders above it and their real paths are not trusted"),
  ),
  mutation(
    "backends: Codex runs filters that the configuration of a repository names",
    [["src/backends/codex/index.ts", "      ...withoutGit,\n", ""]],
    codexStart("Codex itself finds no repository, and its commands get none of its variables"),
  ),
  mutation(
    "backends: commands of Codex find no repository",
    [["src/backends/codex/settings.ts", ", ...Object.keys(withoutGit)]", "]"]],
    codexStart("Codex itself finds no repository, and its commands get none of its variables"),
  ),
  mutation(
    "backends: Codex is used although its hook is disabled",
    [["src/backends/codex/connection.ts", " && ours.enabled === true", ""]],
    codexStart("Codex is not used if its hook is trusted, but disabled"),
  ),
  mutation(
    "backends: Gemini trusts a workspace with settings of its own",
    [["src/backends/acp/trust.ts", "await find(files)", "undefined"]],
    trust("Gemini does not trust a folder with .env, and gets no tools there"),
  ),
  mutation(
    "backends: an untrusted folder names the project and location of Gemini",
    [
      [
        "src/backends/acp/gemini.ts",
        '"GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"],',
        '"GOOGLE_API_KEY"],',
      ],
    ],
    trust("Gemini gets its keys, project and location from the user alone"),
  ),
  mutation(
    "backends: variables of an untrusted .env reach Gemini",
    [["src/backends/acp/trust.ts", ', ...Object.fromEntries(taken.map((name) => [name, given(name) ?? ""]))', ""]],
    trust("Gemini does not trust a folder with .env, and gets no tools there"),
  ),
  mutation(
    "backends: an agent starts where a file of the workspace would run unasked",
    [["src/backends/acp/trust.ts", "if (run !== undefined) {", "if (false) {"]],
    trust("would run without a question"),
  ),
  mutation(
    "backends: files of a linked workspace are looked for by its link only",
    [["src/backends/shared/workspace-folders.ts", ", ...withFoldersAbove(real)", ""]],
    trust("files of the real folder count where the workspace is a symbolic link"),
  ),
  mutation(
    "backends: a vendor's tool runs although the run may not use it",
    [[own, "if (!mayUseOwn(this.#run.input.extensions.filter, tool))", "if (false)"]],
    runs("does not run if disabledTools names it, of the run or of its runtime, and its backend starts without it"),
  ),
  mutation(
    "backends: a vendor's tool runs although its own name of it is disabled",
    [["src/settings/options/extensions.ts", " && filter.disabled?.includes(nativeName) !== true", ""]],
    runs("does not run if disabledTools has its backend's name of it"),
  ),
  mutation(
    "backends: a pattern or a misspelt name in disabledTools disables nothing",
    [
      [
        "src/settings/options/disabled-tools.ts",
        'if (meant === undefined && !name.includes("*")) continue',
        "continue",
      ],
    ],
    runs("fails the run before it starts if disabledTools has"),
  ),
  mutation(
    "backends: a vendor is started with tools that the run may not use",
    [["src/run/session/withheld-tools.ts", 'tool.name !== "*" && !mayUseOwn(filter, tool)', "false"]],
    runs("does not run if disabledTools names it, of the run or of its runtime, and its backend starts without it"),
  ),
  mutation(
    "backends: a restriction that no one can enforce is accepted",
    [["src/run/session/prepare.ts", "if (unstoppable === undefined) return names", "return names"]],
    runs("fails the run before it starts if disabledTools names it"),
  ),
  mutation(
    "backends: a vendor's program outlives the process that started it",
    [["src/hosts/node/backends/programs.ts", "      watch.add(pid)\n", ""]],
    ["src/hosts/node/backends/programs.test.ts", "a program ends with the process that started it"],
  ),
  mutation(
    "backends: the death watch does not find programs that left their group",
    [["src/hosts/node/backends/death-watch.ts", '-e ":$mark"', ""]],
    ["src/hosts/node/backends/death-watch.test.ts", "also those that have left their group"],
  ),
  mutation(
    "backends: a resume does not end what a dead owner left",
    [["src/run/open/resume-run.ts", "await config.backendEnv.sweep?.()", "await undefined"]],
    runs("on any backend, first ends the programs that the dead owner left"),
  ),
  mutation(
    "backends: a resume does not end a program that had not opened its session",
    [["src/run/open/resume-run.ts", " || chosen?.backend !== config.backends.native.name", ""]],
    runs("of a run whose program had not opened its session"),
  ),
  mutation(
    "backends: a program is started before it is on record that it may be",
    [["src/run/session/drive.ts", "    if (!target.backend.capabilities.edge) await run.journal.flush()\n", ""]],
    runs("of a run whose program had not opened its session"),
  ),
  mutation(
    "backends: an answer of a vendor that was cut counts as a turn",
    [["src/backends/shared/steps.ts", "if (this.#hasCalls) this.#closeAnswer", "this.#closeAnswer"]],
    ["src/backends/shared/steps.test.ts", "an answer that is left without a call is none"],
  ),
  mutation(
    "backends: an answer of Codex with calls is no turn if the next request fails",
    [["src/backends/codex/recording.ts", "    this.steps.suspend()\n", ""]],
    ["src/backends/codex/stops.test.ts", "an answer whose call has run is a turn, although the next request fails"],
  ),
  mutation(
    "backends: a passing failure of a vendor fails the run",
    [["src/run/attempts.ts", "if (delayMs === null) return stop", "return stop"]],
    runs("at the first request is repeated in the vendor's session, and recorded as a retry"),
  ),
  mutation(
    "backends: three passing failures of a vendor fail a run, however many turns are between them",
    [["src/run/attempts.ts", "if (projection.turns > turns) retry = createRetry(sessionRetry)", ""]],
    runs("each turn that fails has three attempts, however many the turns before took"),
  ),
  mutation(
    "backends: a vendor's call that was begun before a retry is not flagged",
    [
      [
        "src/run/attempts.ts",
        '      await settleOpenCalls(run)\n      journal.append({ type: "retry"',
        '      journal.append({ type: "retry"',
      ],
    ],
    runs("while a call is open flags the call, and does not run it again"),
  ),
  mutation(
    "backends: a retry continues a session that ended in the middle of a step",
    [
      [
        "src/run/attempts.ts",
        "      const left = sessionLeft(projection, target, input.cwd)\n      await settleOpenCalls(run)\n",
        "      await settleOpenCalls(run)\n      const left = sessionLeft(projection, target, input.cwd)\n",
      ],
    ],
    runs("while a call is open flags the call, and does not run it again"),
  ),
  mutation(
    "backends: a retry leaves the vendor's session",
    [["src/run/attempts.ts", "      run.left = left\n", ""]],
    runs("is repeated in the vendor's session, and recorded as a retry"),
  ),
  mutation(
    "backends: ACP agents claim to report what they do not",
    [
      [
        "src/backends/acp/index.ts",
        'tells: known.has("Task") ? ["subagents"] : []',
        'tells: ["subagents", "compaction"]',
      ],
    ],
    told("acp:gemini says that it reports"),
    told("acp:cursor says that it reports"),
    told("an agent that only its command names says that it reports"),
  ),
  mutation(
    "backends: ACP agents that report their agents deny it",
    [["src/backends/acp/index.ts", 'tells: known.has("Task") ? ["subagents"] : []', "tells: []"]],
    told("acp:gemini says that it reports"),
    told("acp:opencode says that it reports"),
  ),
  ...["codex/index.ts", "claude/capabilities.ts", "pi/index.ts"].map((file) =>
    mutation(
      `backends: ${file} denies that it reports its agents and compactions`,
      [[`src/backends/${file}`, 'tells: ["subagents", "compaction"]', "tells: []"]],
      told(`${/^\w+/.exec(file)?.[0]}`),
    ),
  ),
  mutation(
    "backends: auto waits for a probe that hangs",
    [
      [
        "src/settings/backends/backends.ts",
        "delay(PROBE_MS, answered.signal).then(() => undefined)",
        "new Promise(() => {})",
      ],
    ],
    runs("a backend whose probe hangs or fails is not used"),
  ),
  mutation(
    "backends: auto takes a failed probe for an installed program",
    [["src/settings/backends/backends.ts", " && probe.failure === undefined", ""]],
    runs("a backend whose probe hangs or fails is not used"),
  ),
  mutation(
    "backends: a probe that throws ends every run of auto",
    [["src/settings/backends/backends.ts", "  } catch {\n    return undefined\n  } finally", "  } finally"]],
    runs("a backend whose probe hangs or fails is not used"),
  ),
  mutation(
    "backends: auto fails with the backend that it chose, although that began no answer",
    [["src/run/attempts.ts", '(code === "auth" || projection.turns === turns)', 'code === "auth"']],
    runs("a chosen backend whose session fails as config_invalid before an answer is replaced by native"),
  ),
  mutation(
    "backends: auto leaves a backend in the middle of its work",
    [["src/run/attempts.ts", '(code === "auth" || projection.turns === turns)', "true"]],
    runs("a chosen backend that fails after its first answer ends the run"),
  ),
  mutation(
    "backends: a probe runs where the files of a workspace can answer it",
    [["src/backends/claude/launch.ts", 'cwd: "/"', 'cwd: "."']],
    ["src/hosts/node/backends/named-backends.test.ts", "a probe of claude-cli"],
  ),
  mutation(
    "backends: a vendor starts programs of the workspace, because npx has put them on PATH",
    [["src/hosts/node/backends/programs.ts", "PATH: pathOutside(variables.PATH, outside)", "PATH: variables.PATH"]],
    [programs, "the programs that a program starts are not looked up in a folder that tools may write either"],
  ),
  mutation(
    "backends: a program is looked up in a workspace that is named by a link",
    [["src/hosts/node/shell/find-program.ts", "[folder, realPathOf(folder)])", "[folder])"]],
    ["src/hosts/node/shell/find-program.test.ts", "no program is found in the workspace"],
  ),
  mutation(
    "backends: an empty PATH looks up programs in the current folder",
    [["src/hosts/node/shell/find-program.ts", ".join(delimiter) || undefined", ".join(delimiter)"]],
    ["src/hosts/node/shell/find-program.test.ts", "a PATH of which nothing is left is undefined"],
  ),
  mutation(
    "backends: a requirement does not count in a chain of one",
    [
      [
        "src/run/attempts.ts",
        "const missing = missingIn(run, target)",
        "const missing = chain.length > 1 ? missingIn(run, target) : []",
      ],
    ],
    runs("a requirement in a chain of one counts"),
  ),
  mutation(
    "backends: an ACP call runs if the decision about it throws",
    [
      [
        "src/backends/acp/gate.ts",
        'return permissionAnswer(question, "reject_once")\n    }\n  }',
        'return permissionAnswer(question, "allow_once")\n    }\n  }',
      ],
    ],
    ["src/backends/acp/gate.test.ts", "is refused if the decision about it throws"],
  ),
  mutation(
    "backends: a decision about an ACP call counts for another call under its id",
    [["src/backends/acp/gate.ts", "known && known.name === tool.name && sameJson(known.args, args) ?", "known ?"]],
    ["src/backends/acp/gate.test.ts", "about another call under the same id is decided anew"],
  ),
  mutation(
    "backends: a call that nobody was asked about passes for a permitted one",
    [["src/run/session/host.ts", "const ungated = this.#ungated.take(event)", "const ungated = undefined"]],
    ungated("fails the run where the policy denies it, and is recorded as such"),
  ),
  mutation(
    "backends: a call that a vendor ran without asking is not checked against the policy",
    [["src/run/calls/ungated-calls.ts", 'return decided.kind === "allow" &&', "return true ||"]],
    ungated("fails the run where the policy asks about it, and is recorded as such"),
  ),
  mutation(
    "backends: a command that ran unasked and failed is not checked against the policy",
    [["src/run/calls/ungated-calls.ts", 'outcome.status !== "error" ||', 'outcome.status === "ok" &&']],
    ungated("Bash fails the run if it may have done something"),
  ),
  mutation(
    "backends: a program that starts as the last one ends is not registered",
    [["src/hosts/node/backends/programs.ts", "this.#unregistered.then(() => this.#prepare())", "this.#prepare()"]],
    ["src/hosts/node/backends/programs.test.ts", "is registered on disk, too"],
  ),
  mutation(
    "backends: a call that ran after its refusal stays recorded as refused",
    [["src/run/calls/own-calls.ts", "if (isSettled && event.ungated === undefined) return", "if (isSettled) return"]],
    ungated("a refused call that ran all the same fails the run, and its result replaces the refusal"),
  ),
  mutation(
    "backends: an ungated call does not fail the run",
    [["src/run/session/drive.ts", "if (violation) return", "if (false) return"]],
    ungated("a refused call that ran all the same fails the run, and its result replaces the refusal"),
  ),
  mutation(
    "backends: a rule that a backend cannot enforce is no warning",
    [["src/run/session/drive.ts", "    warnOfUnenforced(run)\n", ""]],
    ungated("is a warning of the run, which names the tool"),
  ),
  mutation(
    "backends: a result says false of what its vendor does not report",
    [["src/journal/result.ts", "untold.has(told) ? null : value", "value"]],
    ["test/capabilities-used.test.ts", "what a backend does not report of its own work is null"],
  ),
  mutation(
    "backends: a session that the caller names and that does not exist is replaced by a new one",
    [
      [
        "src/run/session/drive.ts",
        "if (!isLost || run.projection.route.session === undefined) throw error",
        "if (!isLost) throw error",
      ],
    ],
    ["test/promises/backends.test.ts", "a run continues a session that its backend has stored"],
  ),
  mutation(
    "backends: what could not be recorded of an ACP agent is dropped",
    [["src/backends/acp/recording.ts", "      this.#desk.onFailure(error)\n", ""]],
    stops("an agent is stopped once a record is lost"),
  ),
  mutation(
    "backends: a limit hides that something could not be recorded of an ACP agent",
    [["src/backends/acp/run.ts", "    if (this.#failure) return this.#failure\n", ""]],
    stops("an agent is stopped once a record is lost"),
  ),
  mutation(
    "backends: an ACP agent makes one request more than it has turns",
    [["src/backends/acp/gate.ts", "return this.#parts.recording.steps.turn >= this.#parts.lastTurn", "return false"]],
    stops("the agent is stopped at the call of the last of"),
  ),
  mutation(
    "backends: Codex is not started again in a home that others create",
    [["src/backends/codex/connection.ts", "isDisturbed ? retry.delayAfter(error) : null", "null"]],
    codexStart("Codex is started again if other programs disturb it"),
  ),
  mutation(
    "backends: an interrupted call of an ACP agent counts as failed",
    [["src/backends/acp/gate.ts", 'isUnknown ? { ...outcome, status: "unknown" } : outcome', "outcome"]],
    stops("a call that is interrupted while it runs and has an effect is unknown"),
  ),
  mutation(
    "backends: an interrupted call of Claude counts as failed",
    [["src/backends/claude/gate.ts", 'isInterrupted && outcome.status === "error" && effect !== "none"', "false"]],
    claudeRun("a call with an effect that is interrupted while it runs has an unknown outcome"),
  ),
  mutation(
    "backends: a call of an ACP agent runs after the limit of the run",
    [
      [
        "src/backends/acp/gate.ts",
        'if (!(await recording.enqueue(() => recording.addCall(call, "backend")))) return "refuse"',
        'await recording.enqueue(() => recording.addCall(call, "backend"))',
      ],
    ],
    stops("a call after the limit of the run is refused without a decision"),
  ),
  mutation(
    "backends: a call of Claude runs after the limit of the run",
    [["src/backends/claude/run.ts", "    if (this.#halted) return refusal\n", ""]],
    claudeRun("a call after the limit of the run is refused, and the program is stopped"),
  ),
  mutation(
    "backends: a call of an ACP agent runs beside one that waits for a person",
    [["src/backends/acp/gate.ts", "    if (this.#suspended) return this.#refuse(call, HELD)\n", ""]],
    stops("neither a call of the agent nor one of the runtime's tools runs beside a call that waits"),
  ),
  mutation(
    "backends: a tool of the runtime runs beside a call of an ACP agent that waits for a person",
    [["src/backends/acp/gate.ts", "    if (this.#suspended) return denied(HELD)\n", ""]],
    stops("neither a call of the agent nor one of the runtime's tools runs beside a call that waits"),
  ),
  mutation(
    "backends: a refused call of Claude that has run stays recorded as refused",
    [
      [
        "src/backends/claude/gate.ts",
        'if (reason !== undefined && outcome.status !== "ok")',
        "if (reason !== undefined)",
      ],
    ],
    claudeRun("a refused call that succeeds has run: its result is recorded as it is"),
  ),
  mutation(
    "backends: a program is looked up where tools may write",
    [["src/hosts/node/backends/programs.ts", "outside: this.#settings.outside,", "outside: [],"]],
    ["src/hosts/node/backends/programs.test.ts", "a program is not looked up in a folder that tools may write"],
  ),
  mutation(
    "backends: others can read the token of a gate",
    [["src/hosts/node/backends/loopback.ts", "{ mode: 0o600 }", "{ mode: 0o644 }"]],
    ["src/hosts/node/backends/loopback.test.ts", "only its owner can read the token of a gate"],
  ),
  mutation(
    "backends: Pi sends a request that the budget refused",
    [["src/backends/pi/session.ts", "      this.#agent.abort()\n      return undefined\n", "      return undefined\n"]],
    ["src/backends/pi/session.test.ts", "sends no request that the budget refuses"],
  ),
  mutation(
    "backends: Pi goes on while a call waits for a person",
    [
      [
        "src/backends/pi/session.ts",
        '      this.#stop ??= { reason: "suspended" }\n      return { action: "end" }',
        '      this.#stop ??= { reason: "suspended" }\n      return { action: "continue" }',
      ],
    ],
    ["src/backends/pi/session.test.ts", "makes no further request while a call waits for a person"],
  ),
  mutation(
    "backends: the approval of a vendor's call without an effect is never used up",
    [[own, 'if (effect !== "none" || isApproved)', 'if (effect !== "none")']],
    ["src/run/calls/own-calls.test.ts", "the approval of a vendor's call without an effect is used up"],
  ),
  mutation(
    "backends: a vendor's call begins while the run stops",
    [[own, "if (decided === undefined || this.#run.controls.stopping)", "if (decided === undefined)"]],
    ["src/run/calls/own-calls.test.ts", "a vendor's call does not begin once the run is being stopped"],
  ),
  mutation(
    "backends: an approval of exact arguments covers a summary of them",
    [["src/run/calls/decide.ts", 'inexact ? [name, args, cwd, "inexact"] : [name, args, cwd]', "[name, args, cwd]"]],
    ["src/run/calls/own-calls.test.ts", "an approval of exact arguments does not cover"],
  ),
  mutation(
    "backends: the journal keeps a vendor's result whole",
    [[own, "output: bound(outcome) }", "output: outcome.output }"]],
    ["src/run/calls/own-calls.test.ts", "the journal keeps 100,000 characters and 256 KB"],
  ),
  mutation(
    "backends: the journal keeps every image of a vendor's result",
    [[own, "output.length === 0 ? output : toParts(output)", "output"]],
    ["src/run/calls/own-calls.test.ts", "the journal keeps as many images of a vendor's result"],
  ),
  mutation(
    "backends: what an entry of a chain of one requires does not count",
    [
      [
        "src/run/attempts.ts",
        "const missing = missingIn(run, target)",
        "const missing = run.input.chain.length === 1 ? [] : missingIn(run, target)",
      ],
    ],
    ["test/backend-runtime.test.ts", "a requirement in a chain of one counts"],
  ),
]
