import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Finished, runFilter, runToEnd, startChild } from '../../../engine/gst/child.ts'
import { confineChildren } from '../../../engine/sandbox/confinement.ts'
import type { Reach, Sandbox } from '../../../engine/sandbox/sandbox.ts'
import { takeDescriptors } from '../../helpers/process/descriptors.ts'
import { isAlive } from '../../helpers/process/processes.ts'

const folder = mkdtempSync(join(tmpdir(), 'sandbox-test-'))
const secret = join(folder, 'service.db')
const videos = mkdtempSync(join(tmpdir(), 'sandbox-videos-'))
const given = join(videos, 'one.ts')
let sandbox: Sandbox

beforeAll(async () => {
  writeFileSync(secret, 'the database of the service')
  writeFileSync(given, 'a video')
  sandbox = await confineChildren('auto', folder, runToEnd)
})

afterAll(async () => {
  await confineChildren('off', folder, runToEnd)
  rmSync(folder, { recursive: true })
  rmSync(videos, { recursive: true })
})

const shell = (script: string, reach: Reach = {}): Promise<Finished> => runToEnd('sh', ['-c', script], { timeoutMs: 5000, reach })

const LIVE = ['-v', 'videotestsrc', 'is-live=true', '!', 'jpegenc', '!', 'fdsink', 'fd=3']

describe('a child in its sandbox', () => {
  it('is confined on this host', () => {
    expect(sandbox).toMatchObject({ state: 'on' })
  })

  it('that the host lets not start for want of descriptors says so', async () => {
    const giveBack = takeDescriptors()
    const child = startChild('true', [], { mediaPipes: 1, reach: {}, input: true })
    const run = runToEnd('true', [], { timeoutMs: 5000, reach: {} })
    giveBack()
    expect(await child.ended).toEqual({ exitCode: null, signal: null, missing: false, refused: 'EMFILE' })
    expect([await child.pid, child.media.length]).toEqual([undefined, 1])
    expect(await run).toMatchObject({ refused: 'EMFILE', stdout: '', timedOut: false })
    expect((await runToEnd('true', [], { timeoutMs: 5000, reach: {} })).exitCode).toBe(0)
  })

  it.each([
    ['the data directory', `cat ${secret}`],
    ['the home of the service', `ls ${process.env.HOME ?? '/root'}/`],
    ['password hashes of the host', 'cat /etc/shadow'],
    ['users of the host', 'cat /etc/passwd'],
    ['private keys of the host', 'ls /etc/ssl/private'],
    ['disks', 'ls /dev/sda /dev/vda /dev/nvme0n1'],
    ['cameras that are not its own', 'ls /dev/video0'],
    ['input devices', 'ls /dev/input'],
    ['kernel memory', 'head -c1 /proc/kcore | grep .'],
    ['the system bus', 'ls /run/dbus'],
    ['sockets of the container engine', 'ls /run/docker.sock /var/run/docker.sock'],
  ])('does not see %s', async (_, script) => {
    const { exitCode, stdout } = await shell(script)
    expect({ failed: exitCode !== 0, stdout }).toEqual({ failed: true, stdout: '' })
  })

  it.each([
    ['system folders', 'touch /usr/lib/planted'],
    ['kernel settings', 'cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern'],
    ['magic keys of the kernel', 'test -e /proc/sysrq-trigger && echo h > /proc/sysrq-trigger && grep . /proc/sysrq-trigger'],
    ['mounts', 'mount -t tmpfs none /tmp'],
    ['network interfaces', 'ip link add dummy0 type dummy'],
    ['folders that were made for it alone', 'touch /planted || touch /run/planted || touch /dev/planted || touch /etc/planted'],
    ['what the kernel measures', 'test -e /proc/pressure/cpu && exec 3> /proc/pressure/cpu'],
    ['keys of the kernel', 'keyctl add user planted x @s || exit 1'],
    ['namespaces of its own', 'unshare --user --map-root-user true'],
  ])('cannot change %s', async (_, script) => {
    expect((await shell(script)).exitCode).not.toBe(0)
  })

  it('gets nothing of the environment of the service', async () => {
    process.env.SVC_SECRET_OF_THIS_TEST = 'secret'
    try {
      const { stdout } = await shell('env; cat /proc/*/environ')
      expect(stdout).toContain('LC_ALL=C.UTF-8')
      expect(stdout).not.toContain('secret')
    } finally {
      delete process.env.SVC_SECRET_OF_THIS_TEST
    }
  })

  it('sees itself alone among the processes and cannot signal others', async () => {
    const { stdout } = await shell(`ls -d /proc/[0-9]*; kill -9 ${process.pid} 2>&1`)
    expect(stdout.match(/^\/proc\/\d+$/gm)?.length).toBeLessThanOrEqual(2)
    expect(stdout).toMatch(/No such process/)
  })

  it('leaves nothing behind of what it writes', async () => {
    const name = `left-${randomUUID()}`
    expect((await shell(`touch /tmp/${name} && ls /tmp`)).stdout).toContain(name)
    expect((await shell('ls /tmp')).stdout).not.toContain(name)
    expect((await runToEnd('ls', [tmpdir()], { timeoutMs: 5000, reach: 'host' })).stdout).not.toContain(name)
  })

  it('has a network only when it needs one', async () => {
    const interfaces = async (reach: Reach) => (await shell('cat /proc/net/dev', reach)).stdout.match(/^\s*\w+:/gm)?.length
    expect(await interfaces({})).toBe(1)
    expect(await interfaces({ network: true })).toBeGreaterThan(0)
    expect((await shell('getent hosts localhost', { network: true })).exitCode).toBe(0)
  })

  it('sees the one file that it is given, and cannot change it', async () => {
    const { stdout } = await shell(`cat ${given}; ls ${videos}; echo more >> ${given}`, { files: [given] })
    expect(stdout).toBe('a videoone.ts')
    expect(readFileSync(given, 'utf8')).toBe('a video')
  })

  it('starts without a folder that is missing, which it may not need', async () => {
    expect((await shell('echo started', { files: [join(videos, 'none')] })).stdout).toBe('started')
  })

  it('does not see the data directory, also when it is given as a file, by a link, or inside a folder', async () => {
    const link = join(videos, 'link.ts')
    symlinkSync(secret, link)
    const files = [secret, link, videos, tmpdir()]
    for (const each of files) expect((await shell(`cat ${secret} ${link}`, { files: [each] })).stdout).toBe('')
    expect((await shell(`cat ${given}; touch ${folder}/planted`, { files: [tmpdir()] })).stdout).toBe('a video')
    rmSync(link)
  })

  it('reaches no program of the host over a socket without a file, such as that of a desktop', async () => {
    const connections: unknown[] = []
    const desktop = createServer((connection) => connections.push(connection.destroy())).listen('\0/tmp/.X11-unix/X77')
    await once(desktop, 'listening')
    const screen = ['ximagesrc', 'display-name=:77', 'num-buffers=1', '!', 'fakesink']
    const run = (reach: 'host' | Reach) => runToEnd('gst-launch-1.0', screen, { timeoutMs: 10_000, reach })
    expect((await run({ network: true })).stderr).toContain('Could not open X display')
    expect(connections).toEqual([])
    await run('host')
    expect(connections).not.toEqual([])
    desktop.close()
  })

  it('makes pairs of stream sockets alone: others could be connected to a program of the host', async () => {
    const pair = (type: string) =>
      shell(`perl -MSocket -e 'socketpair(my $a, my $b, AF_UNIX, ${type}, 0) or die "$!"; print "made"'`, { network: true })
    const [stream, datagram, packets] = await Promise.all(['SOCK_STREAM', 'SOCK_DGRAM', 'SOCK_SEQPACKET'].map(pair))
    expect(stream?.stdout).toBe('made')
    for (const refused of [datagram, packets])
      expect(refused).toMatchObject({ stdout: '', stderr: expect.stringContaining('not permitted') })
  })

  it('has no more than 256 MiB for what it writes', async () => {
    const { stdout } = await shell('for f in /tmp /dev/shm; do head -c 300M /dev/zero > $f/a; wc -c < $f/a; done')
    expect(stdout.trim().split('\n').map(Number)).toEqual([268_435_456, 268_435_456])
  })

  it('ends with EOS at SIGINT, and reports its exit code', async () => {
    const child = startChild('gst-launch-1.0', LIVE, { mediaPipes: 1, reach: {} })
    await new Promise((resolve) => child.media[0]?.once('data', resolve))
    child.kill('SIGINT')
    expect(await child.ended).toEqual({ exitCode: 0, signal: null, missing: false })
  })

  it('reports the signal that ended it', async () => {
    const child = startChild('gst-launch-1.0', LIVE, { mediaPipes: 1, reach: {} })
    const pid = (await child.pid) ?? 0
    process.kill(pid, 'SIGKILL')
    expect(await child.ended).toEqual({ exitCode: null, signal: 'SIGKILL', missing: false })
  })

  it('is killed with all that it started', async () => {
    const child = startChild('sh', ['-c', 'trap "" INT TERM; sleep 1000 & echo started; wait; wait'], { mediaPipes: 0, reach: {} })
    await new Promise((resolve) => child.stdout.once('data', resolve))
    const pid = (await child.pid) ?? 0
    child.kill('SIGINT')
    child.kill('SIGKILL')
    expect((await child.ended).signal).toBe('SIGKILL')
    // It may be a zombie yet, of whoever has adopted it.
    await expect.poll(() => isAlive(pid)).toBe(false)
  })

  it('ends at its time limit', async () => {
    expect(await runToEnd('sleep', ['30'], { timeoutMs: 200, reach: {} })).toMatchObject({ timedOut: true })
  })

  it('passes input and output by their descriptors', async () => {
    const options = { input: Buffer.from('abc'), timeoutMs: 5000, maxOutputBytes: 100, reach: {} }
    expect((await runFilter('cat', [], options)).stdout.toString()).toBe('abc')
  })

  it.each([
    ['inside of a sandbox', {}],
    ['outside', 'host'],
  ] as const)('is ended before the engine when no memory is left: %s', async (_where, reach) => {
    const child = startChild('sleep', ['1000'], { mediaPipes: 0, reach })
    const pid = await child.pid
    const score = (of: number | string | undefined): number => Number(readFileSync(`/proc/${of}/oom_score_adj`, 'utf8'))
    expect(score(pid)).toBeGreaterThan(score('self'))
    child.kill('SIGKILL')
    await child.ended
  })

  it('is reported missing when there is no such program', async () => {
    expect(await startChild('no-such-program', [], { mediaPipes: 0, reach: {} }).ended).toMatchObject({ missing: true })
  })

  it('hides its arguments from the list of processes once it has read them', async () => {
    const password = `pass-${randomUUID()}`
    const child = startChild('gst-launch-1.0', [...LIVE, 'videotestsrc', `name=${password}`, '!', 'fakesink'], { mediaPipes: 1, reach: {} })
    await new Promise((resolve) => child.stdout.once('data', resolve))
    const seen = async () => (await runToEnd('sh', ['-c', 'cat /proc/[0-9]*/cmdline'], { timeoutMs: 5000, reach: 'host' })).stdout
    expect(await seen()).toContain(password)
    expect(await child.eraseArguments()).toBe(true)
    expect(await seen()).not.toContain(password)
    child.kill('SIGKILL')
    await child.ended
  })
})

describe('the answer of a host', () => {
  it('says what to install when bubblewrap is missing', async () => {
    const path = process.env.PATH
    process.env.PATH = '/nonexistent'
    try {
      expect(await confineChildren('auto', folder, runToEnd)).toEqual({
        state: 'unavailable',
        reason: 'bubblewrap is not installed. Install it (apt-get install bubblewrap).',
      })
    } finally {
      process.env.PATH = path
    }
  })

  it('is off when the operator switched it off', async () => {
    expect(await confineChildren('off', folder, runToEnd)).toMatchObject({ state: 'off' })
    expect((await shell(`cat ${secret}`)).stdout).toBe('the database of the service')
  })
})
