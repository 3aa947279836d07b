import type { Reporter, TestModule } from 'vitest/node'

/** Characters of an error with its differences. */
const MAX_ERROR = 4000

/** Names each test that failed at first, with its first error: the summary of the default reporter counts it as passed. */
export default class RetryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = modules.flatMap((module) =>
      [...module.children.allTests()]
        .filter((test) => (test.diagnostic()?.retryCount ?? 0) > 0)
        .map((test) => {
          const error = test.attempts().flatMap(({ errors }) => errors ?? [])[0]
          // What a promise was rejected with has more to tell than that it was.
          const cause = (error?.cause as { message?: unknown } | undefined)?.message ?? ''
          const told = [error?.message ?? 'no error', cause, error?.diff ?? ''].join('\n').trim().slice(0, MAX_ERROR)
          return `  ${module.relativeModuleId} > ${test.fullName}\n    ${told.replaceAll('\n', '\n    ')}`
        }),
    )
    if (lines.length > 0) process.stdout.write(`\n Retried tests: ${lines.length}\n${lines.join('\n')}\n`)
  }
}
