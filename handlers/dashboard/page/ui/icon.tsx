/** Drawn on 16 × 16 with a line of 1.5. Screen readers skip icons, which always have text beside them. */
const PATHS = {
  dot: 'M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7Z',
  wait: 'M8 2.5v2.2M8 11.3v2.2M2.5 8h2.2M11.3 8h2.2M4.1 4.1l1.6 1.6M10.3 10.3l1.6 1.6M4.1 11.9l1.6-1.6M10.3 5.7l1.6-1.6',
  alert: 'M8 5.6v3.2M8 11.3v.1M7 2.8 1.9 11.6c-.5.8.1 1.9 1 1.9h10.2c.9 0 1.5-1.1 1-1.9L9 2.8c-.5-.8-1.5-.8-2 0Z',
  stop: 'M4.5 4.5h7v7h-7Z',
  moon: 'M12.9 9.6A5.3 5.3 0 0 1 6.4 3.1a5.3 5.3 0 1 0 6.5 6.5Z',
  play: 'M5 3.3v9.4l7.5-4.7Z',
  plus: 'M8 3v10M3 8h10',
  grid: 'M2.5 2.5h4.6v4.6H2.5ZM8.9 2.5h4.6v4.6H8.9ZM2.5 8.9h4.6v4.6H2.5ZM8.9 8.9h4.6v4.6H8.9Z',
  wall: 'M2.5 3.5h11v9h-11ZM6.2 3.5v9M9.8 3.5v9M2.5 8h11',
  hosts: 'M3.5 2.5h9v4h-9ZM3.5 9.5h9v4h-9ZM5.8 4.5h.1M5.8 11.5h.1M8 6.5v3',
  map: 'M8 14s4.7-4.3 4.7-7.7a4.7 4.7 0 0 0-9.4 0C3.3 9.7 8 14 8 14ZM8 4.6a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6Z',
  camera: 'M2 5.2c0-.7.5-1.2 1.2-1.2h5.6c.7 0 1.2.5 1.2 1.2v5.6c0 .7-.5 1.2-1.2 1.2H3.2C2.5 12 2 11.5 2 10.8ZM10 7.2l4-2v5.6l-4-2',
  sliders: 'M2.5 4.5h5M11 4.5h2.5M2.5 11.5H5M8.5 11.5h5M9.2 2.7v3.6M6.7 9.7v3.6',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.3 10.3l3.2 3.2',
  lines: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  copy: 'M5.5 5.5h7v8h-7ZM10.5 5.5v-3h-7v8h2',
  edit: 'M9.8 3.7 12.3 6.2 6 12.5l-3.2.7.7-3.2ZM8.5 5l2.5 2.5',
  trash: 'M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9M6.7 7v4M9.3 7v4',
  back: 'M9.5 3.5 5 8l4.5 4.5',
  down: 'M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10',
  close: 'M4 4l8 8M12 4l-8 8',
  people:
    'M6 3a2.3 2.3 0 1 0 0 4.6A2.3 2.3 0 0 0 6 3ZM1.8 13c.2-2.3 2-3.7 4.2-3.7s4 1.4 4.2 3.7M10.6 3.3a2.3 2.3 0 0 1 0 4M12 9.8c1.3.6 2.1 1.7 2.2 3.2',
  clock: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM8 5v3.2l2 1.3',
  more: 'M3.5 7.9h.1M8 7.9h.1M12.5 7.9h.1',
  sound: 'M2.5 6.2h2.3L8 3.5v9L4.8 9.8H2.5ZM10.3 5.8a3.2 3.2 0 0 1 0 4.4M12 4a5.7 5.7 0 0 1 0 8',
  muted: 'M2.5 6.2h2.3L8 3.5v9L4.8 9.8H2.5ZM10.5 6.2l3.4 3.6M13.9 6.2l-3.4 3.6',
  full: 'M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10',
  float: 'M2.5 4c0-.8.5-1.3 1.3-1.3h8.4c.8 0 1.3.5 1.3 1.3v3M7 13.3H3.8c-.8 0-1.3-.5-1.3-1.3V4M9 9.5h4.5v3.8H9Z',
  again: 'M12.7 6.5A5 5 0 1 0 13 8.8M13 3.2v3.4H9.6',
} as const

export type IconName = keyof typeof PATHS

const FILLED: ReadonlySet<IconName> = new Set(['dot', 'stop', 'play'])

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class={`icon${name === 'wait' ? ' icon-wait' : ''}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d={PATHS[name]} {...(FILLED.has(name) && { fill: 'currentColor', stroke: 'none' })} />
  </svg>
)
