import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { MountOptions } from '../../../engine/mount/mount-point.ts'
import type { RtpStream } from '../../../engine/rtp/stream.ts'
import { createPublisher } from '../../../engine/rtsp/publisher/publisher.ts'
import { freePort } from '../ports.ts'
import { h264Media, type Media, silentLog, startMedia } from './media.ts'
import { connectReader, openReader, type RtspReader } from './reader.ts'

type PublishOptions = Partial<Parameters<typeof createPublisher>[0]> & {
  /** Where the mount listens. */
  readonly at?: string
  readonly mount?: Partial<MountOptions>
}

/** H.264 for all tests of a file. */
export const sharedMedia = (): { readonly streams: readonly RtpStream[] } => {
  let media: Media
  beforeAll(() => {
    media = startMedia([h264Media()])
  })
  afterAll(() => media.stop())
  return {
    get streams() {
      return media.streams
    },
  }
}

/** A publisher with a mount `cam`, until the test ends. */
export const publish = async (
  streams: readonly (RtpStream | undefined)[],
  { at = '127.0.0.1', mount: more, ...options }: PublishOptions = {},
) => {
  const publisher = createPublisher({ log: silentLog, ...options })
  onTestFinished(() => publisher.close())
  const port = await freePort()
  const mountOptions = { streams, maxReaders: () => 100, describeTimeoutMs: () => 10_000, ...more }
  const mount = await publisher.mount({ host: at, port, path: 'cam' }, mountOptions)
  return { publisher, mount, mountOptions, port, url: `rtsp://127.0.0.1:${port}/cam` }
}

const untilTestEnds = async (opening: Promise<RtspReader>): Promise<RtspReader> => {
  const reader = await opening
  onTestFinished(() => reader.close())
  return reader
}

/** A reader that has sent no request, until the test ends. */
export const connected = (...args: Parameters<typeof connectReader>): Promise<RtspReader> => untilTestEnds(connectReader(...args))

/** A reader that plays, until the test ends. */
export const playing = (...args: Parameters<typeof openReader>): Promise<RtspReader> => untilTestEnds(openReader(...args))
