import { answerCases } from "./provider-answer-cases.ts"
import type { ProviderCase } from "./provider-bench.ts"
import { failureCases } from "./provider-failure-cases.ts"
import { requestCases } from "./provider-request-cases.ts"

export type { ProviderCase }

/** What every provider must do, as data: run each in any test runner, except what the bench says its wire lacks. */
export const providerCases: readonly ProviderCase[] = [...answerCases, ...requestCases, ...failureCases]
