import { crc32 } from "../../src/lib/crc32.ts"

/** A Word document with these paragraphs; a style such as `Heading1` before its text. `declared`: the size that its entries claim. */
export function docxWith(
  paragraphs: readonly (readonly [style: string, text: string])[],
  declared?: number,
): Uint8Array {
  const body = paragraphs.map(
    ([style, text]) =>
      `<w:p>${style === "" ? "" : `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`}<w:r><w:t>${text}</w:t></w:r></w:p>`,
  )
  const types = "http://schemas.openxmlformats.org"
  const styles = [1, 2, 3].map(
    (level) => `<w:style w:type="paragraph" w:styleId="Heading${level}"><w:name w:val="heading ${level}"/></w:style>`,
  )
  return zip(
    {
      "[Content_Types].xml": `<Types xmlns="${types}/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>`,
      "_rels/.rels": `<Relationships xmlns="${types}/package/2006/relationships"><Relationship Id="r1" Type="${types}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
      "word/styles.xml": `<w:styles xmlns:w="${types}/wordprocessingml/2006/main">${styles.join("")}</w:styles>`,
      "word/document.xml": `<w:document xmlns:w="${types}/wordprocessingml/2006/main"><w:body>${body.join("")}</w:body></w:document>`,
    },
    declared,
  )
}

/** A ZIP archive of files that are not compressed. */
function zip(files: Readonly<Record<string, string>>, declared?: number): Uint8Array {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const [name, text] of Object.entries(files)) {
    const [title, content] = [Buffer.from(name), Buffer.from(text)]
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt32LE(crc32(content), 10)
    fields.writeUInt32LE(content.length, 14)
    fields.writeUInt32LE(declared ?? content.length, 18)
    fields.writeUInt16LE(title.length, 22)
    parts.push(Buffer.from("PK\x03\x04", "latin1"), fields, title, content)
    const offset = Buffer.alloc(14)
    offset.writeUInt32LE(at, 10)
    directory.push(Buffer.from("PK\x01\x02\x14\x00", "latin1"), fields, offset, title)
    at += 30 + title.length + content.length
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0)
  const end = Buffer.alloc(22)
  end.write("PK\x05\x06", "latin1")
  const count = Object.keys(files).length
  end.writeUInt16LE(count, 8)
  end.writeUInt16LE(count, 10)
  end.writeUInt32LE(size, 12)
  end.writeUInt32LE(at, 16)
  return new Uint8Array(Buffer.concat([...parts, ...directory, end]))
}
