/** By its name: a key, a token, a password. A number of tokens is none. */
export function isSecretName(name: string): boolean {
  return /(keys?|token|secrets?|passwords?|passwd|credentials?)$/i.test(name)
}

/** Replaces every known secret in a text. What is shorter than 8 characters is a word, and no secret. */
export function scrub(text: string, secrets: readonly string[]): string {
  let scrubbed = text
  // The longest first: one may hold another, whose mark would leave the rest of it readable.
  const known = secrets.filter(({ length }) => length >= 8).sort((left, right) => right.length - left.length)
  for (const secret of known) scrubbed = scrubbed.replaceAll(secret, "[secret]")
  return scrubbed
}

/** The values of variables whose names say that they are secret. */
export function secretsIn(variables: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(variables).flatMap(([name, value]) => (value && isSecretName(name) ? [value] : []))
}
