/** The text of a piece of HTML that has no tags. Unknown names stay as they are. */
export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text
  return text.replace(reference, (whole, hex?: string, decimal?: string, name?: string, end?: string) => {
    if (name === undefined) return fromCode(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16))
    // Without its semicolon a name may be the beginning of something else, as in a URL's "&copy=1".
    if (end !== ";" && !mayLackSemicolon.has(name)) return whole
    return named.get(name) ?? whole
  })
}

const reference = /&(?:#x([0-9a-f]{1,8})|#(\d{1,8})|([a-z][a-z0-9]{1,30}))(?:(;)|(?![a-z0-9=]))/gi

/** What these numbers mean in pages that were written on Windows; anywhere else they are control characters. */
const windows = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

function fromCode(code: number): string {
  if (code >= 0x80 && code <= 0x9f) return windows[code - 0x80] ?? "\ufffd"
  const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
  return isCharacter ? String.fromCodePoint(code) : "\ufffd"
}

/** In the order of their codes, from 160 to 255. */
const latin1Names =
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro " +
  "para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil " +
  "Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave " +
  "Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml " +
  "igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute " +
  "thorn yuml"

const basic: readonly (readonly [string, string])[] = [
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ...latin1Names.split(" ").map((name, index) => [name, String.fromCharCode(160 + index)] as const),
]

/** Names and characters in turn. */
const others =
  "apos ' hellip … mdash — ndash – lsquo ‘ rsquo ’ sbquo ‚ ldquo “ rdquo ” bdquo „ lsaquo ‹ rsaquo › bull • dagger † " +
  "Dagger ‡ permil ‰ prime ′ Prime ″ trade ™ euro € larr ← uarr ↑ rarr → darr ↓ harr ↔ lArr ⇐ rArr ⇒ hArr ⇔ minus − " +
  "lowast ∗ radic √ infin ∞ asymp ≈ ne ≠ equiv ≡ le ≤ ge ≥ sum ∑ prod ∏ part ∂ nabla ∇ isin ∈ notin ∉ forall ∀ exist ∃ " +
  "empty ∅ cap ∩ cup ∪ sub ⊂ sup ⊃ sube ⊆ supe ⊇ and ∧ or ∨ int ∫ there4 ∴ sim ∼ cong ≅ oplus ⊕ otimes ⊗ perp ⊥ sdot ⋅ " +
  "alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν xi ξ omicron ο pi π " +
  "rho ρ sigmaf ς sigma σ tau τ upsilon υ phi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ " +
  "Phi Φ Psi Ψ Omega Ω OElig Œ oelig œ Scaron Š scaron š Yuml Ÿ fnof ƒ circ ˆ tilde ˜ loz ◊ spades ♠ clubs ♣ hearts ♥ " +
  "diams ♦ check ✓ star ☆ lbrace { rbrace } lbrack [ rbrack ] lpar ( rpar ) lowbar _ vert | colon : comma , period . " +
  "num # dollar $ percnt % ast * plus + equals = sol / bsol \\ grave ` Hat ^ commat @ excl ! quest ? semi ;"

const named: ReadonlyMap<string, string> = new Map([
  ...basic,
  ...others
    .split(" ")
    .flatMap((word, index, words) => (index % 2 === 0 ? [[word, words[index + 1] ?? ""] as const] : [])),
  ...["ensp", "emsp", "thinsp", "NewLine", "Tab"].map((name) => [name, " "] as const),
  ...["zwnj", "zwj", "lrm", "rlm"].map((name) => [name, ""] as const),
])

/** As ever: pages older than the rule are still read. */
const mayLackSemicolon: ReadonlySet<string> = new Set(basic.map(([name]) => name))
