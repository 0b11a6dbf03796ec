/**
 * For a separate process: every https address is redirected to this local port without TLS, and the original host is
 * recorded in `hosts`. Everything else is unchanged.
 */
export function detourTo(port: number | string): string {
  return `
    import net from "node:net"
    import tls from "node:tls"
    import { syncBuiltinESMExports } from "node:module"
    const hosts = []
    tls.connect = ({ host, port, onread }) => {
      hosts.push(host + ":" + port)
      const socket = net.connect({ host: "127.0.0.1", port: ${port}, onread })
      socket.once("connect", () => socket.emit("secureConnect"))
      return socket
    }
    syncBuiltinESMExports()
  `
}
