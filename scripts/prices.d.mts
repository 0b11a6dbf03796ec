export function priceModule(): Promise<string>
