import { readFileSync } from 'node:fs'
import type { Configuration } from '../../../lib/configuration/configuration.ts'
import type { runToEnd } from '../../gst/child.ts'
import { openSandbox } from '../../sandbox/sandbox.ts'
import type { Finding } from './report.ts'

const TIMEOUT_MS = 10_000

interface PackagedFinding extends Finding {
  readonly packages?: readonly string[]
}

/** Tries the sandbox of child processes, and whether their arguments can be hidden from other users. */
export const checkSandbox = async (
  { sandbox: mode, dataDir }: Configuration,
  run: typeof runToEnd,
): Promise<readonly PackagedFinding[]> => {
  const host = { hidden: [dataDir], environment: process.env }
  const sandbox = await openSandbox(mode, host, (file, args) => run(file, args, { timeoutMs: TIMEOUT_MS, reach: 'host' }))
  return [toFinding(mode, sandbox), checkArguments()]
}

const toFinding = (mode: Configuration['sandbox'], sandbox: Awaited<ReturnType<typeof openSandbox>>): PackagedFinding => {
  const name = 'sandbox'
  if (sandbox.state === 'on') return { name, status: 'ok', message: 'child processes are confined by bubblewrap' }
  const { reason } = sandbox
  if (sandbox.state === 'off')
    return { name, status: 'warning', message: reason, advice: 'remove SVC_SANDBOX=off to confine child processes' }
  return {
    name,
    status: mode === 'required' ? 'failed' : 'warning',
    message: reason,
    advice: 'until then advanced pipelines are refused, unless SVC_SANDBOX=off accepts the risk',
    ...(reason.includes('not installed') && { packages: ['bubblewrap'] }),
  }
}

/** ptrace(2): from 2 on only root may write to the memory of its children. */
const PTRACE_SCOPE = '/proc/sys/kernel/yama/ptrace_scope'

const checkArguments = (): Finding => {
  const name = 'arguments of processes'
  try {
    const scope = Number(readFileSync(PTRACE_SCOPE, 'utf8'))
    if (scope < 2 || (scope === 2 && process.getuid?.() === 0)) return { name, status: 'ok', message: 'passwords in them are hidden' }
    const advice = 'set kernel.yama.ptrace_scope to 1, or let no other user log in to this host'
    return { name, status: 'warning', message: 'passwords of sources are visible to other users of this host', advice }
  } catch {
    return { name, status: 'ok', message: 'passwords in them are hidden' }
  }
}
