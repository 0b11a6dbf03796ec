import { isIP } from "node:net"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { isPublicIp, parseIp } from "./ip-address.ts"

const notPublic: readonly (readonly [why: string, addresses: readonly string[]])[] = [
  ["this network", ["0.0.0.0", "0.0.0.1", "0.255.255.255"]],
  ["private", ["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255"]],
  ["behind a provider's NAT", ["100.64.0.0", "100.100.100.200", "100.127.255.255"]],
  ["this computer", ["127.0.0.0", "127.0.0.1", "127.1.2.3", "127.255.255.255"]],
  ["link-local and metadata", ["169.254.0.0", "169.254.169.254", "169.254.170.2", "169.254.255.255"]],
  ["services of clouds", ["168.63.129.16", "192.0.0.192"]],
  ["documentation and measurements", ["192.0.2.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7"]],
  ["relays", ["192.88.99.1"]],
  ["multicast, reserved, broadcast", ["224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"]],
  ["IPv6 unspecified and loopback", ["::", "::1", "0:0:0:0:0:0:0:0", "0:0:0:0:0:0:0:1", "0000::0001"]],
  ["IPv6 link-local, site-local, unique local", ["fe80::1", "febf::1", "fec0::1", "fc00::1", "fd00:ec2::254"]],
  ["IPv6 multicast", ["ff00::", "ff02::1", "ffff::1"]],
  [
    "mapped",
    ["::ffff:127.0.0.1", "::ffff:7f00:1", "::FFFF:A00:1", "0:0:0:0:0:ffff:10.0.0.1", "::ffff:169.254.169.254"],
  ],
  ["compatible", ["::127.0.0.1", "::7f00:1", "::10.0.0.1", "::8.8.8.8"]],
  ["translated", ["::ffff:0:127.0.0.1", "::ffff:0:0a00:0001"]],
  ["NAT64", ["64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8"]],
  ["6to4", ["2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::", "2002:c0a8:101::1"]],
  ["Teredo", ["2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:0:7f00:1::"]],
  ["IPv6 protocols and documentation", ["2001:2::1", "2001:10::1", "2001:db8::1", "3fff::1", "100::1", "5f00::1"]],
  ["nobody's", ["4000::1", "8000::1", "1::1"]],
  [
    "no address",
    ["", "localhost", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "0x7f.0.0.1", "2130706433", " 8.8.8.8"],
  ],
  [
    "no IPv6 address",
    [
      "fe80::1%eth0",
      "2606:4700::1%1",
      ":::",
      "1:2:3:4::5:6:7:8",
      "1::2::3",
      "1:2:3:4:5:6:7:8:9",
      "1:2:3:4:5:6:7",
      "12345::",
    ],
  ],
  ["IPv4 where none can be", ["1.2.3.4::", "::1.2.3.4:5", "::1.2.3", "1:2:3:4:5:6:7:1.2.3.4", "::8.8.8.08"]],
]

const publicOnes = [
  ...[
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
  ],
  ...["168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0"],
  ...["192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255"],
  ...["2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "2001:4860:4860::8888", "2001:200::1", "2003::1", "3ffe::1"],
  ...["::ffff:8.8.8.8", "::ffff:808:808", "64:ff9b::8.8.8.8", "64:ff9b::101:101"],
]

describe("isPublicIp", () => {
  test.each(notPublic)("an address is not public: %s", (_, addresses) => {
    for (const address of addresses) expect(isPublicIp(address), address).toBe(false)
  })

  test.each(publicOnes)("an address is public: %s", (address) => {
    expect(isPublicIp(address)).toBe(true)
  })

  test("an embedded IPv4 address decides, in any notation", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number)
        const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
        for (const prefix of ["::ffff:", "64:ff9b::"]) {
          expect(isPublicIp(prefix + address)).toBe(isPublicIp(address))
          expect(isPublicIp(prefix + hex)).toBe(isPublicIp(address))
        }
      }),
    )
  })
})

describe("parseIp", () => {
  test("parseIp accepts what Node accepts and returns the bytes of URL notation", () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV6(), fc.ipV4(), fc.stringMatching(/^[0-9a-f:.]{0,24}$/)), (text) => {
        const bytes = parseIp(text)
        expect(bytes?.length ?? 0).toBe({ 0: 0, 4: 4, 6: 16 }[isIP(text) as 0 | 4 | 6])
        if (bytes?.length !== 16) return
        const groups = Array.from({ length: 8 }, (_, at) => ((bytes[at * 2] ?? 0) << 8) | (bytes[at * 2 + 1] ?? 0))
        const plain = groups.map((group) => group.toString(16)).join(":")
        expect(new URL(`http://[${plain}]`).hostname).toBe(new URL(`http://[${text}]`).hostname)
      }),
      { numRuns: 2000 },
    )
  })
})
