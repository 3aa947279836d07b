import { defineConfig } from 'vitest/config'
import LongestFirst from './test/helpers/run/longest-first.ts'

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
    expect: { requireAssertions: true, poll: { interval: 20, timeout: 20_000 } },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          globalSetup: ['test/helpers/run/prepare-unit.ts'],
          testTimeout: 30_000,
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          // In processes of its own: what a test's services leave behind for seconds, such as the pause before the next attempt to
          // connect, would meet the fake timers of a unit test.
          name: 'api',
          include: ['test/api/**/*.test.ts'],
          globalSetup: ['test/helpers/run/prepare-unit.ts'],
          // Some call every endpoint, which takes long on a busy machine.
          testTimeout: 60_000,
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'processes',
          include: ['test/{engine,host,e2e}/**/*.test.ts'],
          globalSetup: ['test/helpers/run/prepare-processes.ts'],
          // They wait for most of their time: with three at once, half of two cores is idle.
          maxWorkers: 4,
          testTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
