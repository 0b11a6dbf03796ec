import { ServiceFailure } from "./exchange.ts"

/** Advice to the user about a request that failed, and whether the same request may succeed later. */
export function adviceOn(failure: unknown, url: URL): { readonly fix: string; readonly retryable: boolean } {
  // Without credentials and a query.
  const address = `${url.origin}${url.pathname}`
  if (!(failure instanceof ServiceFailure)) return { fix: "Check the options of the policy client.", retryable: false }
  const { kind, status } = failure
  if (kind === "silence") {
    return { fix: `Check that a policy service runs at ${url.origin}/ and can be reached from here.`, retryable: true }
  }
  if (status === 401 || status === 403) {
    return { fix: `Check the credentials for the policy service at ${url.origin}/.`, retryable: false }
  }
  const isForeign = status === undefined || status < 400 || status === 404 || status === 405
  return {
    fix: isForeign
      ? `Correct baseUrl: ${address} is not a policy service. "longhaul policy serve" starts one; docs/policy-service.md has the protocol.`
      : `Check the log of the policy service at ${url.origin}/ for why it refused the event.`,
    retryable: false,
  }
}
