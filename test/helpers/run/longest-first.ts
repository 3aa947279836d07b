import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take long for their size, most of it by waiting. */
const LONGEST = [
  'e2e/documents',
  'e2e/readers/dashboard-video',
  'e2e/push/receivers',
  'host/dashboard/pages',
  'host/life/endings',
  'host/life/hangs',
  'host/life/truth',
  'e2e/pipelines/first-pipeline',
  'host/package/package',
  'e2e/push/pushes',
  'host/life/start',
  'engine/ingest/odd-servers',
  'host/dashboard/forms',
  'e2e/triggers/hooks',
  'host/life/resources',
  'e2e/triggers/watched-server',
  'e2e/klv/sources',
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
