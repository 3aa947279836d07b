import { execFile, execFileSync, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createClient } from '@libsql/client/sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../../db/open.ts'
import { killProcess } from '../../helpers/process/processes.ts'
import { startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { startRtspSource } from '../../helpers/rtsp/source.ts'
import { changeSettings, command, createPipeline, untilPhase } from '../../helpers/service/pipelines.ts'

const ROOT = resolve(import.meta.dirname, '../../..')

describe('a full disk', () => {
  /** A data directory on a small file system of its own. Needs root. */
  const smallDisk = (): string => {
    const folder = temporaryDataDir()
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder])
    onTestFinished(() => void execFileSync('umount', ['--lazy', folder]))
    return folder
  }

  /** Takes what is left, and more as soon as something is freed. */
  const fill = (folder: string): (() => void) => {
    let files = 0
    const more = (): void => {
      const { bavail, bsize } = statfsSync(folder)
      if (bavail > 0) writeFileSync(join(folder, `fill-${files++}`), Buffer.alloc(bavail * bsize))
    }
    more()
    const timer = setInterval(more, 5)
    onTestFinished(() => clearInterval(timer))
    return () => {
      clearInterval(timer)
      for (const name of readdirSync(folder)) if (name.startsWith('fill-')) rmSync(join(folder, name))
    }
  }

  it('ends no stream for good: the engine starts and is replaced, and says what to do', async () => {
    const dataDir = smallDisk()
    const before = await startService({ dataDir })
    await createPipeline(before, 'gate')
    // Without it the last one that closes the database may remove its shared memory, for which a full disk has no room.
    const holder = createClient({ url: `file:${join(dataDir, 'service.db')}` })
    onTestFinished(() => holder.close())
    await holder.execute('SELECT 1 FROM pipelines')
    expect(await before.stop()).toBe(0)

    const free = fill(dataDir)
    const service = await startService({ dataDir })
    const health = async () => (await service.request('GET', '/svc/health')).body
    const replaceEngine = async (count: number) => {
      killProcess(Number((await service.waitForLog('engine_started', count)).pid))
      await service.waitForLog('engine_started', count + 1)
    }
    await untilPhase(service, 'gate', 'playing')
    const line = { level: 'error', advice: expect.stringContaining('Free space') }
    expect(await service.waitForLog('engine_not_announced')).toMatchObject(line)
    await replaceEngine(1)
    await untilPhase(service, 'gate', 'playing')
    const refused = await service.request('POST', '/svc/pipeline', { id: 'yard', mode: 'simple', source: { uri: 'test://ball' } })
    expect([refused.status, refused.body.message]).toEqual([503, expect.stringContaining('Free space')])
    expect(await health()).toMatchObject({ status: 'degraded', engine: 'ok', database: 'read_only' })
    // It stays stopped and plays again, as was asked, also when the engine is replaced.
    for (const action of ['stop', 'play', 'stop']) expect((await command(service, 'gate', action)).status).toBe(200)
    expect(await service.waitForLog('pipeline_desired_not_stored')).toMatchObject({ level: 'warn', id: 'gate' })
    await replaceEngine(2)
    await untilPhase(service, 'gate', 'idle')
    expect((await command(service, 'gate', 'play')).status).toBe(200)
    expect(readdirSync(dataDir).filter((name) => /^(engine\.json\.|system-calls)/.test(name))).toEqual([])

    free()
    await expect.poll(() => existsSync(join(dataDir, 'engine.json'))).toBe(true)
    expect((await command(service, 'gate', 'stop')).status).toBe(200)
    await expect.poll(health).toMatchObject({ database: 'ok' })
  })

  it('does not damage the database at the first start: the next one with space works', async () => {
    const dataDir = smallDisk()
    const url = `file:${join(dataDir, 'service.db')}`
    for (let pages = 0; pages < 20; pages += 1) {
      const { bavail, bsize } = statfsSync(dataDir)
      writeFileSync(join(dataDir, 'fill'), Buffer.alloc((bavail - pages) * bsize))
      const opened = openDatabase({ url })
      await opened.then((database) => database.close()).catch((error: Error) => expect(error.message).toContain('its disk is full'))
      rmSync(join(dataDir, 'fill'))
      await (await openDatabase({ url })).close()
      for (const name of readdirSync(dataDir)) rmSync(join(dataDir, name))
    }
  })
})

it('a database that can only be read, such as a backup that root has put back, is refused at the start', async () => {
  const dataDir = temporaryDataDir()
  const url = `file:${join(dataDir, 'service.db')}`
  const writable = await openDatabase({ url })
  onTestFinished(() => writable.close())
  execFileSync('mount', ['--bind', '-o', 'ro', dataDir, dataDir])
  onTestFinished(() => void execFileSync('umount', ['--lazy', dataDir]))
  await expect(openDatabase({ url })).rejects.toThrow(/service\.db can only be read\. Make it/)
})

it('a disk that has become read-only does not keep the service from ending in order', async () => {
  const dataDir = temporaryDataDir()
  const service = await startService({ dataDir })
  execFileSync('mount', ['--bind', dataDir, dataDir])
  onTestFinished(() => void execFileSync('umount', ['--lazy', dataDir]))
  execFileSync('mount', ['-o', 'remount,bind,ro', dataDir])
  expect(await service.stop()).toBe(0)
  const faults = service.log.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ level }) => level !== 'info')
  const unremoved = faults.filter(({ event }) => event === 'engine_still_announced').map((line) => line.process)
  expect(new Set(unremoved)).toEqual(new Set(['api', 'engine']))
  expect(faults.filter(({ event }) => event === 'engine_crashed')).toEqual([])
})

it('the memory of a burst is given back when it is over, which neither V8 nor malloc does by itself', async () => {
  // Makes 60 MB of garbage that is old, and 80 MB of buffers of which a few stay; prints the heap before and after, and the process, MB.
  const script = `
    import { getHeapStatistics } from 'node:v8'
    import { collectWhenIdle } from ${JSON.stringify(join(ROOT, 'handlers/node/heap.ts'))}
    const megabytes = (bytes) => Math.round(bytes / 1024 / 1024)
    const heap = () => megabytes(getHeapStatistics().total_heap_size)
    if (process.argv[1] === 'collects') collectWhenIdle(100)
    let kept = Array.from({ length: 1_000_000 }, (_, at) => ({ at, text: String(at) }))
    let buffers = Array.from({ length: 4000 }, () => Buffer.alloc(20_000, 1))
    const before = heap()
    globalThis.few = buffers.filter((_, at) => at % 40 === 0)
    kept = buffers = undefined
    setTimeout(() => console.log(before, heap(), megabytes(process.memoryUsage.rss())), 1500)`
  const memory = async (way: string) => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, way])
    const [before = 0, after = 0, resident = 0] = stdout.split(' ').map(Number)
    return { before, after, resident }
  }
  const [left, collected] = await Promise.all([memory('left'), memory('collects')])
  expect(Math.min(left.after, collected.before)).toBeGreaterThan(60)
  expect(collected.after).toBeLessThan(20)
  // 146 MB when only V8 collects: the buffers that stay keep the pages between them.
  expect(collected.resident).toBeLessThan(110)
})

it('a log that nobody reads takes 1 MiB, and says how many lines it dropped when it is read again', async () => {
  // Logs 20,000 lines of 1 kB on the log of the API, and prints what waits; a line on stdin makes it go on.
  const flood = `
    const { createServiceLog } = await import('${ROOT}/dist/service.js')
    const log = createServiceLog({ logLevel: 'info' })
    for (let line = 0; line < 20_000; line += 1) {
      log.info('flood', { line, text: 'x'.repeat(900) })
      if (line % 100 === 0) await new Promise(setImmediate)
    }
    process.stdout.write(process.stderr.writableLength + '\\n')
    process.stdin.once('data', () => { log.info('after', {}); process.stdin.destroy() })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', flood], { cwd: ROOT, stdio: ['pipe', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [waiting] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  expect(Number(waiting)).toBeGreaterThan(900_000)
  expect(Number(waiting)).toBeLessThan(1024 * 1024 + 2000)
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  while (!text.includes('log_lines_dropped')) await sleep(20)
  child.stdin.write('go on\n')
  await once(child, 'close')
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; lines?: number })
  const written = lines.filter(({ event }) => event === 'flood').length
  const dropped = { level: 'warn', lines: 20_000 - written }
  expect(lines.filter(({ event }) => event === 'log_lines_dropped')).toMatchObject([dropped])
  expect(lines.at(-1)?.event).toBe('after')
})

it('cameras whose name server hangs do not delay other cameras', async () => {
  const source = await startRtspSource()
  onTestFinished(() => source.stop())
  // A name server that takes questions and answers none. Needs root.
  const asked = new Set<string>()
  const server = createSocket('udp4', (question) => asked.add(question.subarray(12).toString('latin1'))).bind(53, '127.77.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const folder = temporaryDataDir()
  const [resolver, hosts] = [join(folder, 'resolv.conf'), join(folder, 'hosts')]
  writeFileSync(resolver, 'nameserver 127.77.0.1\n')
  writeFileSync(hosts, `${readFileSync('/etc/hosts', 'utf8')}\n127.0.0.1 known.camera.test\n`)
  const mounts = 'mount --bind "$0" /etc/resolv.conf; mount --bind "$1" /etc/hosts; shift; exec "$@"'
  const service = await startService({ prefix: ['unshare', '--mount', 'sh', '-ec', mounts, resolver, hosts] })
  await changeSettings(service, { start_timeout_seconds: 5 })
  const create = (id: string, uri: string) => service.request('POST', '/svc/pipeline', { id, mode: 'simple', source: { uri } })
  const away = Array.from({ length: 6 }, (_, n) => create(`away-${n}`, `rtsp://camera-${n}.example.test/x`))
  // As many as two look-ups ask for: each asks for an IPv4 and an IPv6 address.
  await expect.poll(() => asked.size).toBeGreaterThanOrEqual(4)
  const known = await create('known', source.url('/h264').replace('127.0.0.1', 'known.camera.test'))
  expect([known.status, known.body.state]).toEqual([201, 'playing'])
  for (const { status, body } of await Promise.all(away)) expect([status, body.code]).toEqual([504, 'PIPELINE_START_TIMEOUT'])
})
