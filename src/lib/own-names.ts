/** The run's own records and its control files. Matched as loosely as any file system compares names. */
export function isOurs(name: string): boolean {
  const plain = name
    .normalize("NFKC")
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toLowerCase()
  return plain === ".longhaul" || /^longhaul\.(config|policy)\./.test(plain)
}
