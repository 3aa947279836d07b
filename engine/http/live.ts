import { Readable } from 'node:stream'
import type { ByteRange } from '../../lib/byte-range.ts'
import type { Supervisor } from '../pipelines/supervisor.ts'
import type { Answers } from './dispatch.ts'
import { filePart } from './file-part.ts'

/** Live video over HTTP and by WebRTC. */
export const liveAnswers = (supervisor: Pick<Supervisor, 'live' | 'hls' | 'sessions'>): Answers<'live'> => ({
  video: (id, { audio, klv }, signal) => supervisor.live(id).open({ format: 'records', sound: audio === '1', klv: klv === '1' }, signal),
  openSession: (id, { offer, wait, player_address }) =>
    supervisor.sessions(id).open(offer, { waits: wait === '1', address: player_address }),
  addCandidates: (id, session, { fragment, if_match, player_address }) =>
    supervisor.sessions(id).addCandidates(session, { fragment, address: player_address }, if_match),
  closeSession: (id, session) => supervisor.sessions(id).close(session),
  ts: (id, { start }, signal) => supervisor.live(id).open({ format: 'ts', catchUp: start === 'now' }, signal),
  playlist: (id, { client }) => supervisor.hls(id).playlist(client),
  segment: async (id, name, { client, range }) => {
    const { packets, bytes } = await supervisor.hls(id).segment(client, name)
    const read = ({ first, last }: ByteRange) => Readable.from([Buffer.concat(packets).subarray(first, last + 1)], { objectMode: false })
    return filePart({ bytes, read }, range)
  },
})
