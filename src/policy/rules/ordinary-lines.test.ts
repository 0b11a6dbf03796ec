import { expect, test } from "vitest"
import { policyCall, verdictOf } from "../../../test/support/policy-scene.ts"

test.each([
  ["ls > /dev/null", "allow"],
  ["ls 2> /dev/null", "allow"],
  ["ls > out.txt", "deny"],
  ["git diff --output=/dev/null", "allow"],
  ["git diff --output=out.txt", "deny"],
  ["git log /ws/a.txt", "allow"],
  ["git diff --no-index a.txt /ws/a.txt", "deny"],
])("where only ls, git log and git diff are allowed, %s is decided as: %s", async (command, verdict) => {
  const rules = [{ allow: { tool: "Bash", command: ["ls **", "git log **", "git diff **"] } }]
  expect(await verdictOf({ default: "deny", rules }, policyCall("Bash", { command }))).toBe(verdict)
})

test("a rule about the workspace folder itself refuses no command only because it runs there", async () => {
  const rules = [{ deny: { read: "." } }]
  const verdict = (command: string) => verdictOf({ default: "allow", rules }, policyCall("Bash", { command }))
  expect([await verdict("echo hi"), await verdict("cat .")]).toEqual(["allow", "deny"])
})

test("a policy that says nothing about commands leaves those that cannot be read to the tier of their tool", async () => {
  const rules = [{ allow: { tool: "Read" } }]
  expect(await verdictOf({ rules }, policyCall("Bash", { command: "echo 'open" }))).toBe("tier")
  expect(await verdictOf({ rules, unparsed: "ask" }, policyCall("Bash", { command: "echo 'open" }))).toBe("ask")
})

/** What a coding agent runs in a day of work, as written: none of it touches the denied folder. */
const ordinary = `
ls
ls -la src
pwd
cat package.json
cat src/index.ts src/main.ts
head -50 README.md
tail -n 20 build.log
wc -l src/index.ts
echo done
echo "a b" > out.txt
mkdir -p src/new/deep
touch src/new/file.ts
rm src/old.ts
rm -rf dist
mv src/a.ts src/b.ts
cp src/a.ts src/b.ts
cp -r src/lib src/lib2
sed -n 1,80p src/index.ts
sed -i 's/foo/bar/' src/index.ts
awk '{print $1}' data.txt
sort data.txt
sort data.txt | uniq -c | sort -rn | head
cut -d, -f1 data.csv
tr a-z A-Z < README.md
diff src/a.ts src/b.ts
grep -n TODO src/index.ts
grep -rn TODO src
grep -rln "createRuntime" src test
rg TODO src
rg -n "export function" src/lib
find src -name "*.ts"
find src -name "*.ts" | head -20
find src -type f | wc -l
tree src
git status
git status --short
git branch
git branch -a
git log --oneline
git log --oneline -5
git log -3 --stat
git diff src/index.ts
git diff --stat
git add src/index.ts
git add src test
git commit -m "fix: a thing"
git checkout -b work
git switch main
git stash
git stash pop
git fetch
git pull --rebase
git rev-parse HEAD
git remote -v
git blame src/index.ts
git show HEAD:src/index.ts
git tag
git config user.name
npm install
npm ci
npm test
npm run build
npm run lint
npm run test -- src/index.test.ts
npm ls zod
npm view zod version
npx tsc --noEmit
npx vitest run src/index.test.ts
npx biome check src
npx eslint src --fix
npx prettier --write src
node dist/main.js
node -e "console.log(1)"
node scripts/build.mjs
node --version
tsc -p tsconfig.json
yarn install
pnpm install
pnpm -r test
python -m pytest tests
python3 -m pytest tests/test_api.py -k login
pytest -x
pip install -r requirements.txt
python manage.py migrate
python script.py --input data.csv
python3 -c "print(1)"
ruff check src
mypy src
black src
go build ./...
go test ./...
go vet ./...
gofmt -l src
cargo build
cargo test
cargo clippy
make
make test
make -j4
cmake -B build
mvn test
gradle build
docker ps
docker compose up -d
kubectl get pods
terraform plan
curl -s https://api.example.com/health
curl -fsSL https://example.com/data.json -o data.json
wget https://example.com/file.txt
jq . package.json
jq -r .version package.json
cat package.json | jq .scripts
ps aux
df -h
du -sh src
env
which node
date
uname -a
whoami
sleep 1
true
export NODE_ENV=test && npm test
NODE_ENV=test npm test
cd src && ls
cd src && npm test
npm run build && npm test
npm test 2>&1 | tail -20
npm test > test.log 2>&1
for f in src/*.ts; do echo "$f"; done
if [ -f package.json ]; then echo yes; fi
test -d node_modules || npm install
xargs -n1 echo < list.txt
ls src | xargs -n1 basename
printf '%s\\n' a b c
tee out.txt < in.txt
chmod +x scripts/run.sh
./scripts/run.sh
bash scripts/run.sh
sh -c "npm test"
tar -xzf archive.tgz -C vendor
tar -czf out.tgz src
unzip archive.zip -d vendor
zip -r out.zip src
base64 file.bin
md5sum file.bin
sha256sum file.bin
openssl version
ssh -V
sqlite3 app.db "select 1"
psql -c "select 1"
redis-cli ping
kill 1234
time npm test
nohup npm start &
timeout 60 npm test
watch -n1 ls
less README.md
file src/index.ts
stat src/index.ts
readlink src/link
realpath src
basename src/index.ts .ts
dirname src/index.ts
seq 1 10
expr 1 + 2
bc -l
column -t data.txt
paste a.txt b.txt
comm a.txt b.txt
nl src/index.ts
tac build.log
rev data.txt
fold -w 80 README.md
iconv -f latin1 -t utf8 a.txt
xxd file.bin
od -c file.bin
strings file.bin
patch -p1 < fix.patch
git apply fix.patch
git merge work
git rebase main
git cherry-pick abc123
git reset --soft HEAD~1
git restore src/index.ts
git clean -n
git worktree list
gh pr list
gh pr create --fill
npm version patch
npm outdated
npm audit
npm run dev
npx playwright test
npx jest src/index.test.ts
bun test
deno test
ruby -v
bundle install
bundle exec rspec
rails test
php -v
composer install
dotnet build
dotnet test
swift build
java -version
javac Main.java
rustc --version
gcc -o main main.c
g++ -O2 main.cpp -o main
./main
ld --version
nm main
objdump -d main
gdb --version
valgrind ./main
strace -c ls
lsof -i :3000
netstat -an
ip addr
ping -c1 127.0.0.1
dig example.com
nproc
free -m
uptime
history
alias
type node
`
  .trim()
  .split("\n")

test("a rule about paths leaves ordinary commands alone", async () => {
  const rules = [{ deny: { tool: "*", path: "secrets/**" } }]
  const asked: string[] = []
  for (const command of ordinary) {
    const verdict = await verdictOf({ default: "allow", rules }, policyCall("Bash", { command }))
    if (verdict !== "allow") asked.push(command)
  }
  const percent = ((100 * asked.length) / ordinary.length).toFixed(1)
  console.log(`${asked.length} of ${ordinary.length} ordinary commands are asked about (${percent} %)`)
  expect(asked.length).toBeLessThan(ordinary.length / 10)
})
