/** Token prices of a model, in dollars per million. An omitted cache price equals the input price. */
export interface Pricing {
  readonly input: Price
  readonly output: Price
  readonly cacheRead?: Price
  readonly cacheWrite?: Price
  /** Dollars per call, regardless of length. */
  readonly perCall?: number
}

/** A tier applies to all tokens of a call whose whole input is longer than `above`. */
export type Price =
  | number
  | { readonly base: number; readonly tiers: readonly { readonly above: number; readonly price: number }[] }
