/** SHA-256 as hex. Synchronous, so that digests of a step's calls do not cost a turn of the event loop each. */
export function sha256(text: string): string {
  const message = new TextEncoder().encode(text)
  const blocks = ((message.length + 8) >>> 6) + 1
  const padded = new Uint8Array(blocks * 64)
  padded.set(message)
  padded[message.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setUint32(padded.length - 8, Math.floor(message.length / 0x20000000))
  view.setUint32(padded.length - 4, message.length << 3)

  const hash = Int32Array.from(initial)
  const words = new Int32Array(64)
  for (let block = 0; block < blocks; block++) compress(hash, words, view, block * 64)
  return Array.from(hash, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("")
}

function compress(hash: Int32Array, words: Int32Array, view: DataView, offset: number): void {
  for (let index = 0; index < 16; index++) words[index] = view.getInt32(offset + index * 4)
  for (let index = 16; index < 64; index++) {
    const early = words[index - 15] as number
    const late = words[index - 2] as number
    const sigma0 = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3)
    const sigma1 = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10)
    words[index] = ((words[index - 16] as number) + sigma0 + (words[index - 7] as number) + sigma1) | 0
  }
  let a = hash[0] as number
  let b = hash[1] as number
  let c = hash[2] as number
  let d = hash[3] as number
  let e = hash[4] as number
  let f = hash[5] as number
  let g = hash[6] as number
  let h = hash[7] as number
  for (let index = 0; index < 64; index++) {
    const sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const choice = (e & f) ^ (~e & g)
    const first = (h + sum1 + choice + (constants[index] as number) + (words[index] as number)) | 0
    const sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const majority = (a & b) ^ (a & c) ^ (b & c)
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + sum0 + majority) | 0
  }
  ;[a, b, c, d, e, f, g, h].forEach((word, index) => {
    hash[index] = ((hash[index] as number) + word) | 0
  })
}

function rotate(value: number, bits: number): number {
  return (value >>> bits) | (value << (32 - bits))
}

/** Fractional parts of the square and cube roots of the first primes, as FIPS 180-4 defines the constants. */
const primes = firstPrimes(64)
const initial = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)))
const constants = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)))

function fraction(root: number): number {
  return ((root - Math.floor(root)) * 0x100000000) | 0
}

function firstPrimes(count: number): number[] {
  const found: number[] = []
  for (let candidate = 2; found.length < count; candidate++) {
    if (found.every((prime) => candidate % prime !== 0)) found.push(candidate)
  }
  return found
}
