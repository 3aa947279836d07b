import { describe, expect, it } from 'vitest'
import { LIFECYCLE, type LifecycleEvent, nextPhase, stateOf } from '../../../../engine/pipelines/lifecycle.ts'
import { PHASES, type Phase } from '../../../../lib/schema/pipeline.ts'

const EVENTS: readonly LifecycleEvent[] = ['play', 'media', 'lost', 'fault', 'timeout', 'give_up', 'stop', 'ended']

describe('the lifecycle', () => {
  it.each<[Phase, LifecycleEvent, Phase]>([
    ['idle', 'play', 'starting'],
    ['starting', 'media', 'playing'],
    ['starting', 'lost', 'reconnecting'],
    ['starting', 'fault', 'failed'],
    ['starting', 'timeout', 'failed'],
    ['starting', 'stop', 'stopping'],
    ['playing', 'lost', 'reconnecting'],
    ['playing', 'fault', 'failed'],
    ['playing', 'stop', 'stopping'],
    ['reconnecting', 'media', 'playing'],
    ['reconnecting', 'lost', 'reconnecting'],
    ['reconnecting', 'give_up', 'failed'],
    ['reconnecting', 'stop', 'stopping'],
    ['stopping', 'ended', 'idle'],
    ['failed', 'play', 'starting'],
    ['failed', 'stop', 'stopping'],
  ])('%s × %s → %s', (phase, event, next) => {
    expect(nextPhase(phase, event)).toBe(next)
  })

  it('has no other transition', () => {
    const named = PHASES.flatMap((phase) => Object.keys(LIFECYCLE[phase]).map((event) => `${phase} ${event}`))
    const possible = PHASES.flatMap((phase) =>
      EVENTS.filter((event) => nextPhase(phase, event) !== undefined).map((event) => `${phase} ${event}`),
    )
    expect(possible.sort()).toEqual(named.sort())
    expect(nextPhase('idle', 'media')).toBeUndefined()
    expect(nextPhase('stopping', 'media')).toBeUndefined()
  })

  it('leads from every phase to idle by stop and ended', () => {
    for (const phase of PHASES.filter((name) => name !== 'idle' && name !== 'stopping')) {
      expect(nextPhase(nextPhase(phase, 'stop') ?? 'idle', 'ended')).toBe('idle')
    }
  })

  it.each<[Phase, boolean, string]>([
    ['idle', false, 'ready'],
    ['starting', false, 'ready'],
    ['playing', true, 'playing'],
    ['reconnecting', true, 'playing'],
    ['reconnecting', false, 'ready'],
    ['stopping', true, 'playing'],
    ['stopping', false, 'ready'],
    ['failed', true, 'ready'],
  ])('state in %s (had media: %s): %s', (phase, hadMedia, state) => {
    expect(stateOf(phase, hadMedia)).toBe(state)
  })
})
