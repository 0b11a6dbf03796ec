/** Detected by name: a key, a token, a password. A number of tokens is not a secret. */
export function isSecretName(name: string): boolean {
  return /(keys?|token|secrets?|passwords?|passwd|credentials?)$/i.test(name)
}

/** Replaces every known secret in a text. Values shorter than 8 characters are ordinary words, not secrets. */
export function scrub(text: string, secrets: readonly string[]): string {
  let scrubbed = text
  // Longest first: one may contain another, whose replacement would leave the rest readable.
  const known = secrets.filter(({ length }) => length >= 8).sort((left, right) => right.length - left.length)
  for (const secret of known) scrubbed = scrubbed.replaceAll(secret, "[secret]")
  return scrubbed
}

/** The values of variables whose names say that they are secret. */
export function secretsIn(variables: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(variables).flatMap(([name, value]) => (value && isSecretName(name) ? [value] : []))
}
