import { describe, expect, test } from "vitest"
import { stringify } from "yaml"
import type { JsonObject } from "../src/contract/json.ts"
import { type OpenApiOptions, openApiService } from "../src/extensions/api/index.ts"
import { openApi, serveApi } from "./support/api-scene.ts"

const pets: JsonObject = {
  openapi: "3.0.3",
  info: { title: "Pets", version: "1" },
  servers: [{ url: "https://pets.example/v1" }],
  paths: {
    "/pets": {
      get: {
        operationId: "listPets",
        summary: "List all pets",
        parameters: [
          { name: "limit", in: "query", schema: { type: "integer", minimum: 0, exclusiveMinimum: true, maximum: 100 } },
          { name: "X-Trace", in: "header", schema: { type: "string" } },
        ],
      },
      post: {
        operationId: "createPet",
        summary: "Create a pet",
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Pet" } } },
        },
      },
    },
    "/pets/{petId}": {
      parameters: [{ $ref: "#/components/parameters/PetId" }],
      get: { operationId: "getPet", summary: "Get one pet by its id" },
      delete: { operationId: "deletePet", summary: "Delete a pet" },
    },
    "/pets/mine": { get: { operationId: "getMine", summary: "The pets of the caller" } },
    "/owners/{owner}/pets/{petId}": { get: { operationId: "getOwned", summary: "A pet of an owner" } },
  },
  components: {
    parameters: { PetId: { name: "petId", in: "path", required: true, schema: { type: "integer" } } },
    schemas: {
      Pet: {
        type: "object",
        required: ["name"],
        properties: {
          name: { type: "string" },
          nickname: { type: "string", nullable: true },
          nullable: { type: "boolean" },
          example: { type: "string" },
          parent: { $ref: "#/components/schemas/Pet" },
        },
        additionalProperties: false,
        example: { $ref: "#/not/a/reference" },
      },
    },
  },
}

async function petScene(more: Partial<OpenApiOptions> = {}, document: string | JsonObject = pets) {
  const served = await serveApi()
  const services = await openApiService(document, { name: "pets", baseUrl: `${served.url}/v1`, ...more })
  return { ...served, services, ...(await openApi({ services })) }
}
const call = (method: string, path: string, more: object = {}) => ({ service: "pets", method, path, ...more })

describe("a service from an OpenAPI document", () => {
  test.each([
    ["an object", pets],
    ["JSON", JSON.stringify(pets)],
    ["YAML", stringify(pets)],
  ])("a service from an OpenAPI document is read from %s", async (_, document) => {
    const services = await openApiService(document, { name: "pets" })
    expect(services.pets).toMatchObject({
      baseUrl: "https://pets.example/v1",
      description: "Pets",
      allowedMethods: ["GET", "POST", "DELETE"],
    })
    expect(services.pets?.operations?.map(({ id }) => id)).toEqual([
      "listPets",
      "createPet",
      "getPet",
      "deletePet",
      "getMine",
      "getOwned",
    ])
  })

  test.each([
    call("GET", "/pets", { query: { limit: 5 } }),
    call("GET", "/pets/12"),
    call("GET", "/pets/mine"),
    call("DELETE", "/pets/12"),
    call("GET", "/owners/a%20b/pets/12"),
    call("POST", "/pets", { body: { name: "Rex", nickname: null, nullable: true, example: "x" } }),
    call("POST", "/pets", { body: { name: "Rex", parent: { anything: "a recursion is cut" } } }),
  ])("a service from an OpenAPI document takes $method $path with arguments that fit", async (args) => {
    const { call: send, requests } = await petScene()
    expect((await send(args)).status).toBe("ok")
    expect(requests[0]?.url.startsWith(`/v1${args.path}`)).toBe(true)
  })

  test.each([
    ["a path of no operation", call("GET", "/admin")],
    ["a method of another path", call("DELETE", "/pets")],
    ["a parameter of the wrong type in its path", call("GET", "/pets/rex")],
    ["a parameter with more segments", call("GET", "/pets/1/2")],
    ["an unknown parameter", call("GET", "/pets", { query: { offset: 5 } })],
    ["a parameter of the wrong type", call("GET", "/pets", { query: { limit: "many" } })],
    ["a parameter at an exclusive limit", call("GET", "/pets", { query: { limit: 0 } })],
    ["a body that lacks a property", call("POST", "/pets", { body: {} })],
    ["a body with another property", call("POST", "/pets", { body: { name: "Rex", admin: true } })],
    ["no body", call("POST", "/pets")],
    ["a body where none belongs", call("DELETE", "/pets/12", { body: {} })],
  ])("a service from an OpenAPI document refuses %s before anything is sent", async (_, args) => {
    const { call: send, requests } = await petScene()
    const { status, text } = await send(args)
    expect([status, requests.length]).toEqual(["error", 0])
    expect(text).toMatch(/invalid_input|denied/)
  })

  test("a service from an OpenAPI document has only the operations that are included", async () => {
    const { call: send, requests } = await petScene({ include: ["getPet", /list.*/] })
    expect((await send(call("GET", "/pets/12"))).status).toBe("ok")
    for (const args of [call("DELETE", "/pets/12"), call("GET", "/owners/a/pets/1")]) {
      expect((await send(args)).status).toBe("error")
    }
    // Both are matched by what is included: /pets/mine would be a pet, whose id is a number.
    expect((await send(call("GET", "/pets/mine"))).status).toBe("error")
    expect(requests.length).toBe(1)
  })

  test("ApiSearch returns the few operations that fit, and how they are called", async () => {
    const { call: send } = await petScene()
    const found = await send({ query: "delete a pet", limit: 1 }, "ApiSearch")
    expect(found.text).toContain("ApiCall service: pets, method: DELETE, path: /pets/{petId}")
    expect(found.text).toContain('"petId":{"type":"integer"}')
    expect(found.text).not.toContain("createPet")
    expect((await send({ query: "createPet", limit: 1 }, "ApiSearch")).text).toContain('"required":["name"]')
    expect((await send({ query: "weather" }, "ApiSearch")).text).toContain("No operation matches")
  })

  test("asTools makes tools of a few operations, with the same checks and the method's effect", async () => {
    const { call: send, tools, requests } = await petScene({ asTools: ["getPet", "createPet"] })
    expect(tools.map(({ name, effect }) => [name, effect])).toEqual([
      ["ApiCall", "once"],
      ["ApiSearch", "none"],
      ["pets_createPet", "once"],
      ["pets_getPet", "none"],
    ])
    expect((await send({ petId: 12 }, "pets_getPet")).status).toBe("ok")
    expect((await send({ body: { name: "Rex" } }, "pets_createPet")).status).toBe("ok")
    for (const petId of ["../admin", "1/2", "..", "%2e%2e", "{petId}", -1.5, null]) {
      expect((await send({ petId }, "pets_getPet")).status).toBe("error")
    }
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual(["GET /v1/pets/12", "POST /v1/pets"])
    const getPet = tools.find(({ name }) => name === "pets_getPet")
    const seen = getPet?.inner?.({ petId: 12 })
    expect(getPet?.policyName).toBe("ApiCall")
    expect(seen?.args).toMatchObject({ service: "pets", method: "GET", path: "/pets/12", petId: 12 })
    // What a policy changes applies, or fails the call.
    expect(seen?.outer({ ...Object(seen.args), petId: 13 })).toEqual({ petId: 13 })
    const changed = seen?.outer({ ...Object(seen.args), path: "/admin" }) ?? null
    expect((await send(changed, "pets_getPet")).text).toContain("invalid_input")
  })

  test("a document that expands without bound is cut", async () => {
    const width = (level: number) =>
      Object.fromEntries(
        Array.from({ length: 10 }, (_, index) => [`p${index}`, { $ref: `#/components/schemas/L${level + 1}` }]),
      )
    const schemas = Object.fromEntries(
      Array.from({ length: 15 }, (_, level) => [`L${level}`, { type: "object", properties: width(level) }]),
    )
    const bomb: JsonObject = {
      ...pets,
      paths: {
        "/x": {
          post: {
            operationId: "x",
            requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/L0" } } } },
          },
        },
      },
      components: { schemas: { ...schemas, L15: {} } },
    }
    const services = await openApiService(bomb, { name: "pets" })
    expect(JSON.stringify(services.pets?.operations).length).toBeLessThan(1_000_000)
  })

  test.each([
    ["Swagger 2", { swagger: "2.0" }, {}],
    ["text that is neither JSON nor YAML", "a: [", {}],
    ["a reference to another file", { ...pets, paths: { $ref: "x", "/x": { $ref: "other.yaml#/x" } } }, {}],
    ["a reference to nothing", { ...pets, paths: { "/x": { get: { parameters: [{ $ref: "#/none" }] } } } }, {}],
    ["no complete server", { ...pets, servers: [{ url: "/v1" }] }, {}],
    ["an unknown operation in include", pets, { include: ["getNothing"] }],
    ["an unknown operation in asTools", pets, { asTools: ["getNothing"] }],
    ["an operation as a tool that is not included", pets, { include: ["getPet"], asTools: ["deletePet"] }],
    ["a misspelt setting", pets, { includes: [] }],
  ])("%s is config_invalid", async (_, document, more) => {
    const made = openApiService(document as JsonObject, { name: "pets", ...more })
    await expect(made).rejects.toMatchObject({ code: "config_invalid" })
  })
})
