import { existsSync } from "node:fs"

/** Where a gate asks. Written to a file that only this user can read, so that the token is in no argument. */
export function gateAddress(url: string, token: string): string {
  return `${new URL(url).port} ${token}\n`
}

/**
 * The command of `Loopback.gate`: passes its input to the service and prints the answer. Anything but a complete answer ends it with 2,
 * which blocks. It runs before each call of a vendor's tool, so it is a shell script where there is a bash: Node takes ten times as
 * long to start. With `-p`, the shell takes no functions, options and start files from its environment.
 */
export function gateCommand(file: string): readonly string[] {
  const bash = ["/bin/bash", "/usr/bin/bash"].find((path) => existsSync(path))
  return bash === undefined ? nodeGate(file) : [bash, "--noprofile", "--norc", "-pc", shellProgram, "gate", file]
}

export function nodeGate(file: string): readonly string[] {
  return [process.execPath, "--input-type=module", "-e", nodeProgram, file]
}

/** Shorter than the time after which a vendor runs a call without an answer. */
const MAX_SECONDS = 540

// HTTP/1.0, so that the answer comes in one piece. An answer that is cut off would let a call pass: its length is checked.
const shellProgram = `
LC_ALL=C
PATH=/usr/bin:/bin
IFS=' ' read -r port token < "$1" || exit 2
body=$(cat) || exit 2
exec 3<>"/dev/tcp/127.0.0.1/$port" || exit 2
printf 'POST /gate HTTP/1.0\\r\\nhost: 127.0.0.1:%s\\r\\nauthorization: Bearer %s\\r\\ncontent-type: application/json\\r\\ncontent-length: %s\\r\\n\\r\\n%s' "$port" "$token" "\${#body}" "$body" >&3 || exit 2
IFS=' ' read -r -t ${MAX_SECONDS} _ status _ <&3 || exit 2
[ "$status" = 200 ] || exit 2
size=
while IFS=$': \\r' read -r -t ${MAX_SECONDS} name value <&3; do
  [ -z "$name" ] && break
  case $name in content-length | Content-Length) size=$value ;; esac
done
[ -n "$size" ] || exit 2
IFS= read -r -t ${MAX_SECONDS} -d '' answer <&3
[ "\${#answer}" -eq "$size" ] || exit 2
case $answer in '{'*'}') ;; *) exit 2 ;; esac
printf '%s' "$answer" || exit 2
`

const nodeProgram = `
import { readFileSync } from "node:fs"
import { request } from "node:http"
const refuse = () => process.exit(2)
process.on("uncaughtException", refuse)
setTimeout(refuse, ${MAX_SECONDS * 1000}).unref()
const [port, token] = readFileSync(process.argv[1], "utf8").trim().split(" ")
const headers = { authorization: "Bearer " + token, "content-type": "application/json" }
const asked = request({ host: "127.0.0.1", port, path: "/gate", method: "POST", headers }, (answer) => {
  let text = ""
  answer.setEncoding("utf8").on("data", (part) => { text += part }).on("error", refuse)
  answer.on("aborted", refuse).on("end", () => {
    if (answer.statusCode !== 200 || !JSON.parse(text) || !text.startsWith("{")) return refuse()
    process.stdout.write(text, () => process.exit(0))
  })
})
asked.on("error", refuse)
asked.end(readFileSync(0))
`
