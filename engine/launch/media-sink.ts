import { chain, element, type LaunchTokens } from '../gst/element.ts'

/**
 * The caps of a payloader and its packets, framed for a pipe (engine/gst/gdp.ts); `paced`: at the speed of their timestamps. The caps go
 * with the packets: of those that `gst-launch-1.0 -v` prints, GLib loses the line of a pad when two threads notify at the same time.
 */
export const framed = (paced: boolean): LaunchTokens => chain(paced ? element('clocksync') : [], element('gdppay'))

/** A media pipe of the child. */
export const pipeSink = (fd: number): LaunchTokens => element('fdsink', { fd, sync: false, async: false })

/** From a payloader to a media pipe of the child. */
export const mediaSink = (fd: number, paced = false): LaunchTokens => chain(framed(paced), pipeSink(fd))
