import { expect, it } from 'vitest'
import { printedCaps } from '../../../../engine/launch/printed-caps.ts'

const CAPS = 'application/x-rtp, media=(string)audio, clock-rate=(int)8000, encoding-name=(string)PCMA, payload=(int)8'

it.each([
  ['of the payloader', `/GstPipeline:pipeline0/GstRtpPcmaPay:pay1.GstPad:src: caps = ${CAPS}`, 'pay1 PCMA'],
  ['of a bin', `/GstPipeline:pipeline0/GstBin:pay0.GstGhostPad:src: caps = ${CAPS}`, 'pay0 PCMA'],
  [
    'behind it, where that of the payloader was lost',
    `/GstPipeline:pipeline0/GstRtpStreamPay:vps-framed-pay1.GstPad:sink: caps = ${CAPS}`,
    'pay1 PCMA',
  ],
  [
    'of the framed stream',
    `/GstPipeline:pipeline0/GstRtpStreamPay:vps-framed-pay1.GstPad:src: caps = ${CAPS.replace('x-rtp', 'x-rtp-stream')}`,
    '',
  ],
  ['before the payloader', '/GstPipeline:pipeline0/GstRtpPcmaPay:pay1.GstPad:sink: caps = audio/x-alaw, rate=(int)8000', ''],
  ['of a payloader with another name', `/GstPipeline:pipeline0/GstRtpPcmaPay:pay2.GstPad:src: caps = ${CAPS}`, ''],
])('the caps %s are read', (_where, line, expected) => {
  const printed = printedCaps(line)
  expect(printed === undefined ? '' : `${printed.payloader} ${printed.caps.encodingName}`).toBe(expected)
})
