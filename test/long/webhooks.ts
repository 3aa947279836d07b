/**
 * Webhooks to receivers that fail, hang, redirect and go away, while the API is killed (SIGKILL) at random moments: each event at least
 * once, in order per pipeline, signed. webhooks [EVENTS = 100000] [SEED]
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runWebhookStorm } from '../helpers/service/webhook-storm.ts'

const [events = 100_000, seed = Date.now() % 1e9] = process.argv.slice(2).map(Number)
const dataDir = mkdtempSync(join(tmpdir(), 'svc-webhooks-'))
const begun = performance.now()
const report = await runWebhookStorm({
  dataDir,
  events,
  kills: Math.max(1, Math.round(events / 1000)),
  pipelines: 20,
  seed,
  hangs: true,
  awayMs: 8000,
})
process.stdout.write(`${JSON.stringify({ ...report, seconds: Math.round((performance.now() - begun) / 1000) }, null, 1)}\n`)
assert.deepEqual(
  report.receivers.flatMap(({ faults }) => faults),
  [],
)
assert.deepEqual(report.dropped, [])
rmSync(dataDir, { recursive: true, force: true })
