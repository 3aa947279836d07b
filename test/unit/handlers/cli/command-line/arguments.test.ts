import { describe, expect, it } from 'vitest'
import { readArguments, UsageError } from '../../../../../handlers/cli/command-line/arguments.ts'

describe('the arguments of a command', () => {
  it('may have a value that begins with a dash, as one random API key in 64 does', () => {
    expect(readArguments('ls', ['--api-key', '-wXq0', '--json']).text('api-key')).toBe('-wXq0')
    expect(readArguments('ls', ['--api-key', '--0wXq']).text('api-key')).toBe('--0wXq')
    expect(readArguments('ls', ['--api-key=-wXq0']).text('api-key')).toBe('-wXq0')
  })

  it('take no option for the value of the one before', () => {
    for (const args of [['--api-key', '--json'], ['--api-key', '--url=http://localhost:1'], ['--api-key', '-h'], ['--api-key']])
      expect(() => readArguments('ls', args), args.join(' ')).toThrow(UsageError)
    expect(readArguments('play', ['--json', '--', '-yard']).operands).toEqual(['-yard'])
  })
})
