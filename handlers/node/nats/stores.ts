import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { errors, type NatsConnection, nanos } from '@nats-io/transport-node'
import { ACTUAL_BUCKET, DESIRED_BUCKET, EVENT_STREAM, EVENT_SUBJECTS, streamOfBucket, subjectOfKey } from '../../../lib/fleet/names.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** Of a request to JetStream, milliseconds. */
const REQUEST_MS = 5000

/** JetStream as the fleet uses it: no request that a host may not make for itself alone. */
export interface Stores {
  readonly js: JetStreamClient
  readonly jsm: JetStreamManager
  readonly desired: KV
  readonly actual: KV
}

export const openStores = async (nc: NatsConnection): Promise<Stores> => {
  const js = jetstream(nc, { checkAPI: false, timeout: REQUEST_MS })
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: REQUEST_MS })
  const buckets = new Kvm(js)
  const [desired, actual] = await Promise.all([DESIRED_BUCKET, ACTUAL_BUCKET].map((name) => buckets.open(name, { allow_direct: true })))
  if (desired === undefined || actual === undefined) throw new Error('no buckets')
  return { js, jsm, desired, actual }
}

/** As the buckets of other clients, but that no host may clear the bucket of actual states by a roll-up. */
const bucket = (name: string, mayRollUp: boolean): Partial<StreamConfig> => ({
  name: streamOfBucket(name),
  subjects: [subjectOfKey(name, '>')],
  max_msgs_per_subject: 1,
  discard: DiscardPolicy.New,
  allow_rollup_hdrs: mayRollUp,
})

const STREAMS: readonly Partial<StreamConfig>[] = [
  bucket(DESIRED_BUCKET, true),
  bucket(ACTUAL_BUCKET, false),
  {
    name: EVENT_STREAM,
    subjects: [EVENT_SUBJECTS],
    max_age: nanos(7 * DAY_MS),
    max_msgs: 1_000_000,
    discard: DiscardPolicy.Old,
    // An event whose answer was lost is sent again after the outage.
    duplicate_window: nanos(HOUR_MS),
  },
]

/** Creates buckets and stream that do not exist. A cluster keeps three copies of them where it has three servers. Throws when this user may not. */
export const createStores = async (nc: NatsConnection, { jsm }: Stores): Promise<void> => {
  const replicas = nc.info?.cluster === undefined ? [1] : [3, 1]
  for (const config of STREAMS) await createStream(jsm, config, replicas)
}

const createStream = async (jsm: JetStreamManager, config: Partial<StreamConfig>, replicas: readonly number[]): Promise<void> => {
  const [num_replicas = 1, ...fewer] = replicas
  const common = { retention: RetentionPolicy.Limits, storage: StorageType.File, allow_direct: true, num_replicas }
  try {
    await jsm.streams.add({ ...common, ...config, name: config.name ?? '' })
  } catch (error) {
    if (isThere(error)) return
    if (fewer.length === 0 || !isShortOfServers(error)) throw error
    await createStream(jsm, config, fewer)
  }
}

/** Error codes of JetStream. */
const EXISTS_OTHERWISE = 10058
const NO_SUITABLE_PEERS = 10005
const NOT_CLUSTERED = 10074

const codeOf = (error: unknown): number | undefined => (error instanceof JetStreamApiError ? error.code : undefined)

/** Somebody has created it with other limits, which stay. */
const isThere = (error: unknown): boolean => codeOf(error) === EXISTS_OTHERWISE

const isShortOfServers = (error: unknown): boolean => codeOf(error) === NO_SUITABLE_PEERS || codeOf(error) === NOT_CLUSTERED

/** Whether nobody answers for a stream: it does not exist, has no leader now, or JetStream is off. */
export const hasNoStream = (error: unknown): boolean =>
  // Of a publish, whose class the library does not export.
  (error instanceof Error && error.name === 'JetStreamNotEnabled') ||
  error instanceof errors.NoRespondersError ||
  (error instanceof errors.RequestError && error.isNoResponders())

/** As above, or no answer: to a read of a stream that does not exist, and to a message that only others hear. */
export const mayMissStream = (error: unknown): boolean => error instanceof errors.TimeoutError || hasNoStream(error)
