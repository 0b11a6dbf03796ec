/** The run's own records and its control files. Matched as loosely as any file system compares names. */
export function isOurs(name: string): boolean {
  const plain = name
    .normalize("NFKC")
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toLowerCase()
  return plain === ".longhaul" || /^longhaul\.(config|policy)\./.test(plain)
}

/** True if a path, as names from a root, leads to one of ours. Tools may read skills there, and never change them. */
export function leadsToOurs(names: readonly string[], access: "read" | "write"): boolean {
  const isSkill = access === "read" && names[0] === ".longhaul" && names[1] === "skills"
  return names.slice(isSkill ? 2 : 0).some(isOurs)
}
