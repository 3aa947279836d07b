/**
 * A thousand wrong logins at once: how long their answers take, what they cost, and whether others are served meanwhile.
 * login-load [LOGINS] [ROUNDS]
 * The service runs as it is built. Every login comes from another address, as the limit per client would end it too soon.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cpuSeconds } from '../../helpers/bench/measure.ts'
import { watchedLoops, watchLoops } from '../../helpers/bench/watch-loops.ts'
import { startService } from '../../helpers/process/service.ts'

const LOGINS = Number(process.argv[2] ?? 1000)
const ROUNDS = Number(process.argv[3] ?? 5)
const PASSWORD = 'correct horse battery staple'

interface Timed {
  readonly status: number
  readonly ms: number
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

const ask = (url: string, method: string, headers: Record<string, string>, body = ''): Promise<Timed & { readonly text: string }> =>
  new Promise((resolve, reject) => {
    const began = performance.now()
    const sent = request(url, { method, agent, headers: { ...headers, 'content-length': body.length } }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, ms: performance.now() - began, text }))
    })
    sent.once('error', reject)
    sent.end(body)
  })

const megabytes = (pid: number, field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((one, other) => one - other)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN

const summary = (timed: readonly Timed[]): string => {
  const ms = timed.map((one) => one.ms)
  return `${timed.length}: median ${quantile(ms, 0.5).toFixed(1)} ms, p99 ${quantile(ms, 0.99).toFixed(1)} ms, longest ${quantile(ms, 1).toFixed(1)} ms`
}

const blocks = mkdtempSync(join(tmpdir(), 'bench-blocks-'))
const dataDir = mkdtempSync(join(tmpdir(), 'bench-logins-'))
const service = await startService({
  dataDir,
  env: { SVC_TRUST_PROXY: '1', SVC_API_KEY: 'the-key-of-the-measurement', ...watchedLoops(blocks) },
}).catch((error: unknown) => {
  rmSync(dataDir, { recursive: true, force: true })
  throw error
})
const key = { 'x-api-key': 'the-key-of-the-measurement' }

const attack = async (round: number): Promise<readonly Timed[]> =>
  Promise.all(
    Array.from({ length: LOGINS }, (_, at) =>
      ask(
        `${service.url}/svc/auth/login`,
        'POST',
        { 'x-forwarded-for': `10.${round}.${Math.floor(at / 250)}.${at % 250}` },
        '{"password":"a guess that is wrong"}',
      ),
    ),
  )

const measure = async (round: number): Promise<void> => {
  const cpu = cpuSeconds(service.pid)
  const longestBlock = await watchLoops([service.pid], blocks)
  let attacking = true
  const others: Timed[] = []
  const bystander = (async () => {
    while (attacking) {
      others.push(await ask(`${service.url}/svc/settings`, 'GET', key))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })()
  const began = performance.now()
  const answers = await attack(round)
  const seconds = (performance.now() - began) / 1000
  attacking = false
  await bystander
  console.log(`round ${round}: ${LOGINS} logins in ${seconds.toFixed(2)} s, ${(cpuSeconds(service.pid) - cpu).toFixed(2)} CPU s`)
  for (const status of new Set(answers.map((answer) => answer.status))) {
    console.log(`  ${status} ${summary(answers.filter((answer) => answer.status === status))}`)
  }
  console.log(`  others: ${[...new Set(others.map(({ status }) => status))]} ${summary(others)}`)
  console.log(
    `  event loop stood still at most ${(await longestBlock()).toFixed(1)} ms, resident ${megabytes(service.pid, 'VmRSS').toFixed(0)} MB, at most ${megabytes(service.pid, 'VmHWM').toFixed(0)} MB`,
  )
}

try {
  await ask(`${service.url}/svc/auth/password`, 'PUT', key, JSON.stringify({ password: PASSWORD }))
  console.log(`resident before: ${megabytes(service.pid, 'VmRSS').toFixed(0)} MB`)
  for (let round = 1; round <= ROUNDS; round += 1) await measure(round)
} finally {
  agent.destroy()
  await service.stop()
  for (const folder of [dataDir, blocks]) rmSync(folder, { recursive: true, force: true })
}
