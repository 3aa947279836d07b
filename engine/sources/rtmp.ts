import { chain, type MakeElement, makeElement } from '../gst/element.ts'
import { bad } from '../gst/elements.ts'
import { flvdemux } from './demuxers.ts'
import { NETWORK, type SourceKind, UNKNOWN, unprobed } from './source-kind.ts'

const elements = { rtmp2src: bad('RTMP sources') }
const element: MakeElement<keyof typeof elements> = makeElement

export const rtmp: SourceKind = {
  elements,
  confidential: true,
  ...unprobed(() => ({ ...UNKNOWN, klv: false })),
  line: ({ address: { bare, user, password, scheme } }) => ({
    tokens: chain(
      element('rtmp2src', {
        location: bare,
        username: user,
        password,
        'tls-validation-flags': scheme === 'rtmps' ? 'no-flags' : undefined,
        timeout: 10,
      }),
      flvdemux(),
    ),
    ends: 'tracks',
    form: 'parsed',
  }),
  reach: () => NETWORK,
}
