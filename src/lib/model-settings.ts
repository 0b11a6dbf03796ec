import type { ModelSettings } from "../contract/model-settings.ts"

/** The model settings among other keys, without those that are undefined. */
export function modelSettings({ temperature, maxOutputTokens, effort }: Partially<ModelSettings>): ModelSettings {
  return {
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(effort !== undefined && { effort }),
  }
}

type Partially<Settings> = { readonly [Key in keyof Settings]?: Settings[Key] | undefined }
