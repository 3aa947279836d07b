import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/process/prepare.ts'],
    // Real processes on two cores: more files at once would only make them wait for each other.
    maxWorkers: 2,
    // Players, cameras and kills on a machine that others use as well: what fails is tried once more, what is broken fails twice.
    retry: 1,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    pool: 'forks',
  },
})
