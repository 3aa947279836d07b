import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { MountOptions, MountPoint } from '../../../../engine/mount/mount-point.ts'
import { ReaderDemand } from '../../../../engine/pipelines/demand.ts'
import { PipelineStatus } from '../../../../engine/pipelines/status.ts'
import { LogRing } from '../../../../engine/play/log-ring.ts'
import type { Play } from '../../../../engine/play/play.ts'
import { createMediaStreams } from '../../../../engine/rtp/media-streams.ts'
import type { Publisher } from '../../../../engine/rtsp/publisher/publisher.ts'
import { ApiError } from '../../../../lib/errors.ts'
import { DEFAULT_SETTINGS } from '../../../../lib/schema/settings.ts'
import { type PlayOptions, type ScriptedRun, startPlay } from '../../../helpers/fakes/play.ts'
import { configure } from '../../../helpers/media/play-launch.ts'
import { silentLog } from '../../../helpers/rtsp/media.ts'

const CLOSE_AFTER_MS = DEFAULT_SETTINGS.on_demand.close_after_seconds * 1000
const PORT_IN_USE = new ApiError('SERVICE_UNAVAILABLE', 'Port 8554 is used.', { reason: 'port_in_use' })

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
  const status = new PipelineStatus({ id: 'cam-1', logRing, log: silentLog, now: () => 0, emit: () => {}, onChange: () => {} })
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
    streams: createMediaStreams(),
    log: silentLog,
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

const listening = async (options: Parameters<typeof setUp>[0] = {}) => {
  const started = setUp(options)
  await started.demand.listen()
  return started
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a ready on-demand pipeline', () => {
  it('× DESCRIBE: starts, and the readers wait for the first media of the same start', async () => {
    const { describe, commands } = await listening({ scripts: [{ fault: 'unreachable' }] })
    const starts = [describe(), describe()]
    expect([starts.includes(undefined), commands]).toEqual([false, ['start']])
    await vi.advanceTimersByTimeAsync(2000)
    await Promise.all(starts)
    expect(commands).toEqual(['start'])
  })

  it('× DESCRIBE × a start that fails: the reader gets the error', async () => {
    const { describe } = await listening({ startFails: true })
    await expect(describe()).rejects.toMatchObject({ code: 'LICENSE_LIMIT_EXCEEDED' })
  })

  it.each([
    ['starts', false, 0],
    ['is disconnected when the start fails', true, 1],
  ])('× PLAY of a reader that has the description already: %s', async (_what, startFails, disconnects) => {
    const { setReaders, commands, seen } = await listening({ startFails })
    setReaders(1)
    await vi.advanceTimersByTimeAsync(CLOSE_AFTER_MS * 2)
    expect([commands, seen.disconnects]).toEqual([['start'], disconnects])
  })

  it('× one of several readers leaves: does not start', async () => {
    const { setReaders, commands } = await listening({ startFails: true })
    setReaders(2)
    await vi.advanceTimersByTimeAsync(0)
    setReaders(1)
    expect(commands).toEqual(['start'])
  })

  it('× start_on_read turned off: closes its output', async () => {
    const { demand, seen, turnOff } = await listening()
    expect(seen.open).toBe(true)
    turnOff()
    await demand.settingsChanged()
    expect(seen.open).toBe(false)
  })

  it('× port in use: notes the fault once, and listens when the port is free', async () => {
    const { seen, status } = await listening({ refuse: PORT_IN_USE })
    const first = status.lastFault
    expect(first).toMatchObject({ reason: 'port_in_use', message: 'Port 8554 is used.' })
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
    const { demand, seen } = await listening({ refuse: PORT_IN_USE })
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

it('a ready pipeline that is not on demand × listen: opens no output', async () => {
  const { seen } = await listening({ onDemand: false })
  expect(seen.open).toBe(false)
})

describe('a pipeline that plays for readers', () => {
  const playing = async () => {
    const started = await listening()
    await started.describe()
    started.status.move('media')
    started.setReaders(1)
    return started
  }
  type Playing = Awaited<ReturnType<typeof playing>>

  it('× DESCRIBE: the reader need not wait', async () => {
    const { describe } = await playing()
    expect(describe()).toBeUndefined()
  })

  it.each<[string, readonly string[], (started: Playing) => void]>([
    ['stops after close_after_seconds', ['start', 'stop'], () => {}],
    ['goes on when a reader comes back in time', ['start'], ({ setReaders }) => setReaders(1)],
    ['goes on when a command plays it', ['start'], ({ current }) => Object.assign(current() ?? {}, { byReader: false })],
  ])('× the last reader leaves: %s', async (_what, expected, meanwhile) => {
    const started = await playing()
    started.setReaders(0)
    await vi.advanceTimersByTimeAsync(CLOSE_AFTER_MS - 1)
    expect(started.commands).toEqual(['start'])
    meanwhile(started)
    await vi.advanceTimersByTimeAsync(CLOSE_AFTER_MS * 2)
    expect(started.commands).toEqual(expected)
  })

  it('× end of the play: disconnects the readers and goes on listening', async () => {
    const { demand, seen } = await playing()
    await demand.release()
    expect([seen.disconnects, seen.open]).toEqual([1, true])
  })
})

it('a pipeline that a command plays × the last reader leaves: goes on', async () => {
  const { begin, setReaders, commands } = await listening()
  begin({ awaited: false }, false)
  setReaders(1)
  setReaders(0)
  await vi.advanceTimersByTimeAsync(CLOSE_AFTER_MS * 2)
  expect(commands).toEqual([])
})
