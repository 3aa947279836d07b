/** What one check found. `failed`: the service does not work like this; `warning`: a part of it does not. */
export interface Finding {
  readonly name: string
  readonly status: 'ok' | 'warning' | 'failed'
  readonly message: string
  /** What to do about it. */
  readonly advice?: string
}

export interface Report {
  readonly status: Finding['status']
  readonly findings: readonly Finding[]
  /** Debian packages that would help, each once. */
  readonly packages: readonly string[]
}

const SIGNS = { ok: '  ok  ', warning: ' warn ', failed: 'FAILED' } as const

/** The worst of all findings, and the packages that they ask for. */
export const toReport = (findings: readonly (Finding & { readonly packages?: readonly string[] })[]): Report => {
  const has = (status: Finding['status']): boolean => findings.some((finding) => finding.status === status)
  return {
    status: has('failed') ? 'failed' : has('warning') ? 'warning' : 'ok',
    findings: findings.map(({ packages: _, ...finding }) => finding),
    packages: [...new Set(findings.flatMap(({ status, packages = [] }) => (status === 'ok' ? [] : packages)))].sort(),
  }
}

/** A report for a terminal. */
export const reportText = ({ findings, packages }: Report): string => {
  const width = Math.max(...findings.map(({ name }) => name.length))
  const lines = findings.flatMap(({ name, status, message, advice }) => [
    `[${SIGNS[status]}] ${name.padEnd(width)}  ${message}`,
    ...(advice === undefined ? [] : [`${' '.repeat(width + 11)}→ ${advice}`]),
  ])
  const install = packages.length === 0 ? [] : ['', `sudo apt-get install -y --no-install-recommends ${packages.join(' ')}`]
  return [...lines, ...install, ''].join('\n')
}
