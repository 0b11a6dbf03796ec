import type { SceneSettings } from "./answers.mjs"
import type { HttpSceneSettings, serveScene } from "./http-server.mjs"

export interface SseSettings extends SceneSettings, Pick<HttpSceneSettings, "refuse" | "cut"> {
  /** The address for requests that the stream names. Absent: its own. */
  readonly endpoint?: string
}

export function serveSse(settings?: SseSettings): Promise<Omit<Awaited<ReturnType<typeof serveScene>>, "forget">>
