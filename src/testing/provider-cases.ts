import { answerCases } from "./provider-answer-cases.ts"
import type { ProviderCase } from "./provider-bench.ts"
import { failureCases } from "./provider-failure-cases.ts"
import { requestCases } from "./provider-request-cases.ts"

export type { ProviderCase }

/**
 * The requirements for every provider, as data: run each in any test runner, except those that the bench lists as
 * lacking.
 */
export const providerCases: readonly ProviderCase[] = [...answerCases, ...requestCases, ...failureCases]
