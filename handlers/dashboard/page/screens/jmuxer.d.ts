declare module 'jmuxer' {
  interface Options {
    readonly node: HTMLVideoElement
    readonly mode: 'video'
    /** 0 appends each frame at once. */
    readonly flushingTime: number
    readonly maxDelay: number
    readonly clearBuffer: boolean
    readonly onReady?: () => void
    readonly onError?: (error: unknown) => void
    readonly onUnsupportedCodec?: (codec: string) => void
  }
  export default class JMuxer {
    constructor(options: Options)
    /** Annex B; milliseconds. */
    feed(data: { readonly video: Uint8Array; readonly duration: number; readonly isLastVideoFrameComplete: boolean }): void
    destroy(): void
  }
}
