import { describe, expect, it } from 'vitest'
import { namedPayloaders, singleSpaced, tokenize, unescapeValue } from '../../../../engine/gst/description.ts'
import { advancedLaunch } from '../../../../engine/launch/advanced.ts'
import { showLaunch } from '../../../../engine/launch/launch.ts'

describe('tokenize', () => {
  it.each([
    'videotestsrc ! x264enc ! rtph264pay name=pay0',
    '( videotestsrc name = "a b" ! video/x-raw, format=(string)I420 ! fakesink )',
    'a. ! b.sink_0  \n\t c="\\"" \'x\' file:///tmp/x ! /tmp/y',
    'x="open',
    '\\ \\" \' " ! ! = .. ( } é',
    '',
  ])('loses no character of %j', (description) => {
    expect(
      tokenize(description)
        .map(({ text }) => text)
        .join(''),
    ).toBe(description)
  })

  it('distinguishes elements, properties, caps, references and addresses', () => {
    const kinds = tokenize('rtspsrc name=s ! video/x-raw,name=pay0 ! tee s. ! file:///x')
      .filter(({ kind }) => kind !== 'space')
      .map(({ kind, text }) => `${kind} ${text}`)
    expect(kinds).toEqual([
      'element rtspsrc',
      'assignment name=s',
      'caps ! video/x-raw,name=pay0 ',
      'operator !',
      'element tee',
      'reference s.',
      'operator !',
      'url file:///x',
    ])
  })

  it.each(['a="\\" ', '! a/b ', "x='", 'a. ', '((', '\\'])('loses no character of a hostile description of many %j', (unit) => {
    const description = unit.repeat(Math.floor(16384 / unit.length))
    const tokens = tokenize(description)
    expect(tokens.map(({ text }) => text).join('')).toBe(description)
    expect(tokens.every(({ text }) => text.length > 0)).toBe(true)
  })
})

it.each(['a,', 'a.,', 'a+', ':a/b', ':a/b ', '! a/b '])('a description of many %j is split in linear time', (unit) => {
  // With a search to the end from each position this would take minutes; the test's own timeout judges.
  const description = unit.repeat(Math.floor(400_000 / unit.length))
  expect(tokenize(description).reduce((sum, { text }) => sum + text.length, 0)).toBe(description.length)
})

describe('singleSpaced', () => {
  it.each([
    ['a  !   b ', 'a ! b '],
    ['a \n  ! b', 'a ! b'],
    ['a\n  ! b', 'a\n! b'],
    ['a name="x  y"  ! b', 'a name="x  y" ! b'],
    ["a name='x  y'  ! b", "a name='x  y' ! b"],
    ['a name=x\\   y', 'a name=x\\  y'],
    ['a name=x\\\n  b=1', 'a name=x\\\nb=1'],
  ])('makes of %j the description %j', (description, expected) => {
    expect(singleSpaced(description)).toBe(expected)
  })
})

describe('unescapeValue', () => {
  it.each([
    ['pay0', 'pay0'],
    ['"pay0"', 'pay0'],
    ["'pay0'", 'pay0'],
    ['p\\ay0', 'pay0'],
    ['"a b"', 'a b'],
    ['a\\ b', 'a b'],
  ])('reads %s as %s', (raw, value) => {
    expect(unescapeValue(raw)).toBe(value)
  })
})

describe('namedPayloaders', () => {
  it.each([
    ['fakesrc ! rtph264pay name=pay0', ['pay0']],
    ['( a ! rtph264pay name="pay0" pt=96  b ! rtpklvpay name = pay1 )', ['pay0', 'pay1']],
    ["a ! b name='pay0'", ['pay0']],
    ['a ! b name=pay01', []],
    ['a ! video/x-raw,name=pay0 ! b', []],
    ['a ! b title="name=pay0"', []],
    // GStreamer's lexer prefers the longest match: the second backslash includes the blank.
    ['a title=x\\\\ name=pay0', []],
  ])('finds in %s: %j', (description, names) => {
    expect(namedPayloaders(description)).toEqual(names)
  })
})

describe('advancedLaunch', () => {
  it('passes the tokens of the description as they were written, and adds a branch for each payloader', () => {
    const raw = `videotestsrc name="a  b" ! x264enc ! rtph264pay name=pay0 a ! rtpklvpay name=pay1`
    const launch = advancedLaunch({ raw_pipeline: raw.replaceAll(' ! ', '  !   ') })
    const joined = launch.args.join(' ')
    expect(launch.args[0]).toBe('--')
    expect(joined.startsWith(`-- ${raw} pay0. ! clocksync ! gdppay ! fdsink fd=3`)).toBe(true)
    expect(launch.args.every((argument) => !argument.replaceAll(/"[^"]*"/g, '').includes(' '))).toBe(true)
    expect(launch.streams.map(({ payloader, fd }) => [payloader, fd])).toEqual([
      ['pay0', 3],
      ['pay1', 4],
    ])
  })

  it('adds nothing to a description without pay0', () => {
    expect(advancedLaunch({ raw_pipeline: 'videotestsrc ! fakesink' })).toMatchObject({
      args: ['--', 'videotestsrc', '!', 'fakesink'],
      streams: [],
      publishes: false,
    })
  })

  it('masks credentials when it is shown', () => {
    const shown = showLaunch(
      advancedLaunch({
        raw_pipeline: 'rtspsrc location=rtsp://admin:hunter2@h/x user-id=admin user_pw=hun\\ ter2 ! rtmp2src password="hun ter2"',
      }),
    )
    expect(shown).not.toMatch(/hun|ter2|admin/)
    expect(shown).toContain('rtsp://***@h/x')
  })
})
