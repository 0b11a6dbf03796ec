import { generateKeyPairSync, sign } from "node:crypto"

/** A fresh self-signed certificate for 127.0.0.1 and localhost, with its key. */
export function selfSigned(): { readonly cert: string; readonly key: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" })
  const algorithm = sequence(oid("2a8648ce3d040302")) // ecdsa-with-SHA256
  const name = sequence(tagged(0x31, sequence(oid("550403"), tagged(0x0c, Buffer.from("longhaul test")))))
  const names = sequence(tagged(0x82, Buffer.from("localhost")), tagged(0x87, Buffer.from([127, 0, 0, 1])))
  const authority = sequence(tagged(0x01, Buffer.from([0xff])))
  const content = sequence(
    tagged(0xa0, integer(2)),
    integer(1),
    algorithm,
    name,
    sequence(utcTime(Date.now() - 86_400_000), utcTime(Date.now() + 86_400_000)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(extension("551d11", names), extension("551d13", authority))),
  )
  const signature = tagged(0x03, Buffer.from([0]), sign("sha256", content, privateKey))
  const base64 = sequence(content, algorithm, signature).toString("base64")
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{1,64}/g, "$&\n")}-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  }
}

/** DER: a tag, the length, the content. */
function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, ...parts)
}

function integer(value: number): Buffer {
  return tagged(0x02, Buffer.from([value]))
}

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, "hex"))
}

function utcTime(time: number): Buffer {
  return tagged(0x17, Buffer.from(`${new Date(time).toISOString().slice(2, 19).replace(/[-T:]/g, "")}Z`))
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), tagged(0x04, value))
}
