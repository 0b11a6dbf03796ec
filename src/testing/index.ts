export {
  type BackendBench,
  type BackendCase,
  type BackendPlace,
  backendCases,
  type OwnWrite,
  type PlaceOptions,
} from "./backend-cases.ts"
export { type FakeBackendOptions, type FakeSession, fakeBackend } from "./fake-backend.ts"
export type { FaultOrder, Faults } from "./faults.ts"
export { type FilesCase, filesCases } from "./files-cases.ts"
export { offlineModel } from "./offline-model.ts"
export type { BenchOptions, ProviderBench } from "./provider-bench.ts"
export { type ProviderCase, providerCases } from "./provider-cases.ts"
export type { ScriptedModel, ScriptedOutcome, ScriptedStep } from "./scripted-model.ts"
export { scriptedModel } from "./scripted-model.ts"
export type {
  AnswerInParts,
  SimulatedAnswer,
  SimulatedMessage,
  SimulatedPart,
  SimulatedRequest,
  SimulatedSettings,
  SimulatedTool,
  SimulatedToolCall,
  SimulatedToolResult,
} from "./simulated.ts"
export type { Simulator, SimulatorOptions } from "./simulator.ts"
export { createSimulator, renderAnswer } from "./simulator.ts"
export { type StoreCase, storeCases } from "./store-cases.ts"
