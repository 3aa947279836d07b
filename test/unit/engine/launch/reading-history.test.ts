import { expect, it } from 'vitest'
import { Fault } from '../../../../engine/faults/fault.ts'
import { ReadingHistory } from '../../../../engine/launch/reading-history.ts'
import { TRANSPORT_REFUSED } from '../../../../engine/rtsp/client/client-faults.ts'

const URI = 'rtsp://h/x'
const refusal = () => new Fault('source_error', 'refused', { cause: TRANSPORT_REFUSED })

it('a source that refuses TCP gets UDP until it refuses that too, or for an hour; each fault counts once', () => {
  let nowMs = 0
  const history = new ReadingHistory(() => nowMs)
  const after = (fault: Fault | undefined, uri = URI): string => {
    history.noteFault(uri, fault)
    return history.transport(uri)
  }
  const noTcp = refusal()
  expect([after(undefined), after(noTcp), after(noTcp), after(new Fault('ended', 'away'))]).toEqual(['tcp', 'udp', 'udp', 'udp'])
  const noUdp = refusal()
  expect([after(noUdp), after(noUdp)]).toEqual(['tcp', 'tcp'])
  for (const scheme of ['rtspt', 'rtsps']) expect(after(refusal(), `${scheme}://h/x`)).toBe('tcp')
  expect(after(refusal())).toBe('udp')
  nowMs = 3_599_999
  expect(after(undefined)).toBe('udp')
  nowMs += 1
  expect([after(undefined), after(refusal())]).toEqual(['tcp', 'udp'])
})

it('the last 1000 sources are remembered', () => {
  const history = new ReadingHistory()
  for (let at = 0; at <= 1000; at += 1) history.noteFault(`${URI}${at}`, refusal())
  expect([history.transport(`${URI}0`), history.transport(`${URI}1000`)]).toEqual(['tcp', 'udp'])
})
