import { readdirSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { launchChromium } from '../helpers/browser/chromium.ts'
import { codeBlocks, readDocument, USER_DOCUMENTS } from '../helpers/documents.ts'
import { publishWithFfmpeg, startMediaServer } from '../helpers/media/media-server.ts'
import { ffprobe } from '../helpers/media/players.ts'
import { freePort } from '../helpers/ports.ts'
import { runProgram } from '../helpers/process/command.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { createPipeline } from '../helpers/service/pipelines.ts'
import { shareService } from '../helpers/service/share-service.ts'

/** These install or start a service; set-up, pack-image, hardening and embedding test what they do. */
const STARTS_A_SERVICE = /npm start|npm run deb|docker build|deb\.nodesource\.com/

interface Outcome {
  readonly printed: string
  /** The JSON values among the lines printed. */
  readonly json: readonly unknown[]
  /** The file with what the commands saved. */
  readonly file: (name: string) => string
}

/** What each example prints and saves before it is cleaned up, by the first pipeline or file in it. */
const OUTCOMES: Record<string, (outcome: Outcome) => Promise<void> | void> = {
  first: async ({ json, printed, file }) => {
    expect(json[0]).toMatchObject({ id: 'first', state: 'playing' })
    expect(printed).toMatch(/^first +playing .* test:\/\/ball +rtsp:/m)
    expect(printed).toMatch(/Video: h264.* 640x360/)
    expect(await ffprobe(file('first.jpg'))).toMatchObject([{ codec_name: 'mjpeg', width: 640 }])
  },
  small: async ({ json, file }) => {
    expect(json[0]).toMatchObject({ id: 'small', state: 'ready', on_demand: true })
    expect(await ffprobe(file('small.ts'))).toMatchObject([{ codec_name: 'h264', width: 640, height: 360 }])
  },
  drone: async ({ printed, file }) => {
    expect(printed).toMatch(/<event [^>]*uid="[^"]+\/drone"/)
    expect(await ffprobe(file('drone.ts'))).toMatchObject([{ codec_name: 'h264' }])
  },
  gate: async ({ file }) => {
    for (const name of ['gate.ts', 'yard.ts']) expect(await ffprobe(file(name))).toMatchObject([{ codec_name: 'h264' }])
  },
  hall: async ({ file }) => expect(await ffprobe(file('hall.ts'))).toMatchObject([{ codec_name: 'h264', width: 640 }]),
  light: async ({ file }) => expect(await ffprobe(file('light.ts'))).toMatchObject([{ codec_name: 'h264', width: 320, height: 180 }]),
  glider: ({ json }) => {
    const [udp, srt] = (json[1] as { runtime: { push: { state: string; uri: string }[] } }).runtime.push
    expect(udp).toMatchObject({ state: 'sending' })
    expect(srt).toMatchObject({ state: expect.stringMatching(/connecting|waiting/), uri: expect.stringContaining('passphrase=***') })
  },
  watched: ({ printed }) => expect(printed).toMatch(/^event: pipeline_status\ndata: \{"id":"watched"/m),
  password: ({ json }) => expect(json).toMatchObject([{ auth_enabled: true }, { token: expect.any(String) }, []]),
  closed: ({ printed }) => expect(printed).toContain('codec_name=h264'),
  reconnect: ({ json }) => expect(json).toMatchObject([{ reconnect: { max_delay_seconds: 10 } }]),
  lobby: async ({ printed, file }) => {
    expect(printed.match(/^lobby +playing /gm)?.length).toBeGreaterThan(1)
    expect(await ffprobe(file('lobby.jpg'))).toMatchObject([{ codec_name: 'mjpeg' }])
  },
  dock: ({ printed }) => expect(printed).toMatch(/^2 created, settings changed, 0 unchanged\n2 unchanged$/m),
  lane: async ({ printed, file }) => {
    expect(await ffprobe(file('lane.ts'))).toMatchObject([{ codec_name: 'h264' }])
    for (const line of [/Video: h264.* 640x360/, /Got EOS from element/]) expect(printed).toMatch(line)
  },
  roof: async ({ json, file }) => {
    expect(await ffprobe(file('roof.jpg'))).toMatchObject([{ codec_name: 'mjpeg' }])
    expect((json.at(-1) as unknown[]).length).toBeGreaterThan(1)
  },
  webhooks: ({ json }) => expect(json).toMatchObject([{ webhooks: [{ secret: '***' }, { events: ['pipeline_error'] }] }]),
  audio_default: ({ json }) => expect(json).toMatchObject([{ audio_default: 'off' }]),
  quay: async ({ json, file, printed }) => {
    expect(json[2]).toMatchObject([{ pipeline_id: 'quay', tracks: ['h264'] }])
    expect(await ffprobe(file('quay.ts'))).toMatchObject([{ codec_name: 'h264', width: 640 }])
    expect(printed).toContain('1 chain: every segment is as it was recorded')
  },
  uav: ({ json, printed }) => {
    expect(json.slice(1, 4)).toMatchObject([
      { pipeline_id: 'uav', values: { mission_id: 'SYNTHETIC' }, stale: false },
      { geometry: { type: 'Point' } },
      { geometry: { type: 'Polygon' }, properties: { method: 'field_of_view', altitude_reference: 'msl' } },
    ])
    expect(printed.match(/^event: klv$/gm)?.length).toBeGreaterThan(5)
    expect(json.at(-1)).toMatchObject({ klv: { available: true, state: 'stopped' }, geolocation: { latitude: expect.any(Number) } })
  },
}

interface Example {
  readonly name: string
  readonly commands: string
  readonly cleanUp: string
}

const exampleOf = (block: string): Example => {
  const [commands = '', cleanUp = ''] = block.split('# clean up\n')
  const [, name = ''] = /\bid"?: ?"?(\w+)/.exec(block) ?? /-d '\{"(\w+)/.exec(block) ?? []
  return { name, commands, cleanUp }
}

const EXAMPLES = USER_DOCUMENTS.flatMap((document) => codeBlocks(readDocument(document), 'sh'))
  .filter((block) => !STARTS_A_SERVICE.test(block))
  .map(exampleOf)

/** What runs instead of a program: curl fails for an HTTP error, unless its time is over; ffplay needs no screen and is closed. */
const PRELUDE = `
curl() { command curl --fail-with-body "$@"; local code=$?; echo; [ $code = 28 ] || return $code; }
ffplay() { SDL_VIDEODRIVER=dummy SDL_AUDIODRIVER=dummy timeout 2 ffplay "$@" || true; }
video-pipeline-service() { '${process.execPath}' '${resolve('dist/cli.js')}' "$@"; }
npx() { "$@"; }
trap 'echo "failed: $BASH_COMMAND" >&2' ERR
`
/** One of an address: each run has ports of its own. */
const PORT = /(?<=:)\d{4}\b/g

describe('an example in the documents', { shuffle: true }, () => {
  const service = shareService()
  const ports = new Map<string, string>()

  beforeAll(async () => {
    ports.set('8080', new URL(service.url).port)
    const named = new Set(EXAMPLES.flatMap(({ commands }) => [...commands.matchAll(PORT)].map(([port]) => port)))
    for (const port of named) if (!ports.has(port)) ports.set(port, String(await freePort()))
  })

  const run = async (folder: string, commands: string): Promise<string> => {
    const adapted = commands
      .replaceAll(PORT, (port) => ports.get(port) ?? port)
      .replaceAll('autovideosink', 'fakesink num-buffers=30')
      // The media server of the tests takes streams below /in.
      .replaceAll('/out/light"}', '/in/out/light"}')
    const env = { SVC_URL: service.url, SVC_DATA_DIR: service.dataDir }
    const { stdout, stderr } = await runProgram('bash', ['-c', PRELUDE + adapted], { cwd: folder, env })
    expect(
      stderr.split('\n').filter((line) => /^failed: (?!timeout)/.test(line)),
      stderr,
    ).toEqual([])
    return `${stdout}\n${stderr}`
  }
  const state = async (folder: string): Promise<unknown> => {
    const paths = ['/svc/pipeline', '/svc/settings', '/svc/files/screenshots', '/svc/auth/status']
    const bodies = await Promise.all(paths.map(async (path) => (await service.request('GET', path)).body))
    return [readdirSync(folder), ...bodies.map((body) => (Array.isArray(body) ? body.map(({ id }) => id) : body))]
  }

  it.each(EXAMPLES)('works by itself and leaves nothing behind: $name', { timeout: 60_000 }, async ({ name, commands, cleanUp }) => {
    const folder = temporaryDataDir()
    symlinkSync(service.dataDir, join(folder, 'data'))
    if (commands.includes('/cam"')) await startCamera()
    const before = await state(folder)
    const printed = await run(folder, commands)
    const json = printed.split('\n').flatMap((line) => (/^(?:\{"|\[[\]{])/.test(line) ? [JSON.parse(line) as unknown] : []))
    await OUTCOMES[name]?.({ printed, json, file: (file) => join(folder, file) })
    await run(folder, cleanUp)
    expect(await state(folder)).toEqual(before)
  })

  /** The stream that a recipe presumes in a media server. */
  const startCamera = async (): Promise<void> => {
    const server = await startMediaServer({ port: Number(ports.get('8554')) })
    const publisher = publishWithFfmpeg(server.publishUrl('cam'))
    onTestFinished(async () => {
      await publisher.kill()
      await server.stop()
    })
    await server.line(({ available }) => available === 'cam')
  }

  it('is tested for what it prints or saves', () => {
    expect(EXAMPLES.map(({ name }) => name).sort()).toEqual(Object.keys(OUTCOMES).sort())
  })

  it('of a pipeline is accepted by the API', async () => {
    const bodies = USER_DOCUMENTS.flatMap((document) => codeBlocks(readDocument(document), 'json')).map((text) => JSON.parse(text))
    expect(bodies.length).toBeGreaterThan(2)
    for (const body of bodies) {
      expect(await service.request('POST', '/svc/pipeline/validate', body)).toMatchObject({ status: 200, body: { valid: true } })
    }
  })

  it('of a page shows live video', async () => {
    const [page = ''] = codeBlocks(readDocument('docs/live-video.md'), 'html')
    await createPipeline(service, 'gate', { source: { uri: 'test://smpte' } })
    const browser = await launchChromium()
    onTestFinished(() => browser.close())
    const tab = await browser.newPage()
    await tab.route('**/page.html', (route) =>
      route.fulfill({ contentType: 'text/html', body: page.replace('8080', ports.get('8080') ?? '') }),
    )
    await tab.goto(`${service.url}/page.html`)
    const colors = await tab.waitForFunction(() => {
      const canvas = document.querySelector('canvas')
      const pixels = canvas?.width === 640 ? canvas.getContext('2d')?.getImageData(0, 100, 640, 1).data : undefined
      return pixels === undefined ? 0 : new Set(new Uint32Array(pixels.buffer)).size
    })
    expect(await colors.jsonValue()).toBeGreaterThan(6)
  })
})
