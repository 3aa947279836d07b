import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parseSource } from '../../../../engine/sources/kinds.ts'
import { temporaryDataDir } from '../../../helpers/process/temporary-data-dir.ts'

it('a file outside the allowed folder is refused in one way, whether it exists or not', async () => {
  const folder = temporaryDataDir()
  const inside = join(folder, 'inside')
  mkdirSync(inside)
  for (const name of [join(folder, 'there.ts'), join(inside, 'there.ts')]) writeFileSync(name, '')
  const reasonOf = (path: string) => {
    const { kind, parsed } = parseSource({ uri: `file://${path}`, latency_ms: 0 })
    return Promise.resolve(kind.presume(parsed, { allowFiles: inside, reencode: false } as never)).then(
      () => 'allowed',
      ({ reason, message }: { reason: string; message: string }) => `${reason} ${message.split('.')[0]}`,
    )
  }
  const outside = 'permission The file source is outside the folder that SVC_ALLOW_FILE_SOURCES names'
  const found = await Promise.all(
    ['/there.ts', '/not-there.ts', '/inside/../there.ts', '/inside/there.ts'].map((path) => reasonOf(folder + path)),
  )
  expect(found).toEqual([outside, outside, outside, 'allowed'])
})
