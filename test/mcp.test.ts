import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { CallToolResult } from "@modelcontextprotocol/client"
import { describe, expect, test } from "vitest"
import { readTools } from "../src/tools/index.ts"
import { mcpClients, meetings } from "./support/mcp-clients.ts"
import { countLiving, isRunning, uniqueSleep } from "./support/shell-scene.ts"
import { until } from "./support/watchdog.ts"

const { place, meet } = mcpClients()

function textOf({ content }: CallToolResult): string {
  return content.map((block) => (block.type === "text" ? block.text : block.type)).join("\n")
}

describe.each(meetings)("an official client over $transport, protocol $protocol", (meeting) => {
  test("the client lists the tools with their annotations", async () => {
    const client = await meet(meeting)
    expect(client.getNegotiatedProtocolVersion()).toBe(meeting.protocol)
    expect(client.getServerVersion()).toMatchObject({ name: "longhaul" })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      ...["Read", "List", "Glob", "Grep"],
      ...["Write", "Edit", "MultiEdit", "ApplyPatch", "Bash"],
    ])
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]))
    expect(hints.Read).toEqual({ readOnlyHint: true, destructiveHint: false, idempotentHint: true })
    expect(hints.Write).toEqual({ readOnlyHint: false, destructiveHint: true, idempotentHint: true })
    expect(hints.Bash).toEqual({ readOnlyHint: false, destructiveHint: true, idempotentHint: false })
    expect(tools.find(({ name }) => name === "Read")).toMatchObject({
      description: readTools().find(({ name }) => name === "Read")?.description,
      inputSchema: { type: "object", required: ["path"], additionalProperties: false },
    })
  })

  test("the client reads, edits and runs commands", async () => {
    const client = await meet(meeting)
    const read = await client.callTool({ name: "Read", arguments: { path: "tide.txt" } })
    expect([read.isError, textOf(read)]).toEqual([false, "1\tHigh water is at 04:17."])
    const args = { path: "tide.txt", oldText: "04:17", newText: "16:40" }
    expect((await client.callTool({ name: "Edit", arguments: args })).isError).toBe(false)
    expect(readFileSync(join(place.workspace, "tide.txt"), "utf8")).toBe("High water is at 16:40.\n")
    const ran = await client.callTool({ name: "Bash", arguments: { command: "cat tide.txt; exit 3" } })
    expect([ran.isError, textOf(ran)]).toEqual([false, expect.stringMatching(/16:40\.\n\[exit 3 after /)])
  })

  test("the client receives an image as an image", async () => {
    const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
    writeFileSync(join(place.workspace, "pixel.png"), data, "base64")
    const client = await meet(meeting)
    const { content } = await client.callTool({ name: "Read", arguments: { path: "pixel.png" } })
    expect(content).toContainEqual({ type: "image", mimeType: "image/png", data })
  })

  test("the client gets tool failures as results, and only an unknown tool as a protocol error", async () => {
    const client = await meet(meeting)
    const failed = async (name: string, args: Record<string, unknown>) => {
      const result = await client.callTool({ name, arguments: args })
      expect(result.isError).toBe(true)
      return (JSON.parse(textOf(result)) as { error: { code: string } }).error.code
    }
    expect(await failed("Read", { path: "nowhere" })).toBe("not_found")
    expect(await failed("Read", { path: "../outside" })).toBe("denied")
    expect(await failed("Read", { file: "tide.txt" })).toBe("invalid_input")
    expect(await failed("Edit", { path: "tide.txt", oldText: "low", newText: "x" })).toBe("not_found")
    await expect(client.callTool({ name: "Nothing", arguments: {} })).rejects.toMatchObject({ code: -32_602 })
    expect((await client.callTool({ name: "List" })).isError).toBe(false)
  })

  test("the client receives command output as progress", async () => {
    const client = await meet(meeting)
    const heard: { progress: number; message?: string | undefined }[] = []
    let answer: Promise<CallToolResult> | undefined
    // It ends only after its progress was received: without a notification the call would never return.
    const command = "echo begun; until [ -e heard ]; do sleep 0.05; done; echo over"
    const result = await client.callTool(
      { name: "Bash", arguments: { command } },
      {
        onprogress(told) {
          heard.push(told)
          answer ??= client.callTool({ name: "Write", arguments: { path: "heard", content: "" } })
        },
      },
    )
    await answer
    expect(textOf(result)).toContain("begun\nover\n")
    expect(heard[0]).toMatchObject({ progress: 1, message: "begun\n" })
    expect(heard.map(({ progress }) => progress)).toEqual(heard.map((_, index) => index + 1))
  })

  test("cancelling a call kills its command and no other", async () => {
    const client = await meet(meeting)
    const [cancelled, other] = [uniqueSleep(), uniqueSleep()]
    const cancel = new AbortController()
    const options = { signal: cancel.signal }
    const call = client.callTool({ name: "Bash", arguments: { command: `${cancelled}; true` } }, options)
    const going = client.callTool({ name: "Bash", arguments: { command: `${other} & wait; true` } }).catch(() => {})
    await until(() => isRunning(cancelled) && isRunning(other))
    cancel.abort("no longer wanted")
    await expect(call).rejects.toThrow("no longer wanted")
    await until(() => countLiving(cancelled) === 0)
    expect(isRunning(other)).toBe(true)
    expect((await client.callTool({ name: "List", arguments: {} })).isError).toBe(false)
    await client.close()
    await going
  })

  test("the client gets only read-only tools with --read-only", async () => {
    const client = await meet(meeting, ["--read-only"])
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(["Read", "List", "Glob", "Grep"])
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true)
    const call = client.callTool({ name: "Write", arguments: { path: "new", content: "" } })
    await expect(call).rejects.toMatchObject({ code: -32_602 })
  })
})
