import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { MountOptions, MountPoint } from '../../../../engine/mount/mount-point.ts'
import { ReaderDemand } from '../../../../engine/pipelines/demand.ts'
import { PipelineStatus } from '../../../../engine/pipelines/status.ts'
import { LogRing } from '../../../../engine/play/log-ring.ts'
import type { Play } from '../../../../engine/play/play.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import type { Publisher } from '../../../../engine/rtsp/publisher/publisher.ts'
import { ApiError } from '../../../../lib/errors.ts'
import { DEFAULT_SETTINGS } from '../../../../lib/schema/settings.ts'
import { type PlayOptions, type ScriptedRun, startPlay } from '../../../helpers/fakes/play.ts'
import { configure } from '../../../helpers/media/play-launch.ts'

const CLOSE_AFTER_MS = DEFAULT_SETTINGS.on_demand.close_after_seconds * 1000
const PORT_IN_USE = new ApiError('SERVICE_UNAVAILABLE', 'Port 8554 is used.', { reason: 'port_in_use' })
const LOG = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** A publisher with one mount, whose readers the test counts. */
const fakePublisher = (refuse?: ApiError) => {
  const seen = { open: false, disconnects: 0, readers: 0, refuse, refused: 0 }
  let options: MountOptions | undefined
  const publisher: Publisher = {
    requireCredentials: () => {},
    listening: [],
    connections: 0,
    close: async () => {},
    mount: async (_address, mountOptions) => {
      if (seen.refuse !== undefined) {
        seen.refused += 1
        throw seen.refuse
      }
      options = mountOptions
      seen.open = true
      return {
        get readers() {
          return seen.readers
        },
        get point(): MountPoint {
          throw new Error('not a part of this test')
        },
        stats: { bytesOut: 0, unitsOut: 0, gopDrops: 0, worstLoss: 0 },
        disconnectReaders: () => {
          seen.disconnects += 1
        },
        close: async () => {
          seen.open = false
        },
      }
    },
  }
  const setReaders = (count: number): void => {
    seen.readers = count
    options?.onReaders?.(count)
  }
  return { publisher, seen, setReaders, describe: () => options?.onDescribe?.() }
}

/** The on-demand policy of a pipeline with an output; `scripts` are the children of the play that a reader starts. */
const setUp = (options: { onDemand?: boolean; refuse?: ApiError; startFails?: boolean; scripts?: readonly ScriptedRun[] } = {}) => {
  const { seen, ...readers } = fakePublisher(options.refuse)
  const commands: string[] = []
  let play: Play | undefined
  let settings = DEFAULT_SETTINGS
  const logRing = new LogRing(() => 0)
  const status = new PipelineStatus({ id: 'cam-1', logRing, log: LOG, now: () => 0, emit: () => {}, onChange: () => {} })
  const begin = (playOptions: PlayOptions, byReader: boolean): Play => {
    play = startPlay(options.scripts ?? [], playOptions).play
    play.byReader = byReader
    status.move('play')
    return play
  }
  const demand = new ReaderDemand({
    config: () => ({
      ...configure('test://ball', null),
      on_demand: options.onDemand ?? true,
      output: { uri: 'rtsp://0.0.0.0:8554/cam-1' },
    }),
    settings: () => settings,
    status,
    publisher: readers.publisher,
    streams: [new RtpStream(), new RtpStream()],
    log: LOG,
    play: () => play,
    start: async () => {
      commands.push('start')
      if (options.startFails) throw new ApiError('LICENSE_LIMIT_EXCEEDED', 'No slot is free.')
      await begin({ awaited: true }, true).started()
    },
    listenAgain: () => void demand.listen(),
    onReaders: () => {},
    stop: () => commands.push('stop'),
  })
  onTestFinished(async () => {
    demand.cancelStop()
    await demand.close()
    play?.stop()
    await play?.ended
  })
  const turnOff = (): void => {
    settings = { ...settings, on_demand: { ...settings.on_demand, start_on_read: false } }
  }
  return { ...readers, seen, commands, demand, status, begin, turnOff, current: () => play }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a ready on-demand pipeline', () => {
  it('× DESCRIBE: starts, and the reader waits for the first media', async () => {
    const { demand, describe, commands } = setUp()
    await demand.listen()
    const start = describe()
    expect(commands).toEqual(['start'])
    await expect(start).resolves.toBeUndefined()
  })

  it('× DESCRIBE × a start that fails: the reader gets the error', async () => {
    const { demand, describe } = setUp({ startFails: true })
    await demand.listen()
    await expect(describe()).rejects.toMatchObject({ code: 'LICENSE_LIMIT_EXCEEDED' })
  })

  it('× PLAY of a reader that has the description already: starts', async () => {
    const { demand, setReaders, commands, seen } = setUp()
    await demand.listen()
    setReaders(1)
    await vi.advanceTimersByTimeAsync(CLOSE_AFTER_MS * 2)
    expect([commands, seen.disconnects]).toEqual([['start'], 0])
  })

  it('× PLAY × a start that fails: disconnects the readers', async () => {
    const { demand, setReaders, seen } = setUp({ startFails: true })
    await demand.listen()
    setReaders(1)
    await vi.advanceTimersByTimeAsync(0)
    expect(seen.disconnects).toBe(1)
  })

  it('× one of several readers leaves: does not start', async () => {
    const { demand, setReaders, commands } = setUp({ startFails: true })
    await demand.listen()
    setReaders(2)
    await vi.advanceTimersByTimeAsync(0)
    setReaders(1)
    expect(commands).toEqual(['start'])
  })

  it('× start_on_read turned off: closes its output', async () => {
    const { demand, seen, turnOff } = setUp()
    await demand.listen()
    expect(seen.open).toBe(true)
    turnOff()
    await demand.settingsChanged()
    expect(seen.open).toBe(false)
  })

  it('× port in use: notes the fault and stays registered', async () => {
    const { demand, status } = setUp({ refuse: PORT_IN_USE })
    await demand.listen()
    expect(status.lastFault).toMatchObject({ reason: 'port_in_use', message: 'Port 8554 is used.' })
  })

  it('× port in use × the port becomes free: listens, and the fault is over', async () => {
    const { demand, seen, status } = setUp({ refuse: PORT_IN_USE })
    await demand.listen()
    const first = status.lastFault
    await vi.advanceTimersByTimeAsync(11_000)
    expect([seen.refused, status.lastFault]).toEqual([3, first])
    seen.refuse = undefined
    await vi.advanceTimersByTimeAsync(5000)
    expect([seen.open, status.read().last_error, status.lastFault]).toEqual([true, null, undefined])
  })

  it('× a start that the port in use prevented: listens when the port is free', async () => {
    const { demand, seen } = setUp({ refuse: PORT_IN_USE })
    await demand.release()
    seen.refuse = undefined
    await vi.advanceTimersByTimeAsync(5000)
    expect(seen.open).toBe(true)
  })

  it('× port in use × remove: tries no more', async () => {
    const { demand, seen } = setUp({ refuse: PORT_IN_USE })
    await demand.listen()
    await demand.close()
    await vi.advanceTimersByTimeAsync(20_000)
    expect(seen.refused).toBe(1)
  })

  it('× remove: never listens again', async () => {
    const { demand, seen } = setUp()
    await demand.close()
    await demand.listen()
    expect(seen.open).toBe(false)
  })
})

describe('a ready pipeline that is not on demand', () => {
  it('× listen: opens no output', async () => {
    const { demand, seen } = setUp({ onDemand: false })
    await demand.listen()
    expect(seen.open).toBe(false)
  })
})

describe('a pipeline that starts for a reader', () => {
  it('× DESCRIBE: the next reader waits for the same start', async () => {
    const { demand, describe, commands } = setUp({ scripts: [{ fault: 'unreachable' }] })
    await demand.listen()
    const starts = [describe(), describe()]
    expect(starts.every((start) => start !== undefined)).toBe(true)
    await vi.advanceTimersByTimeAsync(2000)
    await Promise.all(starts)
    expect(commands).toEqual(['start'])
  })
})

describe('a pipeline that plays for readers', () => {
  const playing = async () => {
    const started = setUp()
    await started.demand.listen()
    await started.describe()
    started.status.move('media')
    started.setReaders(1)
    return started
  }

  it('× DESCRIBE: the reader need not wait', async () => {
    const { describe } = await playing()
    expect(describe()).toBeUndefined()
  })

  it('× the last reader leaves: stops after close_after_seconds', async () => {
    const { setReaders, commands } = await playing()
    setReaders(0)
    await vi.advanceTimersByTimeAsync(CLOSE_AFTER_MS - 1)
    expect(commands).toEqual(['start'])
    await vi.advanceTimersByTimeAsync(1)
    expect(commands).toEqual(['start', 'stop'])
  })

  it('× the last reader leaves × a command plays it: goes on', async () => {
    const { setReaders, commands, current } = await playing()
    setReaders(0)
    const play = current()
    if (play !== undefined) play.byReader = false
    await vi.advanceTimersByTimeAsync(CLOSE_AFTER_MS * 2)
    expect(commands).toEqual(['start'])
  })

  it('× a reader comes back in time: goes on', async () => {
    const { setReaders, commands } = await playing()
    setReaders(0)
    await vi.advanceTimersByTimeAsync(CLOSE_AFTER_MS - 1)
    setReaders(1)
    await vi.advanceTimersByTimeAsync(CLOSE_AFTER_MS * 2)
    expect(commands).toEqual(['start'])
  })

  it('× end of the play: disconnects the readers and goes on listening', async () => {
    const { demand, seen } = await playing()
    await demand.release()
    expect([seen.disconnects, seen.open]).toEqual([1, true])
  })
})

describe('a pipeline that a command plays', () => {
  it('× the last reader leaves: goes on', async () => {
    const { demand, begin, setReaders, commands } = setUp()
    await demand.listen()
    begin({ awaited: false }, false)
    setReaders(1)
    setReaders(0)
    await vi.advanceTimersByTimeAsync(CLOSE_AFTER_MS * 2)
    expect(commands).toEqual([])
  })
})
