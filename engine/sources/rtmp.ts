import { chain, type MakeElement, makeElement } from '../gst/element.ts'
import { bad } from '../gst/elements.ts'
import { FLV_SOUND, flvdemux } from './demuxers.ts'
import { NETWORK, type SourceKind, UNKNOWN, unprobed } from './source-kind.ts'

const elements = { rtmp2src: bad('RTMP sources') }
const element: MakeElement<keyof typeof elements> = makeElement

export const rtmp: SourceKind = {
  elements,
  confidential: true,
  ...unprobed(() => ({ ...UNKNOWN, klv: false })),
  line: ({ address: { bare, user, password, scheme } }, facts) => ({
    tokens: chain(
      element('rtmp2src', {
        location: bare,
        username: user,
        password,
        'tls-validation-flags': scheme === 'rtmps' ? 'no-flags' : undefined,
        timeout: 10,
      }),
      flvdemux(facts),
    ),
    ends: 'tracks',
    soundPad: FLV_SOUND,
    form: 'parsed',
  }),
  reach: () => NETWORK,
}
