import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take longest, most of it by waiting. */
const LONGEST = [
  'e2e/documents',
  'e2e/push/receivers',
  'e2e/readers/dashboard-video',
  'host/package/package',
  'host/life/hangs',
  'host/dashboard/pages',
  'engine/ingest/sources',
  'engine/ingest/odd-servers',
  'e2e/readers/transport-stream',
  'host/life/resources',
  'host/dashboard/forms',
  'e2e/klv/sources',
  'e2e/push/pushes',
  'host/life/endings',
  'host/life/truth',
  'e2e/readers/sound',
  'e2e/klv/frames',
  'e2e/readers/encoded-video',
  'e2e/readers/screenshots',
] as const

/** The first of them, which wait beside the unit and API tests, which compute. */
const FIRST = 3

const rankOf = ({ moduleId, project }: TestSpecification): number => {
  const rank = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
  if (rank >= 0) return rank < FIRST ? rank : LONGEST.length + rank
  return ['unit', 'api'].includes(project.name) ? FIRST + ['api', 'unit'].indexOf(project.name) : 2 * LONGEST.length
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
