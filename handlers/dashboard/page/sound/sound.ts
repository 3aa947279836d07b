import { type ReadonlySignal, signal } from '@preact/signals'
import type { AudioConfig } from '../../../../lib/video-records.ts'
import { createLateness } from './lateness.ts'
import { createMediaSourceSound, type MediaSourceSound, soundTypeOf } from './media-source-sound.ts'
import { createSoundOutput, type SoundOutput } from './sound-output.ts'

/** The sound of a live picture. It is decoded also while it is muted, for its level. */
export interface Sound {
  /** 0 to 1, the peak of the last tenth of a second; undefined without sound that this browser decodes. */
  readonly level: ReadonlySignal<number | undefined>
  readonly isMuted: ReadonlySignal<boolean>
  /** A browser lets a page make a sound after an action of the user. */
  readonly setMuted: (isMuted: boolean) => void
  readonly configure: (config: AudioConfig) => void
  /** `timestamp`: µs, on the clock of the pictures. */
  readonly play: (timestamp: number, data: Uint8Array<ArrayBuffer>) => void
  /** How far the clock of the page is ahead of the sound that is heard, milliseconds; undefined while none is heard. */
  readonly heardAfterMs: () => number | undefined
  /** The picture of this time is shown, µs. */
  readonly follow: (timestamp: number) => void
  /** The source has come back: its times may be others. */
  readonly reset: () => void
  /** An element plays the sound. `levelOf`: its peak, 0 to 1. Returns what detaches it. */
  readonly attach: (element: HTMLMediaElement, levelOf: () => number) => () => void
  readonly close: () => void
}

const VOLUME_KEY = 'volume'

const storedVolume = (): number => {
  const stored = Number(localStorage.getItem(VOLUME_KEY) ?? '1')
  return stored >= 0 && stored <= 1 ? stored : 1
}

/** 0 to 1, of every pipeline; kept by this browser. */
export const volume = signal(storedVolume())

volume.subscribe((value) => {
  if (value !== storedVolume()) localStorage.setItem(VOLUME_KEY, String(value))
})

const LEVEL_MS = 100

export const createSound = (): Sound => {
  const level = signal<number | undefined>(undefined)
  const isMuted = signal(true)
  const lateness = createLateness()
  let decoder: AudioDecoder | undefined
  let output: SoundOutput | undefined
  let beside: MediaSourceSound | undefined
  let attached: { readonly element: HTMLMediaElement; readonly levelOf: () => number } | undefined
  let peak = 0
  const timer = setInterval(() => {
    if (attached !== undefined) level.value = attached.levelOf()
    else if (decoder !== undefined) level.value = peak
    peak = 0
  }, LEVEL_MS)
  const apply = (): void => {
    output?.setVolume(volume.peek())
    if (attached !== undefined) Object.assign(attached.element, { muted: isMuted.peek(), volume: volume.peek() })
  }
  const stopVolume = volume.subscribe(apply)

  const take = (data: AudioData): void => {
    const { numberOfFrames, numberOfChannels, sampleRate, timestamp } = data
    const channels = Array.from({ length: numberOfChannels }, (_, planeIndex) => {
      const samples = new Float32Array(numberOfFrames)
      data.copyTo(samples, { planeIndex, format: 'f32-planar' })
      return samples
    })
    data.close()
    peak = Math.max(peak, peakOf(channels))
    const late = lateness.value()
    if (output !== undefined && !isMuted.peek() && late !== undefined)
      output.schedule({ channels, rate: sampleRate, atMs: timestamp / 1000 }, late)
  }

  const configure = async (config: AudioConfig): Promise<void> => {
    const { supported } = await AudioDecoder.isConfigSupported(config)
    if (supported !== true) return
    closeDecoder()
    decoder = new AudioDecoder({ output: take, error: closeDecoder })
    decoder.configure(config)
    level.value = 0
  }

  const attach = (element: HTMLMediaElement, levelOf: () => number): (() => void) => {
    const own = { element, levelOf }
    attached = own
    level.value = 0
    apply()
    return () => {
      if (attached !== own) return
      attached = undefined
      level.value = undefined
      element.muted = true
    }
  }

  /** Where the page has no decoder. */
  const openBeside = ({ codec }: AudioConfig): void => {
    closeBeside()
    const type = soundTypeOf(codec)
    if (type === undefined) return
    beside = createMediaSourceSound(type, () => closeBeside())
    const detach = attach(beside.element, beside.level)
    const { close } = beside
    closeBeside = () => {
      beside = undefined
      closeBeside = () => {}
      detach()
      close()
    }
  }
  let closeBeside = (): void => {}

  const closeDecoder = (): void => {
    if (decoder !== undefined && decoder.state !== 'closed') decoder.close()
    decoder = undefined
    level.value = undefined
  }

  return {
    level,
    isMuted,
    setMuted: (muted) => {
      if (attached === undefined) {
        output ??= createSoundOutput(volume.peek())
        output.begin()
      } else if (!muted) beside?.measure()
      isMuted.value = muted
      apply()
    },
    configure: (config) => {
      if (typeof AudioDecoder !== 'undefined') configure(config).catch(closeDecoder)
      else openBeside(config)
    },
    play: (timestamp, data) => {
      beside?.play(timestamp, data)
      if (decoder?.state !== 'configured') return
      lateness.observe(timestamp / 1000, performance.now())
      decoder.decode(new EncodedAudioChunk({ type: 'key', timestamp, data }))
    },
    heardAfterMs: () => (isMuted.peek() ? undefined : output?.heardAfterMs()),
    follow: (timestamp) => beside?.follow(timestamp),
    reset: () => {
      lateness.reset()
      output?.begin()
    },
    attach,
    close: () => {
      clearInterval(timer)
      stopVolume()
      closeDecoder()
      closeBeside()
      output?.close()
    },
  }
}

const peakOf = (channels: readonly Float32Array[]): number => {
  let peak = 0
  for (const samples of channels) for (const sample of samples) peak = Math.max(peak, Math.abs(sample))
  return Math.min(1, peak)
}
