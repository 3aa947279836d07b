import { describe, expect, it } from 'vitest'
import { nextState, type PushEvent } from '../../../../engine/push/states.ts'
import { PUSH_STATES } from '../../../../lib/schema/pipeline.ts'

const EVENTS: readonly PushEvent[] = ['start', 'sent', 'fault', 'stop']

describe('the states of a push', () => {
  it('follow its attempts', () => {
    expect(PUSH_STATES.map((state) => EVENTS.map((event) => nextState(state, event) ?? '-').join(' '))).toEqual([
      'connecting - - -',
      '- sending waiting idle',
      'connecting - waiting idle',
      'connecting - waiting idle',
    ])
  })
})
