/** `<pipeline id>_<yyyymmddThhmmssSSSZ>.jpg`, in UTC. */
const NAME = /^([a-zA-Z0-9_-]{1,64})_(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z\.jpg$/

export interface FileName {
  readonly pipelineId: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

export const formatFileName = ({ pipelineId, createdAt }: FileName): string =>
  `${pipelineId}_${new Date(createdAt).toISOString().replace(/[-:.]/g, '')}.jpg`

/** Undefined unless the name is exactly what `formatFileName` returns. */
export const parseFileName = (name: string): FileName | undefined => {
  const [, pipelineId = '', year, month, day, hour, minute, second, ms] = NAME.exec(name) ?? []
  const createdAt = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`)
  const parsed = { pipelineId, createdAt }
  return !Number.isNaN(createdAt) && formatFileName(parsed) === name ? parsed : undefined
}
