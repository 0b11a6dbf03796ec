const HARMLESS = /^(LANG|LC_\w+|TZ|TERM|CI|NO_COLOR|FORCE_COLOR)$/
const SETTING =
  /^(COLUMNS|DEBIAN_FRONTEND|DEBUG|GOARCH|GOOS|HOST|LINES|LOG_LEVEL|NODE_ENV|PORT|PYTHONUNBUFFERED|RUST_BACKTRACE|RUST_LOG|VERBOSE)$/
const LOCAL = /^([a-z][a-z0-9]*|[A-Z])$/

/** Variables that change only what a program prints. */
export function isHarmless(name: string): boolean {
  return HARMLESS.test(name)
}

/**
 * False for known settings, and for names such as `f` and `file`, which lines use for themselves. Programs start what many others
 * name (`BASH_ENV`, `GIT_EXTERNAL_DIFF`, `RUSTC_WRAPPER`), or look there for what they start (`PATH`, `HOME`).
 */
export function mayStartPrograms(name: string): boolean {
  return !isHarmless(name) && !SETTING.test(name) && !LOCAL.test(name)
}
