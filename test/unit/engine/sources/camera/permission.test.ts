import { describe, expect, it } from 'vitest'
import type { Fault } from '../../../../../engine/faults/fault.ts'
import { noPermission } from '../../../../../engine/sources/camera/permission.ts'

describe('the fault of a device node without permission', () => {
  const message = (gid: number, mode: number): Fault => noPermission({ gid, mode, groups: 'root:x:0:\nvideo:x:44:bob\ncameras:x:990:\n' })

  it.each([
    [44, 0o20660, 'usermod -aG video'],
    [990, 0o20660, 'usermod -aG cameras'],
    [991, 0o20660, 'usermod -aG 991'],
    [44, 0o20600, 'Only root'],
    [0, 0o20660, 'Only root'],
  ])('of group %i with mode %o says what to do', (gid, mode, advice) => {
    expect(message(gid, mode)).toMatchObject({ reason: 'permission', message: expect.stringContaining(advice) })
  })
})
