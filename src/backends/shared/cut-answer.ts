/** Sent after an answer that was cut at the output limit. */
export const CUT_AT_OUTPUT_LIMIT =
  "Your answer was cut at the output limit, and none of its tool calls ran. Continue exactly where it stopped, without " +
  "repeating anything. Split the remaining work into smaller steps."
