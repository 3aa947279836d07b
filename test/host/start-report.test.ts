import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Launch, type MarkedRun, startMarked } from '../helpers/process/marked-run.ts'
import { startService } from '../helpers/process/service.ts'

const EXPIRED = '{"licensee":"x","codecs":["h264"],"max_streams":2,"expires":"2001-01-01"}'

const file = (text: string): string => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-license-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'license.json'), text)
  return join(folder, 'license.json')
}

const started = async (launch: Launch, env: Readonly<Record<string, string>>): Promise<MarkedRun> => {
  const run = await startMarked(launch, env)
  onTestFinished(() => run.clear())
  await run.shows('service_ready')
  return run
}

const keyOf = ({ dataDir }: { dataDir: string }): string => readFileSync(join(dataDir, 'api-key'), 'utf8').trim()

// What a terminal is told to color, and what is not text.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
const SGR = /\u001b\[\d+m/g

describe('the banner of a service that listens on all addresses', () => {
  it('names one that can be opened, for the API explorer too', async () => {
    const run = await started('terminal', {
      TERM: 'xterm',
      NO_COLOR: '1',
      SVC_HOST: '0.0.0.0',
      SVC_PASSWORD: 'correct horse battery staple',
      SVC_PROFILE: 'docs',
      SVC_DOCS_PORT: '0',
    })
    await run.shows('Ctrl-C stops it.')
    const hostOf = (label: string): string | undefined => new RegExp(`^ {2}${label} +http://(.+):\\d+/?\r?$`, 'm').exec(run.output())?.[1]
    expect(['API', 'API docs'].map(hostOf)).toEqual([hostOf('Dashboard'), hostOf('Dashboard')])
    expect([undefined, '0.0.0.0']).not.toContain(hostOf('API docs'))
    run.type('\x03')
    expect(await run.exited).toBe(0)
  })
})

describe('the log of a start', () => {
  it('names address, data directory, engine and where the API key is, and never the key', async () => {
    const service = await startService()
    expect(await service.waitForLog('service_ready')).toMatchObject({
      url: service.url,
      data_dir: service.dataDir,
      api_key_in: join(service.dataDir, 'api-key'),
      gstreamer_version: expect.stringMatching(/^\d+\.\d+/),
    })
    expect(service.log.join('\n')).not.toContain(keyOf(service))
    await service.stop()
    const configured = await startService({ env: { SVC_API_KEY: 'a-key-of-the-environment' } })
    expect(await configured.waitForLog('service_ready')).toMatchObject({ api_key_in: 'SVC_API_KEY' })
    expect(configured.log.join('\n')).not.toContain('a-key-of-the-environment')
    await configured.stop()
  })

  for (const [state, license, reason] of [
    ['expired', EXPIRED, /^It expired on /],
    ['unreadable', '{', /JSON/],
  ] as const) {
    it(`says that the license is ${state}, and why`, async () => {
      const path = file(license)
      const service = await startService({ env: { SVC_LICENSE_FILE: path } })
      expect(await service.waitForLog(`license_${state}`)).toMatchObject({
        level: 'warn',
        file: path,
        reason: expect.stringMatching(reason),
      })
      await service.stop()
    })
  }

  for (const [name, env, colored] of [
    ['in color', { TERM: 'xterm', NO_COLOR: '' }, true],
    ['without color where NO_COLOR is set', { TERM: 'xterm', NO_COLOR: '1' }, false],
  ] as const) {
    it(`is text with a banner on a terminal, ${name}`, async () => {
      const run = await started('terminal', env)
      await run.shows('Ctrl-C stops it.')
      // npm shows the command first, unless it is silent.
      const ours = run.output().split('dist/node.js').at(-1) ?? ''
      expect(ours !== ours.replace(SGR, '')).toBe(colored)
      const lines = ours.replace(SGR, '').split(/\r?\n/)
      expect(lines.slice(lines.findIndex((line) => line.startsWith('  Video Pipeline Service ')) + 1, -1)).toEqual(
        expect.arrayContaining([
          `  Dashboard  ${run.url}/`,
          `  API        ${run.url}`,
          `  API key    ${run.dataDir}/api-key`,
          `  Data       ${run.dataDir}`,
          expect.stringMatching(/^ {2}Engine {5}GStreamer \d/),
        ]),
      )
      expect(lines.filter((line) => /^[\d:.]{12} {2}info {3}(?:api {3}|engine) {2}\w+/.test(line)).length).toBeGreaterThan(2)
      expect(ours).not.toContain(keyOf(run))
      run.type('\x03')
      expect(await run.exited).toBe(0)
    })
  }
})
