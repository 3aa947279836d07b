import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { processStart } from '../sandbox/leftovers.ts'

interface Address {
  readonly url: string
  readonly token: string
  readonly pid: number
  /** Start time: distinguishes this process from a later one with the same pid. */
  readonly started: string | undefined
  readonly version: string
}

/** Where an engine is, in a file of the data directory that only its owner can read. */
interface Announcement {
  /** Whether another engine that still runs is in the file. */
  isTaken(): boolean
  /** Answers the error when the file cannot be written, as on a full disk. */
  write(address: Address): unknown
  /** Writes what could not be written before. */
  tryAgain(): void
  /** Answers the error when the file cannot be removed, as on a disk that has become read-only. That of a later engine stays. */
  remove(): unknown
}

export const createAnnouncement = (dataDir: string): Announcement => {
  const file = join(dataDir, 'engine.json')
  const draft = `${file}.${process.pid}`
  let waiting: Address | undefined
  let written: string | undefined

  const write = (address: Address): unknown => {
    waiting = address
    const text = JSON.stringify(address)
    try {
      writeFileSync(draft, text, { mode: 0o600 })
      renameSync(draft, file)
      waiting = undefined
      written = text
      return undefined
    } catch (error) {
      // Otherwise each engine that ends on a full disk would leave one.
      rmSync(draft, { force: true })
      return error
    }
  }
  return {
    isTaken: () => {
      const { pid = process.pid, started } = readAddress(file)
      return pid !== process.pid && started !== undefined && started === processStart(pid)
    },
    write,
    tryAgain: () => {
      if (waiting !== undefined) write(waiting)
    },
    remove: () => {
      waiting = undefined
      try {
        if (existsSync(file) && readFileSync(file, 'utf8') === written) rmSync(file)
        return undefined
      } catch (error) {
        return error
      }
    },
  }
}

const readAddress = (file: string): Partial<Address> => {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Partial<Address>
  } catch {
    return {}
  }
}
