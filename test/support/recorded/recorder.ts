import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Backend } from "../../../src/contract/backend.ts"
import type { BackendEnv, LineChannel } from "../../../src/contract/backend-env.ts"
import type { Json } from "../../../src/contract/json.ts"
import type { ToolOutcome } from "../../../src/contract/tool.ts"
import type { PlaceFacts } from "../backend-place.ts"
import { type SceneEvent, withoutFolders } from "./scene.ts"

/** Records what a backend and its programs say to each other. */
export class Recorder {
  readonly events: SceneEvent[] = []
  readonly facts: PlaceFacts
  #programs = 0
  #services = 0
  #written = ""

  constructor(facts: PlaceFacts) {
    this.facts = facts
  }

  record(event: SceneEvent): void {
    const path = join(this.facts.workspace, WRITTEN)
    const text = existsSync(path) ? readFileSync(path, "utf8") : ""
    if (text !== this.#written) this.events.push({ type: "file", name: WRITTEN, text })
    this.#written = text
    this.events.push(event)
  }

  wrap(backend: Backend): Backend {
    return { ...backend, open: (request, env) => backend.open(request, this.#env(env)) }
  }

  #env(env: BackendEnv): BackendEnv {
    const { spawn, loopback } = env
    return {
      ...env,
      ...(spawn && {
        spawn: async (spec) => {
          const program = ++this.#programs
          this.record({ type: "start", program, args: withoutFolders(spec.args) })
          return this.#channel(await spawn(spec), program)
        },
      }),
      ...(loopback && { loopback: (service) => this.#loopback(loopback, service) }),
    }
  }

  async #loopback(
    open: NonNullable<BackendEnv["loopback"]>,
    service: Parameters<typeof open>[0],
  ): ReturnType<typeof open> {
    const { decide } = service
    const answered = <Answer extends ToolOutcome | Json>(number: number, answer: Answer): Answer => {
      this.record({ type: "answer", number, answer })
      return answer
    }
    const served = await open({
      ...service,
      callTool: async (call) => {
        const number = ++this.#services
        this.record({ type: "call", number, call })
        return answered(number, await service.callTool(call))
      },
      ...(decide && {
        decide: async (question) => {
          const number = ++this.#services
          this.record({ type: "question", number, question })
          return answered(number, await decide(question))
        },
      }),
    })
    this.record({ type: "loopback", mcp: served.mcp, gate: served.gate })
    return served
  }

  #channel(channel: LineChannel, program: number): LineChannel {
    void channel.exit.then(({ code, signal }) => this.record({ type: "exit", program, code, signal }))
    return {
      lines: this.#lines(channel, program),
      send: (line) => {
        this.record({ type: "sent", program, line })
        return channel.send(line)
      },
      endInput: () => {
        this.record({ type: "input-end", program })
        channel.endInput()
      },
      end: (how) => {
        this.record({ type: "end", program })
        return channel.end(how)
      },
      exit: channel.exit,
    }
  }

  async *#lines(channel: LineChannel, program: number): AsyncGenerator<string> {
    for await (const line of channel.lines) {
      this.record({ type: "received", program, line })
      yield line
    }
  }
}

/** The file that the cases write. */
const WRITTEN = "note.txt"
