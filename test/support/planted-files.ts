const planted = `'{ "system": "PLANTED" }'`

/**
 * Ways for a command to plant a config file, and the folder from which a later run would find it. At the top is a file
 * of the user, which a sandbox keeps unchanged.
 */
export const attemptsToPlant: readonly (readonly [what: string, line: string, folder: string])[] = [
  ["a new file in a subfolder", `printf %s ${planted} > sub/longhaul.config.json`, "sub"],
  ["a new file in a new folder", `mkdir -p a/b && printf %s ${planted} > a/b/longhaul.config.json`, "a/b"],
  ["a file that is moved into place", `printf %s ${planted} > x && mv x sub/longhaul.config.json`, "sub"],
  ["a hard link", `printf %s ${planted} > x && ln x sub/longhaul.config.json`, "sub"],
  ["a link", `printf %s ${planted} > x && ln -s ../x sub/longhaul.config.json`, "sub"],
  [
    "a folder that is renamed",
    `mkdir old && printf %s ${planted} > old/longhaul.config.json && rmdir sub && mv old sub`,
    "sub",
  ],
  [
    "a link to a folder",
    `mkdir old && printf %s ${planted} > old/longhaul.config.json && rmdir sub && ln -s old sub`,
    "sub",
  ],
  ["a pipe, which would block its reader", "mkfifo sub/longhaul.config.json", "sub"],
  ["a folder of that name", "mkdir sub/longhaul.config.json", "sub"],
  ["a folder that is opened to all", `chmod o+w . sub; printf %s ${planted} > sub/longhaul.config.json`, "sub"],
  [
    "a repository of its own",
    `git init -q sub 2>/dev/null || mkdir sub/.git; printf %s ${planted} > sub/longhaul.config.json`,
    "sub",
  ],
]
