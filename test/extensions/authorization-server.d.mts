export interface AuthorizationServer {
  readonly issuer: string
  /** The kinds of grants that were successful, in order. */
  readonly grants: readonly string[]
  /** Of every request. */
  readonly headersSeen: readonly object[]
  isValid(token: string, audience: string): Promise<boolean>
  revokeAll(token: string): Promise<void>
  close(): Promise<void>
}

export function authorizationServer(options?: { readonly accessTokenSeconds?: number }): Promise<AuthorizationServer>
export function logIn(address: string | URL, options?: { readonly agrees?: boolean }): Promise<URL>
