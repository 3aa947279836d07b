import { expect, it } from 'vitest'
import { type Channel, connectWith, type RemotePeer } from '../../../../engine/webrtc/peer.ts'

type Library = Parameters<typeof connectWith>[0]

const REMOTE: RemotePeer = {
  ...{ ufrag: 'abcd', password: 'abcdefghijklmnopqrstuvwx', fingerprint: 'sha-256 AB', setup: 'active', hasData: true },
  candidates: ['1 1 UDP 1 127.0.0.1 9 typ host'],
}
const LOCAL = ['a=ice-ufrag:own', 'a=ice-pwd:own', 'a=fingerprint:own', 'a=setup:passive', 'a=candidate:1'].join('\r\n')

/** The library with one connection, whose calls all throw once it has ended, as those of the real one do. */
const setUp = () => {
  const state = { ended: false, listening: 0, portIsTaken: false, connected: 0 }
  const calls = { report: (_state: string): void => {}, open: (): void => {} }
  const unlessEnded = <T>(value: T): T => {
    if (state.ended) throw new Error('libdatachannel error: it is closed')
    return value
  }
  const channel = () => ({
    ...{ onMessage: () => {}, close: () => unlessEnded(undefined), getLabel: () => unlessEnded('klv'), isOpen: () => true },
    ...{ bufferedAmount: () => unlessEnded(7), maxMessageSize: () => unlessEnded(1000), sendMessageBinary: () => unlessEnded(true) },
  })
  const library = {
    IceUdpMuxListener: class {
      constructor() {
        if (state.portIsTaken) throw new Error('Failed to register ICE UDP mux listener')
        state.listening += 1
      }
    },
    Video: class {
      addH264Codec(): void {}
    },
    PeerConnection: class {
      onStateChange(report: typeof calls.report): void {
        calls.report = report
      }
      onDataChannel(): void {}
      onGatheringStateChange = (report: (state: string) => void) => report('complete')
      addTrack = () => ({
        onMessage: () => {},
        onOpen: (open: typeof calls.open) => {
          calls.open = open
        },
        sendMessageBinary: () => unlessEnded(true),
        close: () => unlessEnded(true),
      })
      addRemoteCandidate = () => unlessEnded(undefined)
      setRemoteDescription(): void {}
      setLocalDescription(): void {}
      localDescription = () => ({ sdp: LOCAL })
      createDataChannel = () => unlessEnded(channel())
      close = () => unlessEnded(undefined)
    },
  } as unknown as Library
  const ignored = () => {}
  const onConnected = () => {
    state.connected += 1
  }
  const events = { onConnected, onEnded: ignored, onRtcp: ignored, onChannel: ignored, onMessage: ignored }
  const connect = connectWith(library)
  return { state, calls, connect: () => connect(REMOTE, { port: 8189, bindAddress: undefined }, events) }
}

it('takes calls after the library has ended the connection, which it does at any moment', async () => {
  const { state, connect } = setUp()
  const peer = await connect()
  const read = ({ queuedBytes, maxMessageBytes, send }: Channel) => [queuedBytes, maxMessageBytes, send(Buffer.alloc(1))]
  const channel = peer.openChannel('klv') ?? expect.fail('no channel')
  expect(read(channel)).toEqual([7, 1000, true])
  state.ended = true
  peer.send(Buffer.alloc(12))
  peer.addCandidate('1 1 UDP 1 127.0.0.1 9 typ host')
  expect([peer.openChannel('klv'), read(channel)]).toEqual([undefined, [0, 0, false]])
  peer.close()
})

it('opens its port once for all sessions, and says which one is taken', async () => {
  const { state, connect } = setUp()
  state.portIsTaken = true
  await expect(connect()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: 'webrtc_port' } })
  state.portIsTaken = false
  for (const peer of [await connect(), await connect()]) peer.close()
  expect(state.listening).toBe(1)
})

it('is connected when its track is open: the library drops what is sent before', async () => {
  const { state, calls, connect } = setUp()
  await connect()
  calls.report('connected')
  expect(state.connected).toBe(0)
  calls.open()
  expect(state.connected).toBe(1)
})
