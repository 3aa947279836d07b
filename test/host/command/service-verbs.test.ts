import { beforeEach, describe, expect, it } from 'vitest'
import { type CommandOptions, runCommand, runInTerminal } from '../../helpers/process/command.ts'
import { command, createPipeline } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const service = shareService()
beforeEach(async () => {
  await createPipeline(service, 'yard', { on_demand: true })
})

const env = () => ({ SVC_URL: service.url, SVC_DATA_DIR: service.dataDir })
const run = (line: string, options: CommandOptions = {}) => runCommand(line.split(' '), { ...options, env: env() })
const terminal = (line: string, columns: number, options: CommandOptions = {}) =>
  runInTerminal(line.split(' '), columns, { ...options, env: env() })

describe('video-pipeline-service logs', () => {
  it('prints the lines of one pipeline or of all, and those that come, each once', async () => {
    await createPipeline(service, 'gate')
    expect((await run('logs')).stdout).toMatch(/^\S+Z {2}gate {2}started process \d+\n/m)
    const { status, stdout } = await run('logs gate -f --json', {
      until: (text) => {
        if (text.includes('"run":1') && !text.includes('"run":2'))
          void command(service, 'gate', 'stop').then(() => command(service, 'gate', 'play'))
        return text.includes('"run":2')
      },
    })
    const starts = stdout.split('\n').filter((line) => line.includes('started process'))
    expect([status, starts.length]).toEqual([0, 2])
    expect(await run('logs nobody')).toMatchObject({ status: 3, stderr: expect.stringContaining('nobody') })
  })
})

describe('video-pipeline-service health, settings, validate, password', () => {
  it('shows the health', async () => {
    expect(await run('health')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^ok\n {2}engine +ok\n/) })
    expect(JSON.parse((await run('health --json')).stdout)).toMatchObject({ status: 'ok', pipelines: { total: 1 } })
  })

  it('shows and changes the settings', async () => {
    const { status, stdout } = await run('settings screenshots.quality=91 on_demand={"start_on_read":false} --json')
    expect([status, JSON.parse(stdout)]).toMatchObject([0, { screenshots: { quality: 91 }, on_demand: { start_on_read: false } }])
    expect((await run('settings')).stdout).toContain('\n  quality: 91\n')
    expect(await run('settings quality')).toMatchObject({ status: 2, stderr: expect.stringContaining('FIELD=VALUE') })
    expect(await run('settings quality=[')).toMatchObject({ status: 2, stderr: expect.stringContaining('YAML') })
    expect(await run('settings screenshots.quality=0')).toMatchObject({ status: 1, stderr: expect.stringContaining('screenshots.quality') })
  })

  it('checks the pipelines of a file, and names the line of a mistake', async () => {
    const input = '- { id: one, mode: simple, source: { uri: "test://ball" } }\n- id: two\n  mode: advanced\n  raw_pipeline: nosuchthing'
    const { status, stdout, stderr } = await run('validate -f -', { input })
    expect([status, stdout, stderr]).toEqual([
      1,
      'one  valid\n',
      expect.stringMatching(/^two {2}standard input:4:3: raw_pipeline: .*nosuchthing/),
    ])
    expect((await run('ls -q')).stdout).toBe('yard\n')
  })

  it('sets the password from standard input or a terminal, shows nothing of it, and removes it', async () => {
    const status = async () => (await service.request('GET', '/svc/auth/status')).body
    try {
      expect(await run('password', { input: 'correct horse\n' })).toEqual({ status: 0, stdout: '', stderr: '' })
      expect(await status()).toEqual({ auth_enabled: true })
      const typed = await terminal('password', 100, { typed: ['correct horse 2\r', 'another horse\r'] })
      expect(typed).toMatchObject({ status: 2, stdout: expect.stringContaining('The two passwords differ') })
      expect(typed.stdout).not.toContain('horse')
    } finally {
      expect((await run('password --remove')).status).toBe(0)
    }
    expect(await status()).toEqual({ auth_enabled: false })
  })
})
