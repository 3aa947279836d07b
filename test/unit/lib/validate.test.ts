import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../lib/errors.ts'
import { type ValidationIssue, validate } from '../../../lib/validate.ts'

const schema = v.strictObject({
  name: v.pipe(v.string('Use a string'), v.minLength(1, 'Give a name')),
  size: v.optional(v.strictObject({ width: v.number() })),
  list: v.optional(v.array(v.string())),
})

const failure = (input: unknown): ApiError => {
  try {
    validate(schema, input, 'thing')
  } catch (error) {
    if (error instanceof ApiError) return error
  }
  throw new Error('Accepted')
}
const issuesOf = (input: unknown): readonly ValidationIssue[] => failure(input).details.issues as readonly ValidationIssue[]

describe('validating', () => {
  it('returns the parsed input', () => expect(validate(schema, { name: 'x' }, 'thing')).toEqual({ name: 'x' }))

  for (const [name, input, issue] of [
    ['a missing field', {}, { path: 'name', message: 'This field is required' }],
    ['an unknown field', { name: 'x', colour: 1 }, { path: 'colour', message: 'Unknown field' }],
    ['a field of a wrong type', { name: 7 }, { path: 'name', message: 'Use a string' }],
    ['a value out of bounds', { name: '' }, { path: 'name', message: 'Give a name' }],
    [
      'a wrong value without a message of its own',
      { name: 'x', size: { width: 'secret' } },
      { path: 'size.width', message: 'Use a number' },
    ],
    ['an item of a list', { name: 'x', list: ['a', 5] }, { path: 'list.1', message: 'Use a string' }],
    ['a list that is none', { name: 'x', list: 'a' }, { path: 'list', message: 'Use a list' }],
    ['an object that is none', { name: 'x', size: 5 }, { path: 'size', message: 'Use an object' }],
  ] as const) {
    it(`names ${name}`, () => expect(issuesOf(input)).toEqual([issue]))
  }

  it('has the first issue in the message, without a colon that would look like a credential', () => {
    expect(failure({ name: '' }).message).toBe('The thing is not valid at name. Give a name.')
  })

  it('lists at most 20 issues', () => {
    const input = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field${index}`, 1]))
    expect(issuesOf({ name: 'x', list: Array(500).fill(1), ...input }).length).toBeLessThanOrEqual(20)
  })

  it('never echoes a value', () => {
    const secret = 'hunter2'
    for (const input of [secret, [secret], { name: { secret } }, { name: 'x', size: secret }, { name: 'x', list: secret }]) {
      expect(JSON.stringify([failure(input).message, failure(input).details])).not.toContain(secret)
    }
  })
})
