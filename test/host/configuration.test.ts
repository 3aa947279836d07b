import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CONFIGURATION_VARIABLES } from '../../lib/configuration/configuration.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  spawnSync(process.execPath, [resolve(import.meta.dirname, '../../dist/node.js'), ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
    encoding: 'utf8',
    timeout: 20_000,
  })

describe('the command line', () => {
  it('lists every variable with its default for --help', () => {
    const { status, stdout, stderr } = run(['--help'])
    expect([status, stderr]).toEqual([0, ''])
    for (const { name } of CONFIGURATION_VARIABLES) expect(stdout).toMatch(new RegExp(`^ +${name} .*`, 'm'))
    const text = stdout.replace(/\s+/g, ' ')
    for (const { shown, about } of CONFIGURATION_VARIABLES) expect(text).toContain(`${about} (default: ${shown})`)
  })

  it('exits with 64 and names an unknown argument', () => {
    const { status, stderr } = run(['--prot', '80'])
    expect([status, stderr]).toEqual([64, 'video-pipeline-service: unknown argument --prot; use --help for a list\n'])
  })
})

describe('an invalid configuration', () => {
  it('exits with 78 and one line for each mistake, without secrets, before any file is written', () => {
    const dataDir = join(temporaryDataDir(), 'not-made')
    const wrong = {
      SVC_PORT: '80800',
      SVC_DOCS_PORT: 'http',
      SVC_API_KEY: 'too short',
      SVC_ENGINE_URL: 'ftp://engine',
      SVC_MEDIA_SERVER: 'nowhere',
      SVC_OUTPUT_PORTS: '55000-50000',
      SVC_PROFILE: 'doc',
      SVC_ALLOW_FILE_SOURCES: 'yes please',
      SVC_TRUST_PROXY: '2',
      SVC_CORS_ORIGINS: 'https://a.test/path',
      SVC_LOG_LEVEL: 'loud',
      SVC_DATABASE_URL: 'mysql://user:hunter2@db',
    }
    const { status, stdout, stderr } = run([], { ...wrong, SVC_DATA_DIR: dataDir })
    expect([status, stdout]).toEqual([78, ''])
    const lines = stderr.trimEnd().split('\n')
    for (const name of Object.keys(wrong))
      expect(lines.filter((line) => line.startsWith(`video-pipeline-service: ${name}`))).toHaveLength(1)
    // The engine's URL lacks its token as well.
    expect(lines).toHaveLength(Object.keys(wrong).length + 1)
    expect(stderr).not.toMatch(/too short|hunter2|\bat .*:\d/)
    expect(existsSync(dataDir)).toBe(false)
  })

  it('includes one that gives the explorer the port of the API', () => {
    const { status, stderr } = run([], { SVC_PROFILE: 'docs', SVC_PORT: '8081' })
    expect([status, stderr]).toEqual([78, 'video-pipeline-service: SVC_DOCS_PORT=8081: use another port than SVC_PORT\n'])
  })
})
