import net from "node:net"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { listen, stopServers } from "../../../../test/support/proxy-servers.ts"
import type { ToolError } from "../../../contract/tool.ts"
import { nodeFetch } from "./guarded-fetch.ts"

let connections = 0
let port = 0
const asked: string[] = []

/** At the unspecified address, so that every spelling of this computer would reach it. */
beforeAll(async () => {
  const server = net.createServer((socket) => {
    connections++
    socket.on("error", () => {})
    socket.end("HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: close\r\n\r\nreached")
  })
  port = await listen(server, "0.0.0.0")
})
afterAll(stopServers)

const thisComputer = [
  ...["127.0.0.1", "127.1", "127.0.1", "127.00.00.01", "127.255.255.254", "127.0.0.1.", "0", "0.0.0.0", "00", "0x0"],
  ...[
    "2130706433",
    "0x7f000001",
    "0X7F000001",
    "017700000001",
    "0177.0.0.1",
    "0x7f.0.0.1",
    "0x7f.1",
    "0177.1",
    "127.0x1",
  ],
  ...["0x7f.0x0.0x0.0x1", "0177.0000.0000.0001", "127.0.0x0.01", "4294967295", "2130706689"],
  ...[
    "①②⑦.⓪.⓪.①",
    "１２７.０.０.１",
    "127。0。0。1",
    "127．0．0．1",
    "127｡0｡0｡1",
    "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1",
  ],
  ...[
    "localhost",
    "LOCALHOST",
    "LocalHost",
    "localhost.",
    "localhost..",
    "a.localhost",
    "a.b.localhost.",
    "ｌｏｃａｌｈｏｓｔ",
  ],
  ...["ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "loca%6Chost", "%6c%6f%63%61%6c%68%6f%73%74", "local\thost", "local\nhost", "loc\u00adalhost"],
  ...["localhost.localdomain", "a.local", "metadata.google.internal", "instance-data.ec2.internal", "router.home.arpa"],
  ...[
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::0001]",
    "[0::1]",
    "[::0.0.0.1]",
  ],
  ...[
    "[::ffff:127.0.0.1]",
    "[::FFFF:7F00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
    "[::ffff:0.0.0.0]",
    "[::ffff:0:127.0.0.1]",
  ],
  ...["[::127.0.0.1]", "[::7f00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::127.0.0.1]"],
  ...["[2002:7f00:1::]", "[2002:7f00:0001::1]", "[2001:0:7f00:1::]", "[2001::80ff:fffe]"],
]

const otherPlaces = [
  ...[
    "10.0.0.1",
    "10.1",
    "012.0.0.1",
    "0xa.1",
    "167772161",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "192.168.1",
  ],
  ...["3232235521", "0xc0a80001", "[::ffff:10.0.0.1]", "[::ffff:c0a8:1]", "[64:ff9b::10.0.0.1]", "[2002:c0a8:1::]"],
  ...["169.254.169.254", "169.254.43518", "2852039166", "0xa9fea9fe", "0xA9.0xFE.0xA9.0xFE", "0251.0376.0251.0376"],
  ...[
    "169.254.169.254.",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::]",
  ],
  ...["169.254.170.2", "168.63.129.16", "100.64.0.1", "100.100.100.200", "100.127.255.255", "0x64.64.1", "192.0.0.192"],
  ...[
    "[fe80::1]",
    "[febf::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fd12:3456::1]",
    "[ff02::1]",
    "[ff05::2]",
  ],
  ...["224.0.0.1", "239.255.255.250", "255.255.255.255", "240.0.0.1", "198.18.0.1", "192.0.2.1", "203.0.113.9"],
  ...["[2001:db8::1]", "[100::1]", "[4000::1]"],
]

const wholeUrls = [
  ...["http:\\\\127.0.0.1:PORT\\", "http:/127.0.0.1:PORT", "http:127.0.0.1:PORT", "HtTp://127.0.0.1:PORT"],
  ...[" http://127.0.0.1:PORT ", "\u0001http://localhost:PORT/", "ht\ntp://localhost:PORT", "http:///127.0.0.1:PORT/"],
  ...["http://user@127.0.0.1:PORT/", "http://public.example@127.0.0.1:PORT/", "http://user:pass@8.8.8.8:PORT/"],
  ...["http://:pass@8.8.8.8/", "http://127.0.0.1:PORT#@public.example/", "http://127.0.0.1:PORT\\@public.example/"],
  ...["http://127.0.0.1:PORT?@public.example/", "https://127.0.0.1:PORT/", "https://localhost:PORT/"],
  ...[
    "http://[fe80::1%25lo]:PORT/",
    "http://[::1%lo]:PORT/",
    "http://[::ffff:127.0.0.01]:PORT/",
    "http://127.0.0.1:99999/",
  ],
  ...["http://256.0.0.1:PORT/", "http://127.0.0.0.1:PORT/", "http://127.0.0.08:PORT/"],
  ...["file:///etc/passwd", "file://localhost/etc/passwd", "ftp://127.0.0.1:PORT/", "gopher://127.0.0.1:PORT/_x"],
  ...["data:text/html,x", "javascript:alert(1)", "blob:http://127.0.0.1:PORT/x", "ws://127.0.0.1:PORT/", "about:blank"],
  ...[
    "dict://127.0.0.1:PORT/",
    "ldap://127.0.0.1:PORT/",
    "unix:/run/docker.sock",
    "view-source:http://127.0.0.1:PORT/",
  ],
  ...[
    "//127.0.0.1:PORT/",
    "/etc/passwd",
    "127.0.0.1:PORT",
    "localhost:PORT/x",
    "http://",
    "http:",
    "http://?",
    "",
    " ",
  ],
]

const urls = () => [
  ...[...thisComputer, ...otherPlaces].map((host) => `http://${host}:${port}/`),
  ...wholeUrls.map((url) => url.replace("PORT", String(port))),
]

async function outcomeOf(url: string, allow: readonly string[] = []): Promise<string> {
  const resolve = async (name: string) => {
    asked.push(name)
    return ["127.0.0.1"]
  }
  const { signal } = new AbortController()
  return nodeFetch({ allow, resolve })
    .get(url, { signal, maxBytes: 100, timeoutMs: 2000 })
    .then(
      ({ bytes }) => new TextDecoder().decode(bytes),
      (error: ToolError) => error.code,
    )
}

describe("non-public addresses are rejected before a packet is sent", { tags: ["TOOL-13"] }, () => {
  test("non-public addresses are rejected in every spelling", async () => {
    const outcomes = await Promise.all(urls().map(async (url) => [url, await outcomeOf(url)] as const))
    console.log(`${outcomes.length} spellings refused, ${connections} connections, ${asked.length} lookups`)
    expect(outcomes.filter(([, outcome]) => outcome !== "denied" && outcome !== "invalid_input")).toEqual([])
    expect({ connections, asked }).toEqual({ connections: 0, asked: [] })
    expect(new Set(urls()).size).toBe(outcomes.length)
  })

  test("many of the rejected spellings would really reach this machine", async () => {
    const hosts = [
      "127.0.0.1",
      "127.1",
      "0",
      "2130706433",
      "0x7f.1",
      "0177.1",
      "①②⑦.⓪.⓪.①",
      "127。0。0。1",
      "localhost.",
    ]
    const allow = ["127.0.0.1", "0.0.0.0", "localhost"]
    const outcomes = await Promise.all(hosts.map((host) => outcomeOf(`http://${host}:${port}/`, allow)))
    expect(outcomes).toEqual(hosts.map(() => "reached"))
    expect(connections).toBe(hosts.length)
  })
})
