/** Detected by name: a key, a token, a password. A number of tokens is not a secret. */
export function isSecretName(name: string): boolean {
  return /(keys?|token|secrets?|passwords?|passwd|passphrase|credentials?|authorization|cookie)$/i.test(name)
}

/**
 * True if an undeclared value has to be masked: it looks like a credential, or its name says so and it is not a common word.
 * Everything else is ordinary text, which files contain, too: masked in what a model reads, it would be written back as a reference.
 */
export function isCredential(name: string, value: string): boolean {
  const text = value.trim()
  if (looksLikeCredential(name, text)) return true
  return (isSecretName(name) || /(^|[_-])(pass|auth|pat)$/i.test(name)) && !isCommon(text)
}

/** A part of letters and digits that no person would choose: keys, tokens, digests. */
function looksLikeCredential(name: string, value: string): boolean {
  if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)) return false
  if (/^[0-9a-f]+$/i.test(value) && /(sha|commit|digest|hash|revision|checksum|version)\d*$/i.test(name)) return false
  return value.split(/[^A-Za-z0-9]+/).some(isRandom)
}

function isRandom(part: string): boolean {
  if (part.length < MIN_RANDOM_LENGTH) return false
  const switches = part.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0
  if (switches >= 4 || (switches === 3 && part.length >= 12) || (switches > 0 && part.length >= 20)) return true
  const capitals = (part.match(/[A-Z]/g)?.length ?? 0) / part.length
  return part.length >= 20 && capitals > 0.25 && capitals < 0.75
}

/** One or two words, names of places and modes, dates, numbers and versions. */
function isCommon(value: string): boolean {
  const parts = value.toLowerCase().split(/[^\p{L}\p{N}]+/u)
  return (
    parts.length <= 2 &&
    parts.every((part) => /^v?\d{0,8}$/.test(part) || commonWords.has(part.replace(/\d{1,4}$/, "")))
  )
}

const MIN_RANDOM_LENGTH = 8

/** Words that are common in configuration and code. */
const commonWords: ReadonlySet<string> = new Set(
  `access account accounts action active admin administrator age agent all allow alpha always amount and anonymous any anyone api app apple
  application apps archive area arn asia async auth authorization auto automatic aws azure b backend backup bar base basic bearer beta
  binary blue board body bool boolean branch browser bucket build by bytes c cache cancelled ca canada category central change changeme changes
  channel chat check city class client cloud cluster code color com common commit company complete config configuration connection console
  container content control cookie core count country create created credential credentials cron customer customers d daily dark data database date
  db debug default delete deleted demo deny deploy deployment description dev developer development device digest disable disabled disk
  display docker docs document domain done draft driver dummy e east edge email embedded empty en enable enabled end endpoint engine english
  env environment error errors eu europe event events every example examples expires export external extra false fast feature file files
  first folder foo format forward foundation free from frontend full function gateway gcp general german get git github gitlab global go google
  graph gray green group groups guest hash hello help high home host hostname hosts hour hourly html http https id identifier ids image images
  import in index info information inherit init initial input integer integration internal invalid io is item items java javascript job jobs json
  kafka key keys kind kubernetes label language large last latest legacy letmein level library light limit line link linux list live local localhost location
  lock log logger login logs long low mac machine main manual map master max me media medium member memory message messages meta metadata
  metrics min minimal minute mock mode model module monitor month mysql name names namespace native net network never new next no node none
  normal north not note notes null number object of off offline oidc on online open openai option options or order orders org organization origin
  other output owner package page parent partner pass passphrase passthrough password path pending people per permission person phone pipeline plain platform
  plugin pod policy pool port postgres postgresql preview primary print private prod product production products profile program project projects
  proxy public publish pull push python qa query queue quick qwerty random rate read readonly ready real record red redis region regular release
  remote remove replace replica repo report repository request required research reserved reset resource response rest result retry role root route
  row ruby rule run runner runtime safe sales sample sandbox save scheduled schema scope script search second secondary secret secrets section
  secure select self send sender server service services session set setting settings shared shell short show simple single site size sku small smtp
  snapshot software source south sql sqlite ssl stable stack staff stage staging standalone standard start state static status step store strict string
  strong style sub subject success support swagger sync system table tag target task tcp team temp template tenant term test tester testing
  tests text theme this time timeout timestamp title tls to todo token tokens tool top topic total trace track traffic trial true type ubuntu uk unit
  universal unknown unset update upload uri url us usa usd user username users utc utf utils value values variable vendor verbose version
  video view viewer virtual visitor volume warn warning web webhook week weekly welcome west white widget windows word work worker workflow
  workspace world write www xml year yellow yes your my our at as if zone`.split(/\s+/),
)
