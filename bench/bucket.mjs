/** A bucket in this process, as a `fetch` for `s3Store`: counts requests, and lets each take `latencyMs`. */
export function startBucket({ latencyMs = 0 } = {}) {
  const objects = new Map()
  let sorted
  const counts = { requests: 0 }
  const answer = (status, body = null) => new Response(body, { status })

  async function fetch(address, { method, headers, body }) {
    counts.requests++
    if (counts.latencyMs ?? latencyMs)
      await new Promise((resolve) => setTimeout(resolve, counts.latencyMs ?? latencyMs))
    const { pathname, searchParams } = new URL(address)
    const key = decodeURIComponent(pathname.split("/").slice(2).join("/"))
    if (searchParams.has("list-type")) return answer(200, listing(searchParams))
    if (method === "PUT") {
      if (new Headers(headers).get("if-none-match") === "*" && objects.has(key)) return answer(412)
      if (!objects.has(key)) sorted = undefined
      objects.set(key, body ?? new Uint8Array())
      return answer(200)
    }
    if (method === "DELETE") {
      if (objects.delete(key)) sorted = undefined
      return answer(204)
    }
    const found = objects.get(key)
    if (found === undefined) return answer(404)
    return answer(200, method === "HEAD" ? null : found)
  }

  function listing(query) {
    sorted ??= [...objects.keys()].sort()
    const prefix = query.get("prefix") ?? ""
    const most = Number(query.get("max-keys") ?? 1000)
    const after = query.get("continuation-token") ?? query.get("start-after") ?? ""
    const names = []
    let at = after < prefix ? firstBehind(sorted, prefix, true) : firstBehind(sorted, after, false)
    for (; at < sorted.length && sorted[at].startsWith(prefix) && names.length < most; ) {
      const slash = sorted[at].indexOf("/", prefix.length)
      if (slash < 0) names.push(sorted[at++])
      else {
        const folder = sorted[at].slice(0, slash + 1)
        if (folder > after) names.push(folder)
        // Behind everything that is in the folder.
        at = firstBehind(sorted, `${folder.slice(0, -1)}0`, true)
      }
    }
    const isCut = at < sorted.length && sorted[at].startsWith(prefix)
    const items = names.map((name) =>
      name.endsWith("/")
        ? `<CommonPrefixes><Prefix>${name}</Prefix></CommonPrefixes>`
        : `<Contents><Key>${name}</Key></Contents>`,
    )
    const next = isCut ? `<NextContinuationToken>${names.at(-1)}</NextContinuationToken>` : ""
    return `<ListBucketResult>${items.join("")}<IsTruncated>${isCut}</IsTruncated>${next}</ListBucketResult>`
  }

  return { fetch, counts }
}

/** The first place in a sorted list that comes behind a text, or is it. */
function firstBehind(sorted, text, orEqual) {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle] < text || (!orEqual && sorted[middle] === text)) low = middle + 1
    else high = middle
  }
  return low
}
