import { setUp } from './set-up.ts'

/** Global set-up of the project `unit`: the worker's tests run the built worker. */
export default (): void => setUp('--unit')
