import type { LanguageModelV2, LanguageModelV3, LanguageModelV3CallOptions } from "@ai-sdk/provider"
import type { LanguageModelV4, LanguageModelV4CallOptions } from "ai-sdk-provider-v4"
import { expectTypeOf, test } from "vitest"
import { fromAiSdk } from "./index.ts"
import type { AiSdkCallV3, AiSdkCallV4, AiSdkModelV3, AiSdkModelV4, AiSdkStream } from "./model.ts"

test("AI SDK models of both specifications are assignable", () => {
  expectTypeOf<LanguageModelV3>().toExtend<AiSdkModelV3>()
  expectTypeOf<LanguageModelV4>().toExtend<AiSdkModelV4>()
  expectTypeOf(fromAiSdk).toBeCallableWith({} as LanguageModelV3)
  expectTypeOf(fromAiSdk).toBeCallableWith({} as LanguageModelV4)
})

test("our requests match the SDK's input types, and its stream matches ours", () => {
  expectTypeOf<AiSdkCallV3>().toExtend<LanguageModelV3CallOptions>()
  expectTypeOf<AiSdkCallV4>().toExtend<LanguageModelV4CallOptions>()
  expectTypeOf<Awaited<ReturnType<LanguageModelV3["doStream"]>>>().toExtend<AiSdkStream>()
  expectTypeOf<Awaited<ReturnType<LanguageModelV4["doStream"]>>>().toExtend<AiSdkStream>()
})

test("a model of an older specification is not assignable", () => {
  // @ts-expect-error it has no way to say how its answers finished that we know
  fromAiSdk({} as LanguageModelV2)
})
