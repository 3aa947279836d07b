import { setUp } from './set-up.ts'
import { ownTemporaryFolder } from './temporary-folder.ts'

/** Global set-up of the project `unit`: the worker's tests run the built worker. */
export default (): (() => Promise<void>) => {
  setUp('--unit')
  return ownTemporaryFolder()
}
