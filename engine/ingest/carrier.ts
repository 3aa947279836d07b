import type { ClientConnection } from '../rtsp/client/client-connection.ts'
import type { ClientSession } from '../rtsp/client/client-session.ts'
import { openUdpReceiver } from '../rtsp/client/udp-receiver.ts'
import { formatInterleaved } from '../rtsp/protocol/interleaved.ts'
import type { Channels } from '../rtsp/protocol/transport.ts'
import type { FrameRouter } from './frame-router.ts'
import { ReorderBuffer } from './reorder-buffer.ts'
import type { Track } from './tracks.ts'

/** The transport of one track. */
export interface Carrier {
  /** Over UDP, numbers that represent its two ports. */
  readonly channels: Channels
  /** Sends a receiver report to the server, where it takes any. */
  readonly sendReport: (report: Buffer) => void
}

/** The session over which a track is set up, and where its packets go. */
interface CarrierContext {
  readonly session: ClientSession
  readonly connection: ClientConnection
  readonly router: FrameRouter
  /** Called with what the router throws. */
  readonly onError: (error: unknown) => void
  /** Ends the carrier. */
  readonly signal: AbortSignal
  /** How long a packet that is missing over UDP is waited for, milliseconds. */
  readonly waitMs: number
}

/** Sets up track number `at` over TCP: its packets come as frames of the connection. Throws Fault. */
export const carryOverTcp = async (track: Track, at: number, { session, connection }: CarrierContext): Promise<Carrier> => {
  const channels = await session.setUp(track, channelsOf(at))
  return {
    channels,
    sendReport: (report) => {
      if (channels.rtcp !== undefined) connection.sendFrame(formatInterleaved(channels.rtcp, report))
    },
  }
}

/** Sets up track number `at` over UDP: its packets go to the router in their order. Throws Fault, and an error when no port is free. */
export const carryOverUdp = async (track: Track, at: number, context: CarrierContext): Promise<Carrier> => {
  const { session, connection, signal } = context
  const { local, remote } = connection.addresses
  const receiver = await openUdpReceiver(local, remote)
  const close = (): void => receiver.close()
  signal.addEventListener('abort', close, { once: true })
  if (signal.aborted) close()
  try {
    const server = await session.setUpUdp(track, receiver)
    const channels = channelsOf(at)
    receiver.listen(toRouter(channels, context), server.source)
    receiver.openPath(server)
    return { channels, sendReport: (report) => receiver.sendRtcp(report, server.rtcp) }
  } catch (error) {
    signal.removeEventListener('abort', close)
    if (!signal.aborted) close()
    throw error
  }
}

const channelsOf = (at: number) => ({ rtp: 2 * at, rtcp: 2 * at + 1 })

const toRouter = (channels: { readonly rtp: number; readonly rtcp: number }, { router, onError, signal, waitMs }: CarrierContext) => {
  let timer: NodeJS.Timeout | undefined
  const guarded = (work: () => void): void => {
    if (signal.aborted) return
    try {
      work()
    } catch (error) {
      onError(error)
    }
  }
  const reorder = new ReorderBuffer({
    waitMs,
    deliver: (packet) => {
      router.noteRead(packet.length)
      router.take(channels.rtp, packet)
    },
  })
  const waitForMissing = (): void => {
    const { deadlineMs } = reorder
    if (timer !== undefined || deadlineMs === undefined) return
    timer = setTimeout(
      () => {
        timer = undefined
        guarded(() => reorder.expire(performance.now()))
        waitForMissing()
      },
      Math.max(deadlineMs - performance.now(), 1),
    )
  }
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
  return {
    onRtp: (packet: Buffer): void => {
      guarded(() => reorder.push(packet, performance.now()))
      waitForMissing()
    },
    onRtcp: (packet: Buffer): void => guarded(() => router.take(channels.rtcp, packet)),
  }
}
