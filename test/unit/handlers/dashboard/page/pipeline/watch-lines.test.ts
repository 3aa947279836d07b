import { describe, expect, it } from 'vitest'
import { isLoopback, type WatchParts, watchLines } from '../../../../../../handlers/dashboard/page/pipeline/watch-lines.ts'

const PARTS: WatchParts = {
  id: 'gate',
  output: 'rtsp://0.0.0.0:50000/gate',
  page: 'http://cam-host:8080/svc/dashboard/#/pipeline/gate',
  stream: 'http://cam-host:8080/svc/pipeline/gate/stream.ts',
  playlist: 'http://cam-host:8080/svc/pipeline/gate/live.m3u8',
  host: 'cam-host',
  user: undefined,
  tls: 'off',
  needsKey: false,
}
const linesOf = (change: Partial<WatchParts>) => Object.fromEntries(watchLines({ ...PARTS, ...change }))

describe('the lines to watch a pipeline elsewhere', () => {
  it('have the host of the page, and MPEG-TS for VLC, which has no RTSP on Debian', () => {
    const lines = linesOf({})
    expect(lines).toMatchObject({ RTSP: 'rtsp://cam-host:50000/gate', VLC: `vlc '${PARTS.stream}'` })
    expect(Object.keys(lines)).toEqual(['RTSP', 'HTTP', 'HLS', 'Browser', 'VLC', 'ffplay', 'GStreamer'])
  })

  it('have rtsps beside rtsp, or alone where it is required', () => {
    expect(linesOf({ tls: 'optional' })).toMatchObject({ RTSP: 'rtsp://cam-host:50000/gate', RTSPS: 'rtsps://cam-host:50000/gate' })
    const { RTSP, ffplay } = linesOf({ tls: 'required' })
    expect([RTSP, ffplay]).toEqual([undefined, "ffplay -fflags nobuffer -rtsp_transport tcp 'rtsps://cam-host:50000/gate'"])
  })

  it('have places for the credentials that are needed', () => {
    const lines = linesOf({ user: "o'(b)", needsKey: true })
    expect(lines.RTSP).toBe('rtsp://o%27%28b%29:PASSWORD@cam-host:50000/gate')
    expect(lines.VLC).toBe(`curl -sN -H 'X-API-Key: KEY' '${PARTS.stream}' | vlc -`)
  })

  it('say where an address of this computer alone is', () =>
    expect(['localhost', '127.0.0.1', '[::1]', '10.0.0.2', 'cam-host'].map(isLoopback)).toEqual([true, true, true, false, false]))
})
