import { describe, expect, it } from 'vitest'
import { type LifecycleEvent, nextPhase, stateOf } from '../../../../engine/pipelines/lifecycle.ts'
import { PHASES, type Phase } from '../../../../lib/schema/pipeline.ts'

const EVENTS: readonly LifecycleEvent[] = ['play', 'media', 'lost', 'fault', 'timeout', 'give_up', 'stop', 'ended']

describe('the lifecycle', () => {
  it.each<[Phase, readonly string[]]>([
    ['idle', ['play → starting']],
    ['starting', ['media → playing', 'lost → reconnecting', 'fault → failed', 'timeout → failed', 'stop → stopping']],
    ['playing', ['lost → reconnecting', 'fault → failed', 'stop → stopping']],
    ['reconnecting', ['media → playing', 'lost → reconnecting', 'fault → failed', 'give_up → failed', 'stop → stopping']],
    ['stopping', ['ended → idle']],
    ['failed', ['play → starting', 'stop → stopping']],
  ])('leaves %s by these events alone: %j', (phase, expected) => {
    const transitions = EVENTS.flatMap((event) => {
      const next = nextPhase(phase, event)
      return next === undefined ? [] : [`${event} → ${next}`]
    })
    expect(transitions).toEqual(expected)
  })

  it.each<[boolean, readonly Phase[]]>([
    [true, ['playing', 'reconnecting', 'stopping']],
    [false, ['playing']],
  ])('with media before: %s, the state is playing in %j, and ready in all others', (hadMedia, playing) => {
    for (const phase of PHASES) expect(stateOf(phase, hadMedia), phase).toBe(playing.includes(phase) ? 'playing' : 'ready')
  })
})
