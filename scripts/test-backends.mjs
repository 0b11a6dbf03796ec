// Installs the programs of others that test/backends runs, beside the repository's own packages and only once.
import { installPrograms, pinned } from "./backends/install.mjs"

installPrograms(".backends", pinned)
