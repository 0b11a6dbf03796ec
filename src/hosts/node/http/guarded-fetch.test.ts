import { afterEach, describe, expect, test } from "vitest"
import { stopServers } from "../../../../test/support/proxy-servers.ts"
import { failureOf, fetchOptions, type SeenRequest, startWeb, textOf } from "../../../../test/support/web-servers.ts"
import { LonghaulError } from "../../../contract/error.ts"
import { nodeFetch } from "./guarded-fetch.ts"

afterEach(stopServers)

const redirectTo = (location: string) => startWeb((_, response) => response.writeHead(302, { location }).end())

describe("an explicitly allowed host", () => {
  test("an allowed host is fetched, whatever its status", async () => {
    const server = await startWeb((request, response) => {
      const status = request.url === "/missing" ? 404 : 200
      response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(`at ${request.url}`)
    })
    const { bytes, ...answer } = await nodeFetch({ allow: ["127.0.0.1"] }).get(`${server.url}/a?b=c#d`, fetchOptions)
    expect(answer).toEqual({
      url: `${server.url}/a?b=c`,
      status: 200,
      contentType: "text/plain; charset=utf-8",
      truncated: false,
    })
    expect(textOf(bytes)).toBe("at /a?b=c")
    const missing = await nodeFetch({ allow: ["127.0.0.1"] }).get(`${server.url}/missing`, fetchOptions)
    expect([missing.status, textOf(missing.bytes)]).toEqual([404, "at /missing"])
  })

  test("a host can be allowed for one port, in any spelling", async () => {
    const [one, two] = [
      await startWeb((_, response) => response.end("1")),
      await startWeb((_, response) => response.end("2")),
    ]
    for (const host of ["127.0.0.1", "127.1", "0x7f000001"]) {
      const settings = { allow: [`${host}:${one.port}`] }
      expect(textOf((await nodeFetch(settings).get(one.url, fetchOptions)).bytes)).toBe("1")
      expect(await failureOf(two.url, settings)).toMatchObject({ code: "denied" })
    }
    expect(two.connections()).toBe(0)
  })

  test.each(["http://a", "a/b", "a:b", "", "user@a", "a b", "[::1", "a:123456"])(
    "%j does not allow the host",
    (entry) => {
      expect(() => nodeFetch({ allow: [entry] })).toThrow(LonghaulError)
    },
  )

  test.each(["a", "a.example:80", "[::1]", "::1", "[::1]:80", "127.0.0.1", "bücher.example"])(
    "%j allows the host",
    (entry) => {
      expect(() => nodeFetch({ allow: [entry] })).not.toThrow()
    },
  )

  test("the request has the host's own name, whatever the headers contain", async () => {
    const server = await startWeb((_, response) => response.end())
    const headers = { Host: "other.example", "Accept-Encoding": "zstd" }
    await nodeFetch({ allow: ["127.0.0.1"] }).get(server.url, { ...fetchOptions, headers })
    const expected = { host: `127.0.0.1:${server.port}`, "accept-encoding": "gzip, br, deflate" }
    expect(server.seen[0]?.headers).toMatchObject(expected)
  })

  test("a request sends the brand's service name as user-agent, unless the caller sets another", {
    tags: ["HOST-11"],
  }, async () => {
    const server = await startWeb((_, response) => response.end())
    for (const options of [{}, { brand: { serviceName: "acme" } }]) {
      const fetch = nodeFetch({ allow: ["127.0.0.1"], ...options })
      await fetch.get(server.url, fetchOptions)
      await fetch.get(server.url, { ...fetchOptions, headers: { "User-Agent": "me" } })
    }
    expect(server.seen.map(({ headers }) => headers["user-agent"])).toEqual(["longhaul", "me", "acme", "me"])
  })

  test("post sends a body, and a redirect is returned as the response", async () => {
    const server = await startWeb((request, response) => {
      if (request.url === "/moved") response.writeHead(307, { location: "/" }).end("moved")
      else request.pipe(response)
    })
    const fetch = nodeFetch({ allow: ["127.0.0.1"] })
    const sent = await fetch.post(server.url, "grüße", { ...fetchOptions, headers: { "Content-Type": "text/plain" } })
    expect(textOf(sent.bytes)).toBe("grüße")
    expect(server.seen[0]?.headers).toMatchObject({ "content-type": "text/plain", "content-length": "7" })
    const moved = await fetch.post(`${server.url}/moved`, "x", fetchOptions)
    expect([moved.status, textOf(moved.bytes), server.seen.length]).toEqual([307, "moved", 2])
  })
})

describe("host names", () => {
  test("a name is resolved once per request, and the checked address is the connected one", async () => {
    const server = await startWeb((_, response) => response.end("pinned"))
    const answers = [["127.0.0.1"], ["127.0.0.2"], ["127.0.0.3"]]
    const asked: string[] = []
    const resolve = async (name: string) => {
      asked.push(name)
      return answers.shift() ?? []
    }
    const fetch = nodeFetch({ allow: ["pinned.example"], resolve })
    const { bytes, url } = await fetch.get(`http://PINNED.example.:${server.port}/`, fetchOptions)
    expect([textOf(bytes), url, asked]).toEqual(["pinned", `http://pinned.example:${server.port}/`, ["pinned.example"]])
    expect(server.seen[0]?.headers.host).toBe(`pinned.example:${server.port}`)
  })

  test.each([
    ["a private address", ["10.0.0.1"]],
    ["this computer", ["127.0.0.1"]],
    ["one private address among public ones", ["2d00::1", "127.0.0.1"]],
    ["a mapped one", ["::ffff:127.0.0.1"]],
    ["a link-local one with its zone", ["fe80::1%lo"]],
    ["no address at all", ["localhost"]],
  ])("names that resolve to %s are rejected without revealing the address", async (_, addresses) => {
    const server = await startWeb((_, response) => response.end("private"))
    const refused = await failureOf(`http://public.example:${server.port}/`, { resolve: async () => addresses })
    expect(refused.code).toBe("denied")
    for (const address of addresses) expect(refused.message).not.toContain(address)
    expect(server.connections()).toBe(0)
  })

  test("an unknown name is reported as not found", async () => {
    const missing = async (): Promise<readonly string[]> => {
      throw Object.assign(new Error("secret detail"), { code: "ENOTFOUND" })
    }
    expect(await failureOf("http://nobody.example/", { resolve: missing })).toEqual({
      code: "io",
      message: "The host nobody.example was not found (ENOTFOUND).",
    })
    expect(await failureOf("http://nobody.example/", { resolve: async () => [] })).toMatchObject({ code: "io" })
  })
})

describe("redirects", () => {
  test.each([301, 302, 303, 307, 308])("a %i redirect is followed, including relative ones", async (status) => {
    const server = await startWeb((request, response) => {
      if (request.url === "/a/start") response.writeHead(status, { location: "../b?c" }).end("moved")
      else response.end(request.url)
    })
    const { url, bytes } = await nodeFetch({ allow: ["127.0.0.1"] }).get(`${server.url}/a/start`, fetchOptions)
    expect([url, textOf(bytes)]).toEqual([`${server.url}/b?c`, "/b?c"])
  })

  test("at most five redirects are followed", async () => {
    const server = await startWeb((request, response) => {
      const count = Number(request.url?.slice(1))
      response.writeHead(302, { location: `/${count + 1}` }).end()
    })
    expect(await failureOf(`${server.url}/0`, { allow: ["127.0.0.1"] })).toMatchObject({ code: "io" })
    expect(server.seen.map(({ path }) => path)).toEqual([0, 1, 2, 3, 4, 5].map((count) => `GET /${count}`))
    expect(await failureOf(`${server.url}/0`, { allow: ["127.0.0.1"], maxRedirects: 0 })).toMatchObject({ code: "io" })
    expect(server.seen.length).toBe(7)
    expect(() => nodeFetch({ maxRedirects: -1 })).toThrow(LonghaulError)
  })

  test("redirects into a private network are rejected, by address and by name", async () => {
    const hidden = await startWeb((_, response) => response.end("private"))
    const places = [
      ...[`http://127.0.0.2:${hidden.port}/`, `//0x7f.2:${hidden.port}/`, `http://[::ffff:7f00:2]:${hidden.port}/`],
      ...[`http://localhost:${hidden.port}/`, `http://looks-public.example:${hidden.port}/`],
      ...[
        "http://169.254.169.254/latest/",
        "file:///etc/passwd",
        "http://user:password@127.0.0.1/",
        "gopher://127.0.0.1/",
      ],
    ]
    for (const place of places) {
      const { url } = await redirectTo(place)
      const refused = await failureOf(url, { allow: ["127.0.0.1"], resolve: async () => ["127.0.0.1"] })
      expect(refused, place).toMatchObject({ code: "denied" })
      expect(refused.message).not.toContain("password@")
    }
    expect(hidden.connections()).toBe(0)
  })

  test("a redirect to an invalid URL is an error; one without a location is a response", async () => {
    const { url } = await redirectTo("http://[")
    expect(await failureOf(url, { allow: ["127.0.0.1"] })).toMatchObject({ code: "invalid_input" })
    const placeless = await startWeb((_, response) => response.writeHead(302).end("nowhere"))
    const answer = await nodeFetch({ allow: ["127.0.0.1"] }).get(placeless.url, fetchOptions)
    expect([answer.status, textOf(answer.bytes)]).toEqual([302, "nowhere"])
  })

  test("headers are sent to the first origin only, even if a redirect leads back to it", async () => {
    const headers = {
      Authorization: "Bearer s",
      Cookie: "s",
      "X-Api-Key": "s",
      Accept: "text/html",
      "User-Agent": "me",
    }
    const secrets = ({ headers }: SeenRequest) => [headers.authorization, headers.cookie, headers["x-api-key"]]
    const away = await startWeb((_, response) => response.writeHead(302, { location: `${home.url}/back` }).end())
    const home = await startWeb((request, response) => {
      if (request.url === "/start") response.writeHead(302, { location: "/same-origin" }).end()
      else if (request.url === "/same-origin") response.writeHead(302, { location: `${away.url}/` }).end()
      else response.end("back")
    })
    const answer = await nodeFetch({ allow: ["127.0.0.1"] }).get(`${home.url}/start`, { ...fetchOptions, headers })
    expect(textOf(answer.bytes)).toBe("back")
    const given = ["Bearer s", "s", "s"]
    const none = [undefined, undefined, undefined]
    expect([...home.seen, ...away.seen].map(secrets)).toEqual([given, given, none, none])
    for (const each of [...home.seen, ...away.seen]) {
      expect(each.headers).toMatchObject({ accept: "text/html", "user-agent": "me" })
    }
  })
})
