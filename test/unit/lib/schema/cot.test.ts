import { describe, expect, it } from 'vitest'
import { parseCotUri } from '../../../../lib/schema/cot.ts'

describe('the address of a receiver of Cursor on Target', () => {
  it.each([
    ['udp://239.2.3.1:6969', { protocol: 'udp', host: '239.2.3.1', port: 6969 }],
    ['tcp://tak.example.org:8087', { protocol: 'tcp', host: 'tak.example.org', port: 8087 }],
    ['tcp://[2001:db8::7]:1', { protocol: 'tcp', host: '2001:db8::7', port: 1 }],
    ['udp://localhost:65535', { protocol: 'udp', host: 'localhost', port: 65535 }],
  ])('is %s', (uri, address) => {
    expect(parseCotUri(uri)).toEqual(address)
  })

  it.each([
    ...['', 'udp://', 'udp://host', 'udp://host:', 'udp://host:0', 'udp://host:65536', 'udp://host:6969/', 'udp://host:6969?ttl=1'],
    ...['http://host:1', 'ssl://host:8089', 'tcp://user:secret@host:1', 'tcp://:1', 'tcp://ho st:1', 'tcp://host:1\n', 'tcp://[::g]:1'],
    ...['tcp://999.1.1.1:5', `tcp://${'a'.repeat(300)}:1`, 'TCP://host:1'],
  ])('is not %j', (uri) => {
    expect(parseCotUri(uri)).toBeUndefined()
  })
})
