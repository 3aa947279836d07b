import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'

/** In every file that no pipeline may read; short enough for a line of a hex dump. */
export const CANARY = 'C4N4RY'

/** What attacks aim at on the host. */
export interface Targets {
  /** A folder that the service may read and write, as its data directory or a home is. */
  readonly folder: string
  /** A text file full of canaries. */
  readonly secret: string
  /** The same as video: MPEG-TS. */
  readonly video: string
  /** A file that exists, to be overwritten. */
  readonly victim: string
  /** A library that creates the file `loaded` when it is loaded. */
  readonly library: string
  /** A web server with playlists that name local files. */
  readonly web: string
  /** Path of a socket of a program of the host, and the number of a desktop with an abstract one. */
  readonly socket: string
  readonly desktop: number
  /** What has happened to the host so far; empty when nothing has. */
  damage(): readonly string[]
  /** Repairs the damage, for the next attack. */
  reset(): void
  close(): void
}

const CORE_PATTERN = '/proc/sys/kernel/core_pattern'

/** Files that were there, and their content. */
const KEPT = new Set(['secret.txt', 'secret.ts', 'victim', 'evil.so', 'evil.c', 'socket'])

/** Lays out the targets in this folder. */
export const createTargets = async (folder: string): Promise<Targets> => {
  mkdirSync(folder, { recursive: true })
  const at = (name: string): string => join(folder, name)
  writeFileSync(at('secret.txt'), `${CANARY}\n`.repeat(2000))
  writeFileSync(at('victim'), 'as it was')
  const line = `videotestsrc num-buffers=90 ! x264enc tune=zerolatency key-int-max=15 ! mpegtsmux ! filesink location=${at('secret.ts')}`
  execFileSync('gst-launch-1.0', ['-q', ...line.split(' ')], { stdio: 'ignore' })
  writeFileSync(
    at('evil.c'),
    `#include <stdio.h>\n__attribute__((constructor)) void f(void) { FILE *o = fopen("${at('loaded')}", "w"); if (o) fclose(o); }\n`,
  )
  spawnSync('cc', ['-shared', '-fPIC', '-o', at('evil.so'), at('evil.c')])
  const desktop = 700 + (process.pid % 200)
  const connections: string[] = []
  const counting = (what: string): Server =>
    createServer((connection) => {
      connections.push(what)
      connection.destroy()
    })
  const corePattern = readFileSync(CORE_PATTERN, 'utf8')
  const listening = await Promise.all([
    listen(counting('the socket was connected to'), at('socket')),
    listen(counting('the desktop was connected to'), `\0/tmp/.X11-unix/X${desktop}`),
  ])
  const web = await servePlaylists(at('secret.ts'))
  chmodSync(at('socket'), 0o777)
  return {
    folder,
    secret: at('secret.txt'),
    video: at('secret.ts'),
    victim: at('victim'),
    library: at('evil.so'),
    web: web.url,
    socket: at('socket'),
    desktop,
    damage: () => [
      ...readdirSync(folder)
        .filter((name) => !KEPT.has(name))
        .map((name) => `${name} was created`),
      ...(existsSync(at('victim')) && readFileSync(at('victim'), 'utf8') === 'as it was' ? [] : ['the victim was changed']),
      ...(readFileSync(CORE_PATTERN, 'utf8') === corePattern ? [] : ['a kernel setting was changed']),
      ...(existsSync('/usr/lib/planted') ? ['/usr/lib/planted was created'] : []),
      ...new Set(connections),
    ],
    reset: () => {
      for (const name of readdirSync(folder)) if (!KEPT.has(name)) rmSync(at(name), { recursive: true })
      writeFileSync(at('victim'), 'as it was')
      connections.length = 0
    },
    close: () => {
      for (const server of [...listening, web.server]) server.close()
    },
  }
}

const listen = (server: Server, path: string): Promise<Server> => new Promise((resolve) => void server.listen(path, () => resolve(server)))

/** Serves HLS and DASH playlists of every shape that may name a local file. */
const servePlaylists = async (video: string): Promise<{ readonly server: ReturnType<typeof createHttpServer>; readonly url: string }> => {
  const head = '#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:0\n'
  const pages: Readonly<Record<string, readonly [type: string, text: string]>> = {
    '/segments.m3u8': ['application/vnd.apple.mpegurl', `${head}#EXTINF:3.0,\nfile://${video}\n#EXT-X-ENDLIST\n`],
    // The one that harms nobody.
    '/harmless.m3u8': [
      'application/vnd.apple.mpegurl',
      `${head}${'#EXT-X-DISCONTINUITY\n#EXTINF:3.0,\n/video.ts\n'.repeat(6)}#EXT-X-ENDLIST\n`,
    ],
    '/variant.m3u8': ['application/vnd.apple.mpegurl', `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000000\nfile://${video}\n`],
    '/key.m3u8': [
      'application/vnd.apple.mpegurl',
      `${head}#EXT-X-KEY:METHOD=AES-128,URI="file://${video}"\n#EXTINF:3.0,\n/video.ts\n#EXT-X-ENDLIST\n`,
    ],
    '/map.m3u8': [
      'application/vnd.apple.mpegurl',
      `${head}#EXT-X-MAP:URI="file://${video}"\n#EXTINF:3.0,\nfile://${video}\n#EXT-X-ENDLIST\n`,
    ],
    '/manifest.mpd': [
      'application/dash+xml',
      `<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT3S" minBufferTime="PT1S" profiles="urn:mpeg:dash:profile:mp2t-simple:2011">` +
        `<Period><AdaptationSet mimeType="video/mp2t"><Representation id="1" bandwidth="1000000"><BaseURL>file://${video}</BaseURL>` +
        '<SegmentBase/></Representation></AdaptationSet></Period></MPD>',
    ],
    '/list.m3u': ['audio/x-mpegurl', `file://${video}\n`],
  }
  const bytes = readFileSync(video)
  const server = createHttpServer((request, response) => {
    const page = pages[request.url ?? '']
    if (request.url === '/video.ts') return void response.writeHead(200, { 'content-type': 'video/mp2t' }).end(bytes)
    if (page === undefined) {
      // A redirect to a local file.
      response.writeHead(request.url === '/redirect' ? 302 : 404, { location: `file://${video}` })
      return void response.end()
    }
    response.writeHead(200, { 'content-type': page[0] })
    response.end(page[1])
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
