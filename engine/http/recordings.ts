import { ApiError } from '../../lib/errors.ts'
import { klvPacketJson } from '../../lib/st0601/json.ts'
import { footprintFeature } from '../klv/footprint/feature.ts'
import type { Supervisor } from '../pipelines/supervisor.ts'
import type { Playback } from '../recordings/playback/playback.ts'
import { isRecordingFault, recordingFault } from '../recordings/recording-fault.ts'
import type { Recordings } from '../recordings/recordings.ts'
import { errorCode } from '../screenshots/files/disk-error.ts'
import type { Answers } from './dispatch.ts'
import { filePart } from './file-part.ts'

interface RecordingAnswersDeps {
  readonly supervisor: Pick<Supervisor, 'recorder' | 'view' | 'settings'>
  readonly recordings: Recordings
  readonly playback: Playback
}

/** What is recorded, and what was. */
export const recordingAnswers = ({ supervisor, recordings, playback }: RecordingAnswersDeps): Answers<'recordings'> => ({
  start: (id) => {
    supervisor.recorder(id).start()
    return supervisor.view(id)
  },
  stop: async (id) => {
    await supervisor.recorder(id).stop()
    return supervisor.view(id)
  },
  list: ({ pipeline_id: pipelineId, latitude, longitude, ...query }) =>
    orFault(() => {
      const covers = latitude === undefined || longitude === undefined ? undefined : { latitude, longitude }
      return recordings.spans({ pipelineId, ...query }, covers)
    }),
  removeBefore: ({ pipeline_id, before }) => orFault(() => recordings.removeBefore(pipeline_id, before)),
  key: () => orFault(() => recordings.publicKey()),
  range: (id, { range, ...times }) => orFault(async () => filePart(await playback.range(id, times), range)),
  movie: (id, { range, ...times }) => orFault(async () => filePart(await playback.movie(id, times), range)),
  file: (id, name, { range }) => orFault(async () => filePart(await playback.file(id, name), range)),
  playlist: (id, range) => orFault(() => playback.playlist(id, range)),
  picture: async (id, { at }) => {
    const { jpeg } = await orFault(() => playback.picture(id, at, supervisor.settings.screenshots.quality))
    const headers = {
      etag: `"${at.toString(36)}"`,
      'last-modified': new Date(at).toUTCString(),
      'x-created-at': new Date(at).toISOString(),
    }
    return { headers: { ...headers, 'content-length': jpeg.length }, body: jpeg }
  },
  klv: (id, { at }) =>
    orFault(async () => {
      const { packet, arrival } = await playback.klv(id, at)
      return klvPacketJson(packet, arrival)
    }),
  footprint: (id, { at }) =>
    orFault(async () => {
      const { packet, arrival } = await playback.klv(id, at)
      return footprintFeature(packet, arrival)
    }),
})

/** Turns an error of the directory into an ApiError for a user. */
const orFault = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ApiError) throw error
    if (isRecordingFault(error)) throw new ApiError(error.code, error.message, { reason: error.reason })
    if (errorCode(error) === undefined) throw error
    const { reason } = recordingFault(error)
    throw new ApiError('SERVICE_UNAVAILABLE', 'The recordings cannot be read: the disk reports an error.', { reason }, { cause: error })
  }
}
