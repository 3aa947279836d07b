const STEPS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
] as const

/** In the largest unit: `12 s`, `3 min`, `5 h`, `2 d`. */
export const shortDuration = (seconds: number): string => {
  const whole = Math.max(0, Math.round(seconds))
  const step = STEPS.find(([size]) => whole >= size)
  return step === undefined ? `${whole} s` : `${Math.floor(whole / step[0])} ${step[1]}`
}

/** `3 min ago` or `in 3 min`, of an ISO 8601 time. */
export const relativeTime = (time: string, now: number): string => {
  const seconds = (now - Date.parse(time)) / 1000
  return seconds >= 0 ? `${shortDuration(seconds)} ago` : `in ${shortDuration(-seconds)}`
}

/** `1.2 Mbit/s`, `850 kbit/s`. */
export const bitrate = (kbps: number): string => (kbps >= 1000 ? `${(kbps / 1000).toFixed(1)} Mbit/s` : `${Math.round(kbps)} kbit/s`)
