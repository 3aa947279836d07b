import { StreamSink } from '../mount/stream-sink.ts'

/** Sends the units to one client as bytes of a format. */
export abstract class ByteSink extends StreamSink {
  readonly timesSound: boolean = true

  /** Called before the first unit. `compressed`: the timestamps of the cached GOP are drawn together, so that a client is not behind. */
  abstract begin(compressed?: boolean): void

  /** Called every second, and when the source is lost. `drained`: the queue of the reader is empty. */
  abstract check(drained: boolean): void

  /** RTCP has no place in these formats. */
  sendReport(): void {}
}
