/** The result of one check. `failed`: the service does not work; `warning`: a part of it does not work. */
export interface Finding {
  readonly name: string
  readonly status: 'ok' | 'warning' | 'failed'
  readonly message: string
  /** What to do. */
  readonly advice?: string
}

interface Report {
  readonly status: Finding['status']
  readonly findings: readonly Finding[]
  /** Missing Debian packages, each once. */
  readonly packages: readonly string[]
}

const LABELS = { ok: '  ok  ', warning: ' warn ', failed: 'FAILED' } as const

/** The worst status of all findings, and the packages they need. */
export const toReport = (findings: readonly (Finding & { readonly packages?: readonly string[] })[]): Report => {
  const has = (status: Finding['status']): boolean => findings.some((finding) => finding.status === status)
  return {
    status: has('failed') ? 'failed' : has('warning') ? 'warning' : 'ok',
    findings: findings.map(({ packages: _, ...finding }) => finding),
    packages: [...new Set(findings.flatMap(({ status, packages = [] }) => (status === 'ok' ? [] : packages)))].sort(),
  }
}

/** The report as text for a terminal. */
export const reportText = ({ findings, packages }: Report): string => {
  const width = Math.max(...findings.map(({ name }) => name.length))
  const lines = findings.flatMap(({ name, status, message, advice }) => [
    `[${LABELS[status]}] ${name.padEnd(width)}  ${message}`,
    ...(advice === undefined ? [] : [`${' '.repeat(width + 11)}→ ${advice}`]),
  ])
  const install = packages.length === 0 ? [] : ['', `sudo apt-get install -y --no-install-recommends ${packages.join(' ')}`]
  return [...lines, ...install, ''].join('\n')
}
