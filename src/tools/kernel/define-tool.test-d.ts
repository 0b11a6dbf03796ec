import { expectTypeOf, test } from "vitest"
import { z } from "zod"
import type { JsonObject } from "../../contract/json.ts"
import type { Tool, ToolContext } from "../../contract/tool.ts"
import { defineTool } from "./define-tool.ts"

test("a Standard Schema gives run its arguments, after transforms and defaults", () => {
  const tool = defineTool({
    name: "measure",
    description: "Measures.",
    input: z.object({ length: z.string().transform(Number), unit: z.enum(["m", "ft"]).default("m") }),
    run(args, context) {
      expectTypeOf(args).toEqualTypeOf<{ length: number; unit: "m" | "ft" }>()
      expectTypeOf(context).toEqualTypeOf<ToolContext>()
    },
  })
  expectTypeOf(tool).toEqualTypeOf<Tool>()
})

test("a JSON Schema leaves the arguments to the author's annotation", () => {
  const common = { name: "measure", description: "Measures.", input: { type: "object" } } as const
  defineTool({ ...common, run: (args) => expectTypeOf(args).toEqualTypeOf<JsonObject>() })
  defineTool({ ...common, run: (args: { path: string }) => args.path })
})

test("arguments that the Standard Schema does not give are refused", () => {
  defineTool({
    name: "measure",
    description: "Measures.",
    input: z.object({ length: z.number() }),
    // @ts-expect-error the schema has no `width`
    run: (args) => args.width,
  })
})
