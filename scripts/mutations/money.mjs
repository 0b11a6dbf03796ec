// Promises about money: limits, what is reserved, settled and refunded, and what a call costs.
import { mutation } from "./mutation.mjs"

const ledger = "src/run/state/ledger.ts"
const runtime = "src/run"
const projection = "src/journal/projection.ts"
const price = "src/observe/price.ts"

const ledgerTest = (name) => ["src/run/state/ledger.test.ts", name]
const parallel = ledgerTest("over 20 parallel runs of one ledger")
const unknownPrice = ledgerTest("a dollar limit with an unknown price is rejected, or a warning if requested")
const costs = ledgerTest("an unknown price is null, never 0")
const limits = (name) => ["src/runtime/runtime.test.ts", name]
const fold = (name) => ["src/journal/projection.test.ts", name]
const hostTest = (name) => ["src/run/session/host.test.ts", name]

export const mutations = [
  mutation(
    "money: a token limit that is reached lets another call in",
    [[ledger, "if (usedTokens >= tokens)", "if (usedTokens > 2 * tokens)"]],
    ledgerTest("a run stops before the call"),
  ),
  mutation(
    "money: a dollar limit that is reached lets another call in",
    [[ledger, "return usedUsd >= usd", "return usedUsd > 2 * usd"]],
    parallel,
  ),
  mutation(
    "money: what is reserved is not counted",
    [[ledger, "    this.#reserved.set(reserve, bound)\n", ""]],
    parallel,
  ),
  mutation(
    "money: reserved dollars leave room for other calls",
    [[ledger, "held < tokens && heldUsd < usd", "held < tokens"]],
    parallel,
  ),
  mutation(
    "money: tokens that a provider does not report are free",
    [[ledger, "totalTokens(usage) ?? reserve.tokens", "totalTokens(usage) ?? 0"]],
    ledgerTest("a call whose tokens or cost its provider does not report"),
  ),
  mutation(
    "money: a cost that a provider does not report is nothing",
    [[ledger, "usage.costUsd ?? reserve.usd ?? 0", "usage.costUsd ?? 0"]],
    ledgerTest("a call whose tokens or cost its provider does not report"),
  ),
  mutation(
    "money: a call that waits for a refund is never woken",
    [[ledger, "    for (const wake of waiting) wake()\n", ""]],
    parallel,
  ),
  mutation(
    "money: the reserve of a turn is not durable before the model is asked",
    [[runtime, "if (reserve) await journal.flush()", "if (reserve) void reserve"]],
    ledgerTest("the reserve of a turn is durable before the model is asked"),
  ),
  mutation(
    "money: the reserve of a turn that was not answered is kept",
    [[runtime, "if (this.#reserve) this.#run.ledger.refund(this.#reserve)", ""]],
    ledgerTest("the reserve of a turn that was not answered comes back"),
  ),
  mutation(
    "money: the answer of a turn is not settled",
    [[runtime, "if (this.#reserve) this.#run.ledger.settle(this.#reserve, usage)", ""]],
    ledgerTest("a run stops before the call"),
  ),
  mutation(
    "money: a reserve is bounded by the price of input, although writing to a cache costs more",
    [
      [
        "src/settings/config/pricing.ts",
        "Math.max(atMost({ inputTokens }), atMost({ cacheWriteTokens: inputTokens }))",
        "atMost({ inputTokens })",
      ],
    ],
    ledgerTest("a reserve is bounded by the dearest way"),
  ),
  mutation(
    "money: a lost reserve is forgiven on resume",
    [[projection, "    this.spent.lose()\n", ""]],
    fold("an unanswered reservation counts as spent after a resume, and only once"),
  ),
  mutation(
    "money: a lost reserve is forgiven when the next turn begins",
    [["src/journal/spending.ts", "    if (this.#reserve) this.#count(this.#reserve)\n", ""]],
    fold("an unanswered reservation counts as spent when the next turn starts"),
  ),
  mutation(
    "money: a resumed run begins with an empty ledger",
    [[runtime, "new Ledger(input.limits, spentBy(projection, below), tree", "new Ledger(input.limits, {}, tree"]],
    ledgerTest("a resumed run pays for a turn whose answer was lost"),
  ),
  mutation(
    "money: a fork pays for what it copied",
    [
      [
        projection,
        "if (this.#isCopied(record)) this.spent.reserve(undefined)",
        "if (this.#isCopied(record)) this.spent.settle(record.usage)",
      ],
    ],
    ledgerTest("a fork does not pay for the calls that it copied"),
  ),
  mutation(
    "money: one turn more than the limit",
    [[ledger, "each.#turnsBelow >= turns)", "each.#turnsBelow > turns)"]],
    limits("the turn limit ends the run as max_turns"),
  ),
  mutation(
    "money: the time limit starts no clock",
    [[runtime, "if (timeMs !== undefined) controls.startClock(timeMs, run.projection.activeMs)", ""]],
    limits("the time limit ends the run as run_timeout; a running tool gets the signal and is reported as unknown"),
  ),
  mutation(
    "money: a resumed run gets its time again",
    [[runtime, "controls.startClock(timeMs, run.projection.activeMs)", "controls.startClock(timeMs, 0)"]],
    ["src/run/resume.test.ts", "that is used up stops a resumed run before it calls a model or a tool"],
  ),
  mutation(
    "money: a dollar limit without a price is accepted",
    [[runtime, 'if (config.unknownPrice === "refuse")', "if (config.unknownPrice === undefined)"]],
    unknownPrice,
  ),
  mutation(
    "money: cost is taken from the provider alone",
    [[runtime, "usage.costUsd ?? (pricing && costOf(usage, pricing))", "usage.costUsd"]],
    costs,
  ),
  mutation(
    "money: a bucket that is not reported costs nothing",
    [[price, "if (tokens === null) return price === 0 ? 0 : null", "if (tokens === null) return 0"]],
    ["src/observe/price.test.ts", "an unreported token count makes the cost unknown"],
  ),
  mutation(
    "money: an unknown model is free",
    [[price, "return prices === null ? null : pricingOf(prices)", "return pricingOf(prices ?? [])"]],
    ["src/observe/price.test.ts", "an unknown model has no price"],
  ),
  mutation(
    "money: the tier of a call is chosen by its uncached input",
    [
      [
        price,
        "const whole = (inputTokens ?? 0) + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0)",
        "const whole = inputTokens ?? 0",
      ],
    ],
    ["src/observe/price.test.ts", "the tier of a call depends on its whole input and applies to all its tokens"],
  ),
  mutation(
    "money: an agent goes on although its usage has reached a limit",
    [["src/run/session/host.ts", "this.#stopAt(this.#run.ledger.spend(usage))", "this.#run.ledger.spend(usage)"]],
    ["test/backend-runtime.test.ts", "stops a session as soon as its reported usage has reached it"],
  ),
  mutation(
    "money: a program goes on although other agents have used up the budget",
    [["src/run/session/host.ts", "    this.#stopAt(ledger.exhausted)\n", ""]],
    hostTest("a program is stopped before its own call is permitted"),
    hostTest("a program is stopped before it gets the result of a call"),
  ),
  mutation(
    "money: the own call of a program is permitted although the budget is used up",
    [
      [
        "src/run/session/host.ts",
        "    this.#ungated.answered(call, permit)\n    await this.#beforeRequest()\n",
        "    this.#ungated.answered(call, permit)\n",
      ],
    ],
    hostTest("a program is stopped before its own call is permitted"),
  ),
  mutation(
    "money: a program gets the result of a call although the budget is used up",
    [["src/run/session/host.ts", "during(outcome).finally(() => this.#beforeRequest())", "during(outcome)"]],
    hostTest("a program is stopped before it gets the result of a call"),
  ),
  mutation(
    "money: a program repairs its answer although the budget is used up",
    [
      [
        "src/run/session/host.ts",
        "if (validationError !== undefined || controls.steers.hasUnread) await",
        "if (controls.hasUnread) await",
      ],
    ],
    hostTest("a program is stopped before its answer is repaired"),
  ),
  mutation(
    "money: a program goes on with a message although the budget is used up",
    [
      [
        "src/run/session/host.ts",
        "if (validationError !== undefined || controls.steers.hasUnread) await",
        "if (validationError !== undefined) await",
      ],
    ],
    hostTest("a program is stopped before it gets a message that came before"),
  ),
  mutation(
    "money: a program that waits for its agents is asked again although they have used up the budget",
    [["src/run/session/drive.ts", "!host.usedUp && session.steer(message)", "session.steer(message)"]],
    hostTest("gets the agent's answer only after the limit was raised"),
  ),
  mutation(
    "money: a run whose agent's answer was held back because of its budget is not over its budget",
    [
      [
        "src/run/session/drive.ts",
        'if (stop.reason === "done" && host.usedUp && run.agents?.background.isPending) return host.usedUp',
        "",
      ],
    ],
    hostTest("gets the agent's answer only after the limit was raised"),
  ),
  mutation(
    "money: a session is prompted although the budget was used up while it opened",
    [["src/run/session/drive.ts", "    if (host.usedUp) return host.usedUp\n", ""]],
    hostTest("a session that opens while another agent uses up the budget is not prompted"),
  ),
  mutation(
    "money: a call of a program is permitted before its usage is durable",
    [
      [
        "src/run/session/host.ts",
        "    await journal.flush().catch((error: unknown) => this.#stopFor(error))\n    this.#stopAt",
        "    this.#stopAt",
      ],
    ],
    hostTest("what a program has used is durable before its next call is permitted"),
  ),
  mutation(
    "money: usage that a program reports stays in memory while it asks",
    [
      [
        "src/run/session/host.ts",
        'if (event.type === "metering" && this.#run.ledger.limited) this.#run.journal.flushSoon()',
        "",
      ],
    ],
    hostTest("what a program has used becomes durable at once"),
  ),
  mutation(
    "money: Claude repairs an answer although it was told to stop",
    [
      [
        "src/backends/claude/run.ts",
        '      if (this.#isInterrupted) return { reason: "interrupted" }\n      await',
        "      await",
      ],
    ],
    ["src/backends/claude/run.test.ts", "interrupted while its answer is checked"],
  ),
  mutation(
    "money: two requests of an ACP agent that are reported in one turn count as one",
    [
      [
        "src/backends/acp/run.ts",
        "const turn = continues ? newest : newest + 1",
        "const turn = continues ? newest : newest",
      ],
    ],
    ["src/backends/acp/session.test.ts", "that reports a request before and after its answer"],
  ),
  mutation(
    "money: an ACP agent's requests are recorded only at the end of its prompt",
    [["src/backends/acp/run.ts", "if (this.#parts.isLimited) this.#recordRequests()", ""]],
    ["src/backends/acp/session.test.ts", "records each token of the requests of a prompt once: limited, with a crash"],
  ),
  mutation(
    "money: the requests of an ACP agent that crashes are not recorded",
    [
      [
        "src/backends/acp/run.ts",
        "    // An agent that has crashed no longer reports a count.\n    this.#recordRequests()\n",
        "",
      ],
    ],
    [
      "src/backends/acp/session.test.ts",
      "records each token of the requests of a prompt once: unlimited, with a crash",
    ],
  ),
  mutation(
    "money: requests of an ACP agent that are recorded are counted again at its end",
    [["src/backends/acp/run.ts", "return without(usage, recorded)", "return usage"]],
    ["src/backends/acp/session.test.ts", "records each token of the requests of a prompt once: limited, with a count"],
  ),
  mutation(
    "money: a limit is accepted that a backend notices only at its end",
    [
      [
        "src/run/session/drive.ts",
        'if (metering === "call" || metering === "turn") return undefined',
        "return undefined",
      ],
    ],
    ["test/backend-runtime.test.ts", "is refused by a backend that reports its usage too late"],
  ),
  mutation(
    "money: a run without a turn left opens another session of a vendor",
    [["src/run/session/drive.ts", "  if (outOfTurns) return limitStop(outOfTurns)\n", ""]],
    ["test/backend-runtime.test.ts", "that is used up opens no further session: turns"],
  ),
  mutation(
    "money: a used-up run opens another session of a vendor",
    [["src/run/session/drive.ts", "  if (ledger.exhausted) return limitStop(ledger.exhausted)\n", ""]],
    ["test/backend-runtime.test.ts", "that is used up opens no further session"],
  ),
  mutation(
    "money: tokens of a crashed program are lost",
    [
      [
        "src/backends/claude/run.ts",
        "    for (const usage of this.#unmeasured.take()) this.#meter.add(usage, this.#steps.model)\n",
        "",
      ],
    ],
    ["src/backends/claude/run.test.ts", "a crash records the tokens of answers that no total contains"],
  ),
  mutation(
    "money: a stream that is cut costs nothing",
    [["src/backends/native/ask.ts", "      attempt.meter(failure)\n", ""]],
    ["src/run/cut-streams.test.ts", "anthropic: a limit of tokens counts streams"],
  ),
  mutation(
    "money: the arguments of a call that was cut are free",
    [["src/providers/answer-parts.ts", "else this.#sink.unfinished?.(delta.length)", ""]],
    ["src/run/cut-streams.test.ts", "anthropic: the arguments of a call that was cut count as output"],
  ),
  mutation(
    "money: a stream of Pi that is cut costs nothing",
    [["src/backends/pi/session.ts", "      this.#meter(message)\n", ""]],
    ["src/backends/pi/session.test.ts", "records what a failed request cost: a cut text"],
  ),
  mutation(
    "money: a further attempt needs no room in the budget",
    [
      [
        "src/backends/native/ask.ts",
        "const stop = await host.beginTurn(turn, asking.bounds.next)",
        "const stop = await Promise.resolve(undefined)",
      ],
    ],
    ["src/run/cut-streams.test.ts", "anthropic: a limit of tokens counts streams"],
  ),
  mutation(
    "money: a cut stream without a report costs nothing",
    [["src/run/session/host.ts", 'failed === "reported" ? usage : unknownUsage', "usage"]],
    ["src/run/cut-streams.test.ts", "openai chat: a stream that ends without an event"],
  ),
  mutation(
    "money: a resumed run forgets the streams that were cut",
    [
      [
        projection,
        "if (record.failed) this.spent.fail(record.usage, record.reserve, record.sample)",
        "if (record.failed) return",
      ],
    ],
    ["src/run/cut-streams.test.ts", "a run that was resumed counts the streams"],
  ),
  mutation(
    "money: bounds that were exceeded stay as they are",
    [[ledger, "timesOver(tokens, bound.tokens)", "1"]],
    ["src/run/cut-streams.test.ts", "a call that exceeds its bound"],
  ),
  mutation(
    "money: an extension's answer that is cut costs nothing",
    [["src/run/extensions/sample.ts", "if (usage && failed) reserved.fail(", "if (usage && failed) void ("]],
    ["src/run/extensions/sample.test.ts", "counts with its whole reserve if its answer is cut"],
  ),
  mutation(
    "money: Pi reserves for the first message only",
    [["src/backends/pi/context.ts", "this.#history.add(turn, message)\n", "void turn\n"]],
    ["src/backends/pi/session.test.ts", "reserves for all that was said before"],
  ),
  mutation(
    "money: tokens of a model without a price cost nothing on Pi",
    [["src/backends/pi/translate.ts", "cost.total > 0 ||", "cost.total >= 0 ||"]],
    ["src/backends/pi/pi.test.ts", "tokens of a model without a price have an unknown cost"],
  ),
  mutation(
    "money: what a crashed session has used without a price is forgotten",
    [["src/run/session/drive.ts", "(await countUnpriced(run)) ?? refuseLimits(run)", "refuseLimits(run)"]],
    ["src/run/session/prices.test.ts", "what crashed sessions have used counts"],
  ),
  mutation(
    "money: a run whose cost nobody knows goes on",
    [
      [
        "src/run/session/prices.ts",
        'if (costUsd === null && config.unknownPrice === "refuse")',
        "if (costUsd === undefined)",
      ],
    ],
    ["src/run/session/prices.test.ts", "whose price is not known, opens no further session"],
  ),
]
