import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readCamera } from '../../../engine/cameras/onvif/read-camera.ts'
import { searchNetwork } from '../../../engine/cameras/onvif/search-network.ts'
import { startOnvifCamera, USER } from '../../helpers/fakes/onvif-camera.ts'
import { freePort } from '../../helpers/ports.ts'

const start = async (...given: Parameters<typeof startOnvifCamera>) => {
  const camera = await startOnvifCamera(...given)
  onTestFinished(() => camera.close())
  return camera
}
const MAIN = {
  name: 'main',
  uri: 'rtsp://127.0.0.1:554/p%261?a=1&b=2',
  codec: 'h265',
  width: 2560,
  height: 1440,
  fps: 25,
  bitrate_kbps: 4096,
  audio: 'aac',
}

describe('a camera', () => {
  it.each(['token', 'digest'] as const)('says its streams to the right user, by %s', async (authentication) => {
    const { address } = await start({ authentication })
    expect(await readCamera({ address, ...USER })).toEqual({
      manufacturer: 'Acme & Co',
      model: '<M1>',
      firmware: '1.2',
      streams: [MAIN, { ...MAIN, name: 'sub', uri: 'rtsp://127.0.0.1:554/p2?a=1&b=2', codec: 'h264', width: 640, height: 360 }],
    })
  })

  it('of the first version of ONVIF says its streams', async () => {
    const { port } = await start({ version: 1 })
    const { streams } = await readCamera({ address: `127.0.0.1:${port}`, ...USER })
    const more = { fps: null, bitrate_kbps: null, audio: null }
    expect(streams).toEqual([{ name: 'old', uri: 'rtsp://127.0.0.1:554/old?a=1&b=2', codec: 'h264', width: 640, height: 360, ...more }])
  })

  it('is asked at the address that was given, whatever hosts it names', async () => {
    const camera = await start({ otherHost: '192.0.2.9' })
    const { streams } = await readCamera({ address: `http://127.0.0.1:${camera.port}`, ...USER })
    expect(streams.map(({ uri }) => new URL(uri).hostname)).toEqual(['127.0.0.1', '127.0.0.1'])
  })

  it.each(['token', 'digest'] as const)('that refuses a password, by %s, is not asked again with it', async (authentication) => {
    const camera = await start({ authentication })
    const refused = { reason: 'unauthorized', message: expect.stringMatching(/refuses the user name or password/) }
    await expect(readCamera({ address: camera.address, user: USER.user, password: 'wrong' })).rejects.toMatchObject(refused)
    expect(camera.calls.filter((name) => name === 'GetDeviceInformation').length).toBe(authentication === 'token' ? 1 : 2)
    const none = { reason: 'unauthorized', message: expect.stringMatching(/requires a user name/) }
    await expect(readCamera({ address: camera.address, user: '', password: '' })).rejects.toMatchObject(none)
  })

  it('that is off is unreachable', async () => {
    const address = `127.0.0.1:${await freePort()}`
    await expect(readCamera({ address, ...USER })).rejects.toMatchObject({ reason: 'unreachable' })
  })

  const endless = (response: ServerResponse): void => {
    const more = (): boolean => response.write('<a>'.repeat(1000)) && !response.destroyed && setImmediate(more) !== undefined
    response.on('drain', more).writeHead(200)
    more()
  }
  it.each([
    ['an endless answer', endless],
    ['a page', (response: ServerResponse) => void response.end('<!doctype html><title>Camera</title>')],
    ['nothing', (response: ServerResponse) => void response.end()],
    ['another thing', (response: ServerResponse) => void response.end('<a><Body><b/></Body>')],
    ['a redirect', (response: ServerResponse) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['entities', (response: ServerResponse) => void response.end('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')],
    ['an end', (response: ServerResponse) => void response.socket?.end()],
  ])('that sends %s is none', async (_what, answer) => {
    const { address } = await start({ answer })
    await expect(readCamera({ address, ...USER })).rejects.toMatchObject({ reason: expect.stringMatching(/^(source_error|unreachable)$/) })
  })
})

describe('a network', () => {
  const [LOCAL, REMOTE] = ['10.98.9.1', '10.98.9.2']

  /** A camera on another host. */
  const otherHost = async (): Promise<number> => {
    const name = `cam${process.pid}`
    const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
    onTestFinished(() => void spawnSync('ip', ['netns', 'delete', name]))
    ip('netns', 'add', name)
    ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
    ip('address', 'add', `${LOCAL}/30`, 'dev', name)
    ip('link', 'set', name, 'up')
    ip('-n', name, 'address', 'add', `${REMOTE}/30`, 'dev', 'eth0')
    ip('-n', name, 'link', 'set', 'eth0', 'up')
    const helper = JSON.stringify(resolve(import.meta.dirname, '../../helpers/fakes/onvif-camera.ts'))
    const options = JSON.stringify({ listen: REMOTE, discoveredAt: REMOTE })
    const program = `import(${helper}).then(({ startOnvifCamera }) => startOnvifCamera(${options})).then(({ port }) => console.log(port))`
    const child = spawn('ip', ['netns', 'exec', name, process.execPath, '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(async () => {
      child.kill()
      await once(child, 'exit')
    })
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    return Number(line)
  }

  it('shows its cameras, each at the host that answered, once, and says their streams', async () => {
    const port = await otherHost()
    const found = await searchNetwork({ ms: 700, from: [LOCAL] })
    expect(found).toEqual([
      { address: `http://${REMOTE}:8000/onvif/device_service`, name: null, hardware: null, location: null },
      { address: `http://${REMOTE}:${port}/onvif/device_service`, name: 'Front Gate', hardware: 'M1', location: 'north' },
    ])
    const { streams } = await readCamera({ address: found[1]?.address ?? '', ...USER })
    expect(streams.map(({ uri }) => uri)).toEqual([`rtsp://${REMOTE}:554/p%261?a=1&b=2`, `rtsp://${REMOTE}:554/p2?a=1&b=2`])
  })

  it('that is not there is said', async () => {
    const none = { code: 'SERVICE_UNAVAILABLE', details: { reason: 'no_network' } }
    for (const from of [[], ['192.0.2.1']]) await expect(searchNetwork({ ms: 1, from })).rejects.toMatchObject(none)
  })
})
