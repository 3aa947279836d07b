import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { CONFIGURATION_VARIABLES } from '../../lib/configuration.ts'
import { startService } from '../helpers/process/service.ts'

const run = promisify(execFile)
const README = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8')

/** The shell lines of a section, as a user would paste them. */
const shellLines = (heading: string): readonly string[] => {
  const section = README.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  return [...section.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.split('\n').filter((line) => line !== ''))
}

describe('the README', () => {
  it('has a first pipeline whose commands work', async () => {
    const lines = shellLines('A first pipeline')
    expect(lines.filter((line) => line.startsWith('curl'))).toHaveLength(3)
    const service = await startService()
    // A port of this service's own range, so that two runs do not collide.
    const { body } = await service.request('POST', '/svc/pipeline', {
      id: 'probe',
      mode: 'simple',
      on_demand: true,
      source: { uri: 'test://ball' },
    })
    await service.request('DELETE', '/svc/pipeline/probe')
    const { port } = new URL(body.output.uri.replace('rtsp:', 'http:'))
    const outputs: string[] = []
    for (const line of lines) {
      const { stdout } = await run('sh', ['-c', line.replaceAll('http://127.0.0.1:8080', service.url).replaceAll('50000', port)])
      outputs.push(stdout)
    }
    const [created, read, probed, stopped] = outputs
    expect(JSON.parse(created ?? '')).toMatchObject({ id: 'first', state: 'playing' })
    expect(JSON.parse(read ?? '')).toMatchObject({ id: 'first', runtime: { phase: 'playing' } })
    expect(probed).toMatch(/codec_name=h264\nwidth=640\nheight=360/)
    expect(JSON.parse(stopped ?? '')).toMatchObject({ state: 'ready' })
    await service.stop()
  })

  it('contains JSON that the API accepts', async () => {
    const bodies = [...README.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = '']) => JSON.parse(text) as unknown)
    expect(bodies.length).toBeGreaterThan(0)
    const advanced = /`(\{"mode": "advanced".*?\})`/.exec(README)?.[1]
    const service = await startService()
    for (const body of [...bodies, { id: 'advanced', ...(JSON.parse(advanced ?? '') as object) }]) {
      expect(await service.request('POST', '/svc/pipeline/validate', body)).toMatchObject({ status: 200, body: { valid: true } })
    }
    await service.stop()
  })

  it('lists every variable of the environment with its default', () => {
    for (const { name, shown, about } of CONFIGURATION_VARIABLES) expect(README).toContain(`| \`${name}\` | ${shown} | ${about} |`)
    const named = new Set([...README.matchAll(/^\| `(SVC_[A-Z_]+)` \|/gm)].map(([, name]) => name))
    expect(named).toEqual(new Set(CONFIGURATION_VARIABLES.map(({ name }) => name)))
  })

  it('names existing npm scripts', () => {
    const { scripts } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const named = [...README.matchAll(/(?:^|`)npm (?:run )?([a-z:-]+)/gm)].map(([, name]) => name)
    expect(named.length).toBeGreaterThan(2)
    for (const name of named) if (name !== 'install' && name !== 'pack') expect(Object.keys(scripts)).toContain(name)
  })
})
