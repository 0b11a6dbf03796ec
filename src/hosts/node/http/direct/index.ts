import type { Transport } from "../../../../contract/provider.ts"
import { variables as processVariables } from "../../../../lib/schema/contract-shapes.ts"
import { checkArgument } from "../../../../lib/schema/shape.ts"
import type { Variables } from "../../model-names.ts"
import { type ConnectOptions, checkConnectOptions } from "../connect-limit.ts"
import { proxyVariables } from "../find-route.ts"

/**
 * Model calls over our own HTTP/1.1 client, for processes with hundreds of concurrent runs: it takes about three
 * quarters of the CPU of `nodeTransport`, with the same settings and proxies. Mocks and tracers that patch `node:http`
 * do not see it.
 */
export function directTransport(options: ConnectOptions = {}, variables: Variables = process.env): Transport {
  checkConnectOptions("directTransport", options)
  checkArgument("variables", variables, processVariables)
  const proxies = proxyVariables(variables)
  let transport: Transport | undefined
  return {
    stream(request, sink) {
      return transport ? transport.stream(request, sink) : load().then((loaded) => loaded.stream(request, sink))
    },
  }

  async function load(): Promise<Transport> {
    const { socketTransport } = await import("./transport.ts")
    transport ??= socketTransport(options, proxies)
    return transport
  }
}
