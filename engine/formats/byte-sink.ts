import { StreamSink } from '../mount/stream-sink.ts'

/** Sends the units of one client as bytes of a format. */
export abstract class ByteSink extends StreamSink {
  /** Called before the first unit. */
  abstract begin(): void

  /** Called now and then, and when the source is lost. `drained`: nothing waits before what is written now. */
  abstract check(drained: boolean): void

  /** RTCP has no place in these formats. */
  sendReport(): void {}
}
