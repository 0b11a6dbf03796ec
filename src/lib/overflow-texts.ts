/** How a server says that a request is too long. */
interface OverflowText {
  readonly server: string
  /** Its own words, from the part that no other error has. `{window}`: the tokens that fit; `{used}`: another number; `{name}`: any name. */
  readonly text: string
  /** It comes with a status that otherwise means a limit of requests. */
  readonly isLimitOfRequests?: true
}

/** The first that matches counts. Numbers that are not the window are an excess, the request's own size or bytes. */
const overflowTexts: readonly OverflowText[] = [
  { server: "Anthropic", text: "prompt is too long: {used} tokens > {window} maximum" },
  { server: "Anthropic on Vertex", text: "prompt is too long" },
  { server: "Anthropic", text: "input length and `max_tokens` exceed context limit: {used} + {used} > {window}" },
  { server: "Bedrock", text: "input is too long for requested model" },
  { server: "OpenAI, Responses", text: "your input exceeds the context window of this model" },
  { server: "OpenAI, vLLM, DeepSeek, OpenRouter", text: "maximum context length is {window} tokens" },
  {
    server: "OpenAI (429), Groq (413)",
    text: "request too large for {name} on tokens per {name} (TPM): limit {window}",
    isLimitOfRequests: true,
  },
  { server: "xAI", text: "maximum prompt length is {window}" },
  {
    server: "Cerebras",
    text: "reduce the length of the messages or completion. Current length is {used} while limit is {window}",
  },
  { server: "Groq", text: "reduce the length of the messages or completion" },
  { server: "llama.cpp", text: "exceeds the available context size ({window} tokens)" },
  { server: "LM Studio", text: "greater than the context length" },
  { server: "Mistral", text: "too large for model with {window} maximum context length" },
  { server: "Kimi", text: "exceeded model token limit: {window}" },
  { server: "Together", text: "tokens + `max_new_tokens` must be <= {window}" },
  { server: "GitHub Copilot", text: "prompt token count of {used} exceeds the limit of {window}" },
  { server: "GLM", text: "prompt exceeds max length" },
  { server: "Qwen", text: "range of input length should be [{used}, {window}]" },
  { server: "Ollama", text: "exceeded max context length by {used} tokens" },
  { server: "MiniMax", text: "context window exceeds limit" },
  { server: "Gemini", text: "exceeds the maximum number of tokens allowed ({window})" },
  { server: "Gemini", text: "request payload size exceeds the limit" },
  { server: "Vertex", text: "input token count is {used} but model only supports up to {window}" },
]

/** True if a message means that the conversation is too long. `status`: what the server responded with. */
export function isOverflow(message: string, status = 400): boolean {
  const isLimited = status === 429 || status === 413
  if (isLimited) return compiled.some(({ pattern, isLimitOfRequests }) => isLimitOfRequests && pattern.test(message))
  return compiled.some(({ pattern }) => pattern.test(message)) || elsewhere.test(message)
}

/** The window in tokens according to a refusal. */
export function windowIn(message: string): number | undefined {
  const known = compiled.find(({ pattern }) => pattern.test(message))
  const [, found] = (known ? known.pattern : windowElsewhere).exec(message) ?? []
  return found === undefined ? undefined : Number(found.replaceAll(",", ""))
}

const compiled = overflowTexts.map(({ text, isLimitOfRequests }) => ({ isLimitOfRequests, pattern: patternOf(text) }))

function patternOf(text: string): RegExp {
  const escaped = text.replace(/[.*+?^$()|[\]\\]/g, "\\$&")
  const source = escaped
    .replaceAll("{window}", "([\\d,]+)")
    .replaceAll("{used}", "[\\d,]+")
    .replaceAll("{name}", "[^:]{1,200}?")
  return new RegExp(source, "i")
}

/** Servers that are not in the table. */
const elsewhere =
  /context[ _](?:window|length|size)|maximum context|too many tokens|exceeds? the (?:maximum|available) (?:number of|input|context)/i
const windowElsewhere =
  /(?:>|maximum (?:context|input)[a-z ]*(?:is|of)|context (?:size|window|length)(?![a-z ]*\bby\b)[a-z ]*|tokens allowed)[\s:(]*([\d,]{4,})/i
