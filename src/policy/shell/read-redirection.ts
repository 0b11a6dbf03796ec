import type { HereDoc, Redirection } from "unbash"
import type { Listing } from "./listing.ts"
import { checkQuotedText } from "./literal-text.ts"
import { readWord, visitParts, type WordVisitor } from "./read-word.ts"
import { reject, rejectDifference } from "./unreadable.ts"

/** Adds the file that a redirection opens. Descriptors and `/dev/null` are harmless and not listed. */
export function readRedirection(
  node: Redirection,
  listing: Listing,
  visitor: WordVisitor,
  isInSubstitution: boolean,
): void {
  if (node.descriptor?.type === "FileDescriptorVariable") rejectDifference("{name}>")
  if (node.descriptor?.type === "FileDescriptor" && node.descriptor.value > 9) {
    rejectDifference("descriptors with two digits")
  }
  if (node.type === "HereString") rejectDifference("<<<")
  if (node.type === "HereDoc") {
    readHereDocument(node, listing, visitor, isInSubstitution)
    return
  }
  const { operator } = node
  if (operator === "&>" || operator === "&>>") rejectDifference(operator)
  if (node.target === undefined) reject("a redirection has no target")
  const target = readWord(node.target, visitor)
  if (operator === ">&" || operator === "<&") {
    if (!/^[0-9-]$/.test(node.target.text)) rejectDifference(`${operator} with a file`)
    return
  }
  if (!target.isFixed || target.text !== "/dev/null") {
    if (/^\/dev\/(tcp|udp)\//.test(target.text)) rejectDifference("network addresses below /dev")
    if (operator === "<" || operator === "<>") listing.addRedirect("read", target)
    if (operator !== "<") listing.addRedirect("write", target)
  }
}

function readHereDocument(node: HereDoc, listing: Listing, visitor: WordVisitor, isInSubstitution: boolean): void {
  const { delimiter, body, closing } = node
  if (delimiter === undefined || closing === undefined) reject("a here-document has no end")
  if (!/^(\\?[\w.-]+|'[\w.-]+'|"[\w.-]+")$/.test(delimiter.text)) {
    rejectDifference(`the end of a here-document ${delimiter.text}`)
  }
  listing.hereDocuments++
  if (isInSubstitution) listing.hereDocumentsInSubstitutions++
  // Shells disagree on which text belongs to which of them.
  if (listing.hereDocuments > 1 && listing.hereDocumentsInSubstitutions > 0) {
    rejectDifference("several here-documents, one of them in a substitution,")
  }
  // Older versions of bash look for the end of the substitution in the document: its quotes and parentheses must be closed.
  if (isInSubstitution && /['"`()#\\]/.test(body.text.replace(/\([^()'"`#\\]*\)/g, ""))) {
    rejectDifference("quotes or parentheses of a here-document inside a substitution")
  }
  if (delimiter.quoted) return
  // A joined line may hide or produce the end of the document.
  if (body.text.includes("\\\n")) rejectDifference("a here-document with joined lines")
  if (body.parts) visitParts(body.parts, visitor, true)
  else checkQuotedText(body.text, true)
}
