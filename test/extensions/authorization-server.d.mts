export interface AuthorizationServer {
  readonly issuer: string
  /** The kinds of grants that were successful, in order. */
  readonly grants: readonly string[]
  /** Of every request. */
  readonly headersSeen: readonly object[]
  isValid(token: string, audience: string): Promise<boolean>
  scopesOf(token: string): Promise<readonly string[]>
  expire(token: string): Promise<void>
  revokeAll(token: string): Promise<void>
  close(): Promise<void>
}

export function authorizationServer(): Promise<AuthorizationServer>
export function logIn(address: string | URL, options?: { readonly agrees?: boolean }): Promise<URL>
