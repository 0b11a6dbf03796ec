/** What a model's tokens cost, in dollars per million. A cache price that is left out is that of input. */
export interface Pricing {
  readonly input: Price
  readonly output: Price
  readonly cacheRead?: Price
  readonly cacheWrite?: Price
  /** Dollars for the call itself, however long. */
  readonly perCall?: number
}

/** A tier counts for all tokens of a call whose whole input is longer than `above`. */
export type Price =
  | number
  | { readonly base: number; readonly tiers: readonly { readonly above: number; readonly price: number }[] }
