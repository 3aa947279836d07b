import type { Fault } from '../faults/fault.ts'
import type { Plan } from '../launch/plan.ts'
import { runChild } from './run-child.ts'
import { runContainer } from './run-container.ts'
import { runSource } from './run-source.ts'
import type { RunContext } from './watchdog.ts'

/** Runs what was planned until it ends or is stopped, and closes what the plan holds open. Resolves to the fault that ended it, or undefined when the signal did. */
export const runPlan = (run: RunContext, plan: Plan): Promise<Fault | undefined> => {
  if ('container' in plan) return runContainer({ ...run, source: plan.container, sound: plan.sound !== 'none' })
  return 'launch' in plan ? runChild({ ...run, ...plan }) : runSource({ ...run, ...plan })
}
