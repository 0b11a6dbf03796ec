export interface SceneTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: object
  readonly annotations?: object
}

/** How the scene's server behaves. */
export interface SceneSettings {
  /** A file that gets one line per call. */
  readonly ledger?: string
  readonly tools?: readonly SceneTool[] | (() => readonly SceneTool[])
  readonly instructions?: string
  readonly capabilities?: object
}

export function tool(name: string, properties: object, annotations?: object, description?: string): SceneTool
