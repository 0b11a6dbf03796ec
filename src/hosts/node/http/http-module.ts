import type http from "node:http"
import type https from "node:https"

/**
 * `node:http` or `node:https`, loaded on first use. Neither `import` nor a copy of its functions: tracers detect
 * modules loaded this way, and tracers and mocks replace the functions later.
 */
export function httpModule(isSecure: boolean): HttpModule {
  if (isSecure) {
    secure ??= process.getBuiltinModule("node:https")
    return secure
  }
  plain ??= process.getBuiltinModule("node:http")
  return plain
}

type HttpModule = typeof http | typeof https

let plain: typeof http | undefined
let secure: typeof https | undefined
