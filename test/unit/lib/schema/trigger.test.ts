import { describe, expect, it } from 'vitest'
import { triggeredConfig, triggerQuerySchema } from '../../../../lib/schema/trigger.ts'
import { validate } from '../../../../lib/validate.ts'

const LOCAL = { host: '127.0.0.1', port: 8554 }
const parse = (path: string, pipelineId?: string) =>
  validate(triggerQuerySchema, { path, ...(pipelineId !== undefined && { pipelineId }) }, 'query')
const uriOf = (path: string) => triggeredConfig(parse(path, 'any'), LOCAL, 'copy').source.uri

describe('the pipeline id of a stream', () => {
  it.each([
    ['cam1', 'cam1'],
    ['live/cam.1', 'livecam1'],
    ['a_b-c', 'a_b-c'],
    ['/cam', 'cam'],
    ['site/ä/Ost 2', 'siteOst2'],
    ['~x:y', 'xy'],
    ['a%2Fb', 'a2Fb'],
  ])('of %j is %j', (path, id) => {
    expect(parse(path).id).toBe(id)
  })

  it('is the given one, whatever the path derives', () => {
    expect(parse('ä', 'own')).toEqual({ path: 'ä', id: 'own' })
    expect(parse('x'.repeat(200), 'own').id).toBe('own')
  })
})

describe('the source of a stream', () => {
  it.each([
    ['cam', 'rtsp://127.0.0.1:8554/cam'],
    ['live/site 1/cam.2', 'rtsp://127.0.0.1:8554/live/site%201/cam.2'],
    ['//cam', 'rtsp://127.0.0.1:8554/cam'],
    ['a@b:c', 'rtsp://127.0.0.1:8554/a@b:c'],
    ['user:secret@host/cam', 'rtsp://127.0.0.1:8554/user:secret@host/cam'],
    ['100%#1', 'rtsp://127.0.0.1:8554/100%25%231'],
    ['käse/"q"', 'rtsp://127.0.0.1:8554/k%C3%A4se/%22q%22'],
    ['a\\b', 'rtsp://127.0.0.1:8554/a%5Cb'],
    ['$(reboot)`x`', 'rtsp://127.0.0.1:8554/$(reboot)%60x%60'],
  ])('%j is read at %j', (path, uri) => {
    expect(uriOf(path)).toBe(uri)
    const { host, username, pathname } = new URL(uri)
    expect([host, username]).toEqual(['127.0.0.1:8554', ''])
    expect(decodeURIComponent(pathname)).toBe(`/${parse(path, 'any').path}`)
  })

  it('is read from an IPv6 media server too', () => {
    expect(triggeredConfig(parse('cam'), { host: '[::1]', port: 9 }, 'copy').source.uri).toBe('rtsp://[::1]:9/cam')
  })
})

it.each([
  ['without a path', {}, 'path'],
  ['with an empty path', { path: '' }, 'path'],
  ['with slashes only', { path: '//', pipelineId: 'x' }, 'path'],
  ['whose path derives no id', { path: 'äöü/..!' }, 'path'],
  ['whose path derives too long an id', { path: 'x'.repeat(65) }, 'path'],
  ['with a path of 1025 characters', { path: 'x'.repeat(1025), pipelineId: 'x' }, 'path'],
  ['with a control character', { path: 'a\nb' }, 'path'],
  ['with a NUL', { path: 'a\0b' }, 'path'],
  ['with an address for a path', { path: 'rtsp://user:secret@host/cam' }, 'path'],
  ['with a query in the path', { path: 'cam?user=me&pass=secret' }, 'path'],
  ['with a dot segment', { path: 'a/../b' }, 'path'],
  ['with an id outside the pattern', { path: 'cam', pipelineId: 'a b' }, 'pipelineId'],
  ['with an empty id', { path: 'cam', pipelineId: '' }, 'pipelineId'],
  ['with too long an id', { path: 'cam', pipelineId: 'x'.repeat(65) }, 'pipelineId'],
])('a trigger %s is refused', (_, query, path) => {
  expect(() => validate(triggerQuerySchema, query, 'query')).toThrow(
    expect.objectContaining({ details: { issues: expect.arrayContaining([{ path, message: expect.not.stringContaining('secret') }]) } }),
  )
})

it('creates the documented pipeline', () => {
  expect(triggeredConfig({ id: 'x', path: 'x' }, LOCAL, 'copy')).toEqual({
    id: 'x',
    mode: 'simple',
    on_demand: false,
    source: { uri: 'rtsp://127.0.0.1:8554/x', latency_ms: 200 },
    encoding: { codec: 'h264', bitrate: 2000, width: 1920, height: 1080, fps: 30, quality: 7 },
    output: null,
    klv_config: { pass_klv: true, auto_extract_geolocation: true, synchronous: false },
    audio: 'copy',
    audio_bitrate: null,
    push: [],
    ephemeral: true,
  })
})
