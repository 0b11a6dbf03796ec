/** SHA-256 as hex. Synchronous, so that digests of a step's calls do not each cost an event loop iteration. */
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
    // Safe: the words before it are filled.
    const early = words[index - 15] as number
    const late = words[index - 2] as number
    const before = ((words[index - 16] as number) + (words[index - 7] as number)) | 0
    const sigma0 = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3)
    const sigma1 = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10)
    words[index] = (before + sigma0 + sigma1) | 0
  }
  // Safe: a hash has eight words.
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
    // Safe: both have 64 words.
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
    // Safe: a hash has eight words.
    hash[index] = ((hash[index] as number) + word) | 0
  })
}

function rotate(value: number, bits: number): number {
  return (value >>> bits) | (value << (32 - bits))
}

/** The initial hash value of FIPS 180-4: bits of the square roots of the first 8 primes. */
// biome-ignore format: eight words a line, as the standard prints them
const initial = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
]

/** The round constants of FIPS 180-4: bits of the cube roots of the first 64 primes. */
// biome-ignore format: eight words a line, as the standard prints them
const constants = Int32Array.from([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
])
