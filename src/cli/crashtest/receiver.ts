import { basename } from "node:path"
import { serve } from "../../hosts/node/http/serve.ts"
import { verifyWebhook } from "../../webhooks/verify.ts"
import { WEBHOOK_SECRET } from "./plan.ts"

/** Receives the webhooks of all trials and outlives every process that sends them. */
export interface Receiver {
  urlFor(folder: string): string
  /** The `webhook-id` of every delivery for a trial, in order. */
  received(folder: string): readonly string[]
  close(): Promise<void>
}

export async function startReceiver(): Promise<Receiver> {
  const got = new Map<string, string[]>()
  const server = await serve(async (request) => {
    const name = new URL(request.url).pathname.slice(1)
    const id = request.headers.get("webhook-id") ?? "a delivery without an id"
    const { headers } = request
    const isSigned = await verifyWebhook({ headers, body: await request.text(), secrets: WEBHOOK_SECRET }).then(
      () => true,
      () => false,
    )
    got.set(name, [...(got.get(name) ?? []), isSigned ? id : `${id}, not signed`])
    return new Response()
  })
  return {
    urlFor: (folder) => `${server.url}/${basename(folder)}`,
    received: (folder) => got.get(basename(folder)) ?? [],
    close: server.close,
  }
}
