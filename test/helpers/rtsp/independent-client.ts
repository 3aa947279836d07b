import { createRequire } from 'node:module'
import type { Readable, Writable } from 'node:stream'

/** The parts of media-stream-library (by Axis) that are used here; its types do not compile without those of old Node versions. */
interface Library {
  readonly components: {
    readonly Auth: new (credentials: { readonly username: string; readonly password: string }) => object
    readonly TcpSource: new () => TcpSource
    readonly Sink: { fromHandler(handler: (message: Message) => void): object }
    readonly MessageType: { readonly RTP: number }
  }
  readonly pipelines: {
    readonly RtspPipeline: new (session: { readonly uri: string }) => Pipeline
  }
}
interface TcpSource {
  readonly incoming: Readable
  readonly outgoing: Writable
}
interface Message {
  readonly type: number
  readonly data: Buffer
}
interface Pipeline {
  readonly rtsp: { play(): void; stop(): void }
  onSdp?: (sdp: { readonly media: readonly { readonly rtpmap?: { readonly encodingName: string } }[] }) => void
  insertBefore(component: object, added: object): void
  prepend(component: object): void
  append(component: object): void
}

const { components, pipelines } = createRequire(import.meta.url)('media-stream-library') as Library

/** The format of the SDP and the sequence numbers of the RTP packets that came. */
interface Received {
  readonly format: string | undefined
  readonly sequences: readonly number[]
}

/**
 * Reads at least so many RTP packets, or until the server closes the connection, with an RTSP client that shares no code with ours: over
 * TCP, Digest with MD5 when it is asked for it.
 */
export const readIndependently = (
  uri: string,
  count: number,
  credentials: { readonly username: string; readonly password: string } = { username: '', password: '' },
): Promise<Received> =>
  new Promise((resolve) => {
    const sequences: number[] = []
    let format: string | undefined
    const pipeline = new pipelines.RtspPipeline({ uri })
    const source = new components.TcpSource()
    source.incoming.once('end', () => resolve({ format, sequences }))
    pipeline.insertBefore(pipeline.rtsp, new components.Auth(credentials))
    pipeline.prepend(source)
    pipeline.append(
      components.Sink.fromHandler(({ type, data }) => {
        if (type !== components.MessageType.RTP || sequences.push(data.readUInt16BE(2)) !== count) return
        pipeline.rtsp.stop()
        source.outgoing.end()
      }),
    )
    pipeline.onSdp = ({ media }) => {
      format = media[0]?.rtpmap?.encodingName
    }
    pipeline.rtsp.play()
  })

/** Whether each sequence number follows the one before it. */
export const inOrder = (sequences: readonly number[]): boolean =>
  sequences.every((sequence, at) => at === 0 || sequence === (((sequences[at - 1] ?? 0) + 1) & 0xffff))
