/**
 * For a process of its own: the way to every https address leads to this port of this computer, without TLS, and where it
 * was to lead is kept in `hosts`. Everything else is as it is in life.
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
