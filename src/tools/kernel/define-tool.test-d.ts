import { expectTypeOf, test } from "vitest"
import { z } from "zod"
import type { JsonObject } from "../../contract/json.ts"
import type { Tool, ToolContext } from "../../contract/tool.ts"
import { defineTool } from "./define-tool.ts"

test("a Standard Schema types run's arguments, after transforms and defaults", () => {
  const tool = defineTool({
    name: "measure",
    description: "Measures.",
    inputSchema: z.object({ length: z.string().transform(Number), unit: z.enum(["m", "ft"]).default("m") }),
    run(args, context) {
      expectTypeOf(args).toEqualTypeOf<{ length: number; unit: "m" | "ft" }>()
      expectTypeOf(context).toEqualTypeOf<ToolContext>()
    },
  })
  expectTypeOf(tool).toEqualTypeOf<Tool>()
})

test("with a JSON Schema the author annotates the arguments", () => {
  const common = { name: "measure", description: "Measures.", inputSchema: { type: "object" } } as const
  defineTool({ ...common, run: (args) => expectTypeOf(args).toEqualTypeOf<JsonObject>() })
  defineTool({ ...common, run: (args: { path: string }) => args.path })
})

test("an annotation that the Standard Schema does not provide is rejected", () => {
  defineTool({
    name: "measure",
    description: "Measures.",
    inputSchema: z.object({ length: z.number() }),
    // @ts-expect-error the schema has no `width`
    run: (args) => args.width,
  })
})
