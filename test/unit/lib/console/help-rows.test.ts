import { describe, expect, it } from 'vitest'
import { helpRows } from '../../../../lib/console/help-rows.ts'

describe('the rows of a help', () => {
  it('have two columns, and go on below the second one after 80 characters', () => {
    const about = 'ports of RTSP outputs without a uri; a single port (8554) is shared by all of them, told apart by their paths'
    expect(
      helpRows([
        ['SVC_OUTPUT_PORTS', about],
        ['-h', 'print this help'],
      ]),
    ).toEqual([
      '  SVC_OUTPUT_PORTS  ports of RTSP outputs without a uri; a single port (8554) is',
      '                    shared by all of them, told apart by their paths',
      '  -h                print this help',
    ])
  })

  it('keep a word whole that is wider than its column', () => {
    const url = `https://${'a'.repeat(80)}.example.org`
    expect(helpRows([['x', `such as ${url} or none`]])).toEqual(['  x  such as', `     ${url}`, '     or none'])
  })
})
