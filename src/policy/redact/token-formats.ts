/** A format of tokens that is recognised without knowing the token. */
export interface TokenFormat {
  readonly name: string
  /** At least three characters, all of which every token has at its start. */
  readonly prefixes: readonly string[]
  /** Sticky. Linear: what is repeated never overlaps what follows it. The first group stays readable. */
  readonly pattern: RegExp
  /** Sticky: matches a text that more characters could complete. */
  readonly unfinished: RegExp
  /** The prefix may follow a letter or a digit. */
  readonly anywhere?: boolean
  /** The prefix may not follow a dash either. */
  readonly whole?: boolean
  /** Characters in front of the prefix that belong to the token. */
  readonly reaches?: RegExp
}

const X = "[A-Za-z0-9]"
const W = "[A-Za-z0-9_-]"

export const tokenFormats: readonly TokenFormat[] = [
  format("anthropic", `sk-ant-${W}{20,}`, ["sk-"]),
  format("openai", `sk-(?:proj|svcacct|admin)-${W}{20,}`, ["sk-"]),
  format("openrouter", `sk-or-${W}{20,}`, ["sk-"]),
  format("openai", `T3BlbkFJ${X}{10,}`, ["T3B"], { anywhere: true, reaches: /[\w-]/ }),
  format("google", `AIza${W}{35,}`, ["AIz"]),
  format("google-oauth", `ya29\\.${W}{20,}`, ["ya2"]),
  format("google-oauth", `GOCSPX-${W}{20,}`, ["GOC"]),
  format("aws", "A[KS]IA[A-Z2-7]{16,}", ["AKI", "ASI"]),
  format("azure-storage", "(AccountKey=)[A-Za-z0-9+/=]{40,}", ["Acc"]),
  format("azure-sas", "(sig=)[A-Za-z0-9%]{40,}", ["sig"]),
  format("github", `gh[pousr]_${X}{36,}`, ["ghp", "gho", "ghu", "ghs", "ghr"]),
  format("github", "github_pat_\\w{50,}", ["git"]),
  format("gitlab", `gl(?:pat|dt|rt|cbt|ptt)-${W}{20,}`, ["glp", "gld", "glr", "glc"]),
  format("npm", `npm_${X}{36,}`, ["npm"]),
  format("pypi", `pypi-${W}{50,}`, ["pyp"]),
  format("slack", `x(?:ox[abeprs]|app)[.-]${W}{20,}`, ["xox", "xap"]),
  format("slack", "(hooks\\.slack\\.com/)[\\w/-]{20,}", ["hoo"]),
  format("discord", "(discord(?:app)?\\.com/api/webhooks/)[\\w/-]{20,}", ["dis"]),
  format("stripe", `[rs]k_(?:live|test)_${X}{16,}`, ["sk_", "rk_"]),
  format("webhook", "whsec_[\\w+/=-]{20,}", ["whs"]),
  format("sendgrid", `SG\\.${W}{16,}\\.${W}{16,}`, ["SG."], { whole: true }),
  format("mailgun", "key-[0-9a-f]{32,}", ["key"]),
  format("huggingface", `hf_${X}{30,}`, ["hf_"]),
  format("groq", `gsk_${X}{30,}`, ["gsk"]),
  format("xai", `xai-${X}{40,}`, ["xai"]),
  format("replicate", `r8_${X}{30,}`, ["r8_"]),
  format("databricks", "dapi[0-9a-f]{32,}", ["dap"]),
  format("digitalocean", "do[opr]_v1_[0-9a-f]{64,}", ["doo", "dop", "dor"]),
  format("doppler", `dp\\.(?:pt|st|ct|sa|scim|audit)\\.${W}{30,}`, ["dp."]),
  format("linear", `lin_api_${X}{30,}`, ["lin"]),
  format("notion", `(?:ntn|secret)_${X}{40,}`, ["ntn", "sec"]),
  format("shopify", "shp(?:at|ss|ca|pa)_[0-9a-f]{32,}", ["shp"]),
  format("postman", `PMAK-${W}{40,}`, ["PMA"]),
  format("vault", `hv[sb]\\.${W}{40,}`, ["hvs", "hvb"]),
  format("supabase", "sbp_[0-9a-f]{40,}", ["sbp"]),
  format("atlassian", "ATATT3[\\w=-]{50,}", ["ATA"]),
  format("telegram", `(:)AA${W}{33,}`, [":AA"], { anywhere: true }),
  format("resend", `rl_${X}{24,}`, ["rl_"]),
  format("jwt", `eyJ${W}{8,}\\.eyJ${W}{8,}\\.${W}{8,}`, ["eyJ"], { whole: true }),
  // Words such as "basic internationalization" have neither a digit nor a capital inside.
  format(
    "authorization",
    "((?:[Bb]earer|BEARER|[Bb]asic|BASIC) )(?=.[\\w+/.~=-]*[0-9A-Z=])[\\w+/.~=-]{16,}",
    schemes(),
    {
      unfinished: /[A-Za-z]*(?: [^\s"'`<>(){}[\],;|]*)?$/y,
    },
  ),
  format("url", "(://[^\\s/@:\"'<>{}]{0,128}:)[^\\s/@\"'<>{}]{1,256}(?=@)", ["://"], { anywhere: true }),
  // A key without its end is cut: the part that is present is masked anyway.
  format(
    "private-key",
    "-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----" +
      "(?:(?:[^-]|-(?!----)){0,16384}-----END [A-Z ]{0,60}-----|(?:(?:\\s|\\\\[rn]){1,4}[A-Za-z0-9+/=]{1,128}){0,512})",
    ["---"],
    {
      anywhere: true,
      unfinished: /-{3,5}$|-----B[A-Z ]{0,60}-{0,5}$|-----BEGIN (?!.*-----END [A-Z ]{0,60}-----).*$/sy,
    },
  ),
]

type Special = Partial<Pick<TokenFormat, "unfinished" | "anywhere" | "whole" | "reaches">>

function format(name: string, pattern: string, prefixes: readonly string[], special: Special = {}): TokenFormat {
  // Its own objects for each format: a sticky expression has a state.
  return { name, prefixes, pattern: new RegExp(pattern, "y"), unfinished: /[^\s"'`<>(){}[\],;|]*$/y, ...special }
}

function schemes(): readonly string[] {
  return ["Bea", "bea", "BEA", "Bas", "bas", "BAS"]
}
