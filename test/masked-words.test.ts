import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { createRuntime } from "../src/hosts/node/index.ts"
import { plainText } from "../src/lib/content.ts"
import { credentialsOf } from "../src/lib/http/credentials.ts"
import { serverCredentials } from "../src/lib/mcp-servers.ts"
import { isCredential } from "../src/lib/text/credential.ts"
import { secretsIn } from "../src/policy/redact/names.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { fileTools } from "../src/tools/index.ts"
import { serveScene } from "./mcp-client/http-server.mjs"

const scratch = mkdtempSync(join(tmpdir(), "longhaul-words-"))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Values that servers are configured with and that files contain, too. */
const ordinary: readonly (readonly [name: string, ...values: string[]])[] = [
  [
    "ENVIRONMENT",
    "production",
    "staging",
    "development",
    "integration",
    "acceptance",
    "preproduction",
    "sandbox-eu",
    "local-dev",
  ],
  [
    "AWS_REGION",
    "us-east-1",
    "us-west-2",
    "eu-central-1",
    "ap-southeast-2",
    "ca-central-1",
    "sa-east-1",
    "europe-west4",
    "northeurope",
  ],
  [
    "ORGANIZATION",
    "acme-corp",
    "globex-gmbh",
    "initech-labs",
    "umbrella-group",
    "wayne-enterprises",
    "stark-industries",
    "example-org",
  ],
  [
    "NOTION_VERSION",
    "2022-06-28",
    "2023-11-01",
    "2024-10-21",
    "2025-01-01-preview",
    "v2024.10.3",
    "12.4.1-beta.3",
    "release-2026.11",
  ],
  ["LOG_LEVEL", "information", "debug,info", "warning,error", "trace:verbose", "critical-only"],
  ["TZ", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Sydney", "America/Argentina/Buenos_Aires"],
  ["LANG", "en_US.UTF-8", "de_DE.UTF-8", "ja_JP.UTF-8", "pt_BR.UTF-8", "zh_CN.UTF-8"],
  [
    "ACCEPT",
    "application/json",
    "text/event-stream",
    "application/vnd.github+json",
    "application/x-ndjson",
    "multipart/form-data",
  ],
  ["DATABASE_URL", "postgres://db.internal:5432/app", "mysql://localhost:3306/shop", "mongodb://mongo:27017/events"],
  [
    "BASE_URL",
    "https://api.example.com/v1",
    "http://localhost:8080/health",
    "https://staging.example.com/graphql",
    "wss://stream.example.com",
  ],
  [
    "HOST",
    "db-primary.internal.example.com",
    "redis-master.default.svc.cluster.local",
    "mail.example.com",
    "ip-10-0-12-34",
  ],
  [
    "DATA_DIR",
    "/var/lib/postgresql/data",
    "/usr/local/share/models",
    "C:\\\\Program Files\\\\App",
    "./node_modules/.cache",
    "/home/runner/work",
  ],
  [
    "MODEL",
    "claude-sonnet-4-6",
    "gpt-4o-mini-2024-07-18",
    "gemini-2.5-pro",
    "llama-3.1-70b-instruct",
    "text-embedding-3-large",
    "claude-sonnet-4-20250514",
  ],
  [
    "USER",
    "svc-deploy",
    "build-agent",
    "jane.doe@example.com",
    "ci-bot@example.com",
    "readonly-reporting",
    "administrator",
  ],
  ["SCHEDULE", "0 3 * * 1-5", "*/15 * * * *", "@every 10m", "FREQ=WEEKLY;BYDAY=MO"],
  ["NODE_ENV", "test-coverage", "production-like"],
  ["NODE_OPTIONS", "--max-old-space-size=4096", "--enable-source-maps", "--no-warnings"],
  ["PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "/opt/homebrew/bin:/usr/bin:/bin"],
  ["TENANT_ID", "550e8400-e29b-41d4-a716-446655440000", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"],
  ["COMMIT_SHA", "9fceb02d0ae598e95dc970b74767f19372d61af8", "e83c5163316f89bfbde7d9ab23ca2e25604af290"],
  [
    "ROLE",
    "arn:aws:iam::123456789012:role/deploy-prod",
    "roles/storage.objectViewer",
    "system:serviceaccount:default:runner",
  ],
  ["BUCKET", "acme-prod-artifacts", "terraform-state-eu", "my-company-backups-2026", "logs.example.com"],
  ["QUEUE", "orders-high-priority", "email.outbound.retry", "user_events_v2", "billing-invoices-dlq"],
  ["FEATURES", "search,billing,export", "new-checkout:on", "dark-mode=false", "beta_dashboard,beta_reports"],
  ["IMAGE", "node:20-bookworm-slim", "postgres:16-alpine", "ghcr.io/example/api:latest", "python:3.12-slim"],
  ["CURRENCY_LIST", "EUR,USD,GBP", "chf,sek,nok"],
  [
    "TITLE",
    "Quarterly report",
    "Customer support",
    "Internal tools",
    "Hello, world",
    "Production database",
    "Release notes",
  ],
  ["TIMEOUT", "30 seconds", "1800000", "00:15:00", "unlimited"],
  ["BRANCH", "feature/checkout-redesign", "release/2026-11", "dependabot/npm_and_yarn/vite-8.3.4", "refs/heads/main"],
  [
    "PROJECT",
    "customer-portal",
    "mobile_app_ios",
    "data-platform",
    "growth-experiments",
    "monorepo-root",
    "field-notes",
  ],
  ["SSL_MODE", "verify-full", "require-and-verify", "tls1.2,tls1.3"],
  ["PHONE", "+49 30 901820", "+1-202-555-0143"],
  ["COLOR", "rebeccapurple", "hsl(210 40% 96%)", "#1e293bff"],
  ["MIME", "image/svg+xml", "application/octet-stream", "text/markdown; charset=utf-8"],
  ["CLUSTER", "prod-eu-west-1a", "gke-staging-pool-2", "k8s-dev-01.example.net", "minikube-local"],
  ["TEAM", "platform-engineering", "site-reliability", "customer-success", "data-science", "security-operations"],
  ["DRIVER", "postgresql", "better-sqlite3", "mysql2/promise", "ioredis-mock", "mongodb-memory-server"],
  ["STRATEGY", "round-robin", "least-connections", "exponential-backoff", "blue-green", "canary-10-percent"],
  ["PROTOCOL", "grpc+tls", "http/1.1,h2", "mqtt-over-websocket", "amqp091-go"],
  ["TEMPLATE", "invoice-de.html", "welcome_email.mjml", "Dockerfile.prod", "docker-compose.override.yml"],
  ["RUNTIME", "nodejs20.x", "python3.12", "java21-corretto", "dotnet-isolated", "provided.al2023"],
  ["WORKLOAD", "nightly-import", "hourly-sync", "weekly-digest-mailer", "reindex-products"],
  ["AUDIENCE", "https://api.example.com", "urn:example:service", "api://default"],
  [
    "API_KEY",
    "production",
    "changeme",
    "your-key",
    "test-token",
    "example-secret",
    "default-password",
    "development-key",
  ],
  ["PRIMARY_KEY", "customer_id", "order_number", "account_id", "created_at"],
  ["DB_PASSWORD", "password", "postgres", "letmein1", "root-password"],
  ["CACHE_KEY", "user:session", "products:list", "session_token"],
  ["X-Auth", "anonymous", "bearer-token"],
]
const values = ordinary.flatMap(([name, ...each]) => each.map((value) => [name, value] as const))

const credentials: readonly (readonly [name: string, value: string])[] = [
  ["GITHUB_PAT", "ghp_a8Kd02LsPq93ZxVbN4mTyUiOeRwQ1234567"],
  ["X-Team", "k3J9xQ7vL2mR8tZ1"],
  ["Authorization", "Bearer 9f8e7d6c5b4a39281706f5e4d3c2b1a0"],
  ["Authorization", "Bearer correct-horse-battery-staple"],
  ["DB_PASSWORD", "Tr0ub4dor&3"],
  ["DB_PASS", "hunter2-hunter2"],
  ["SLACK", "xoxb-123456789012-abcDEF456ghiJKL789mno"],
  ["CLIENT_SECRET", "zQ8~Wm.1pLr_9sTgVbNc"],
  ["SESSION_COOKIE", "sid=s%3AkPq83hs72ndk29"],
  ["SIGNING_KEY", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="],
  ["LICENSE", "A1B2C-D3E4F-G5H6I7J8K9L0M1"],
]

describe("undeclared values", () => {
  test("there are at least 200 ordinary ones, and none of them is taken for a credential", () => {
    expect(new Set(values.map(([, value]) => value)).size).toBeGreaterThanOrEqual(200)
    expect(values.filter(([name, value]) => isCredential(name, value))).toEqual([])
  })

  test.each(credentials)("%s=%s is a credential", (name, value) => {
    expect(isCredential(name, value)).toBe(true)
  })

  test("headers, queries, variables of MCP servers and of the host are judged alike", () => {
    const all = Object.fromEntries(values.map(([name, value], index) => [`${index}_${name}`, value]))
    const address = `https://api.example.com/?${new URLSearchParams(all)}`
    expect(credentialsOf(address, all)).toEqual({})
    expect(serverCredentials({ a: { command: "x", env: all }, b: { url: "https://b.example", headers: all } })).toEqual(
      {},
    )
    expect(secretsIn(all)).toEqual({})
  })

  test("a file that a model reads and writes back is the same, byte for byte", async () => {
    const text = values.map(([name, value]) => `${name}=${value}\n`).join("")
    writeFileSync(join(scratch, "settings.env"), text)
    const env = Object.fromEntries(values.map(([name, value], index) => [`${index}-${name}`, value]))
    const served = await serveScene({ tools: [], capabilities: { tools: {} } })
    const headers = Object.fromEntries(
      Object.entries(env).flatMap(([name, value]) => (/^[\x20-\x7e]*$/.test(value) ? [[`x-${name}`, value]] : [])),
    )
    const model = scriptedModel([
      { parts: [{ toolCall: { name: "Read", args: { path: "settings.env" } } }] },
      (messages) => {
        const [result] = messages.at(-1)?.content ?? []
        const shown = result?.type === "tool-result" ? plainText(result.output, "") : ""
        const content = shown.replace(/^ *\d+[\t→|:]/gm, "")
        return { parts: [{ toolCall: { name: "Write", args: { path: "copy.env", content } } }] }
      },
      "Done.",
    ])
    const mcpServers = { web: { url: served.url, headers } }
    const runtime = createRuntime({
      model,
      workspace: scratch,
      tools: fileTools(),
      mcpServers,
      store: memoryStore(),
    })
    const result = await runtime.run({ task: "copy" })
    await served.close()
    expect(result).toMatchObject({ status: "done" })
    expect(readFileSync(join(scratch, "copy.env"), "utf8").trimEnd()).toBe(text.trimEnd())
    console.log(`words masked in read-then-write: 0 of ${values.length}`)
  })
})
