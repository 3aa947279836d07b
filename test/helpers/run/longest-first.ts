import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take long for their size, most of it by waiting. */
const LONGEST = [
  'e2e/readers/dashboard-video',
  'e2e/push/receivers',
  'host/packed-client',
  'e2e/readers/screenshots',
  'e2e/klv/sources',
  'e2e/push/survival',
  'host/hang-watch',
  'host/truth',
  'host/secrets',
  'e2e/push/pushes',
  'engine/rtsp/players',
  'e2e/triggers/watched-server',
  'e2e/pipelines/on-demand',
] as const

const rankOf = ({ moduleId }: TestSpecification): number => {
  const rank = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
  return rank === -1 ? LONGEST.length : rank
}

/**
 * Begins with the longest files, so that all workers have something to do until the end. By itself the runner goes by the times of
 * earlier runs, which a clean clone does not have, else by the size of the files.
 */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rankOf(one) - rankOf(other))
  }
}
