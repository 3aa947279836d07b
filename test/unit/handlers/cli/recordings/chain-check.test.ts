import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { appendFileSync, copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PipelineFolder } from '../../../../../engine/recordings/pipeline-folder.ts'
import { loadSigningKey } from '../../../../../engine/recordings/signing-key.ts'
import { chainsAt, checkChain, type Finding } from '../../../../../handlers/cli/recordings/chain-check.ts'
import { readLine } from '../../../../../lib/segments/chain.ts'
import { segmentPlace } from '../../../../../lib/segments/segment-name.ts'
import { temporaryDataDir } from '../../../../helpers/process/temporary-data-dir.ts'
import { createRandom, rounds } from '../../../../helpers/random.ts'

const BEGIN = Date.parse('2026-11-20T23:59:50Z')
const SEGMENTS = 10
const SEED = 35
const sha256 = (bytes: Buffer): Promise<string> =>
  crypto.subtle.digest('SHA-256', new Uint8Array(bytes)).then((hash) => Buffer.from(hash).toString('hex'))

const writeSegment = async (folder: PipelineFolder, number: number): Promise<void> => {
  const started_at = BEGIN + number * 2000
  const bytes = Buffer.alloc(188 * 5, number)
  await folder.opened({ started_at, span: BEGIN, run: 'run', format: '' })
  mkdirSync(join(folder.path, segmentPlace(started_at).day), { recursive: true })
  writeFileSync(folder.fileOf(started_at), bytes)
  const facts = {
    pipeline_id: 'gate',
    started_at,
    ended_at: started_at + 2000,
    bytes: bytes.length,
    tracks: ['h264'],
    span: BEGIN,
    run: 'run',
    format: '',
  }
  const segment = { ...facts, first_dts: 0, counts: {}, seen: [] }
  await folder.completed({ segment, file: { bytes: bytes.length, sha256: await sha256(bytes) } })
}

/** Two days of a pipeline as the engine writes them. */
const record = async (dataDir: string) => {
  const key = await loadSigningKey(dataDir)
  const folder = new PipelineFolder('gate', join(dataDir, 'recordings', 'gate'), key)
  for (let number = 0; number < SEGMENTS; number += 1) await writeSegment(folder, number)
  return { folder, publicKey: createPublicKey(key.publicKey) }
}

const check = async (path: string, key: Parameters<typeof checkChain>[1]): Promise<Finding | undefined> => {
  for (const chain of chainsAt(path)) {
    const finding = await checkChain(chain, key)
    if (finding !== undefined) return finding
  }
  return undefined
}

describe('the chain of recordings', () => {
  it('holds for what the engine wrote, over midnight, wherever the check begins', async () => {
    const dataDir = temporaryDataDir()
    const { folder, publicKey } = await record(dataDir)
    const { day } = segmentPlace(BEGIN)
    for (const path of [
      join(dataDir, 'recordings'),
      folder.path,
      join(folder.path, day),
      join(folder.path, `${day}.chain`),
      folder.fileOf(BEGIN),
    ])
      expect(await check(path, publicKey), path).toBeUndefined()
    expect(chainsAt(folder.path)).toHaveLength(2)
  })

  it('holds after the service has removed segments, and names one that is gone beyond them', async () => {
    const { folder, publicKey } = await record(temporaryDataDir())
    await folder.removing(segmentPlace(BEGIN).day, BEGIN + 2000)
    rmSync(folder.fileOf(BEGIN))
    rmSync(folder.fileOf(BEGIN + 2000))
    expect(await check(folder.path, publicKey)).toBeUndefined()
    rmSync(folder.fileOf(BEGIN + 4000))
    expect(await check(folder.path, publicKey)).toMatchObject({ fault: 'missing', path: folder.fileOf(BEGIN + 4000) })
  })

  it('holds after the clock of the host was set back over midnight, to a day without recordings, and forward again', async () => {
    const { folder, publicKey } = await record(temporaryDataDir())
    const days = (count: number) => (count * 86_400_000) / 2000
    for (const number of [-3, -2, -days(3), 365 * days(1), SEGMENTS + 1, days(1), days(2)]) await writeSegment(folder, number)
    expect(chainsAt(folder.path)).toHaveLength(5)
    expect(await check(folder.path, publicKey)).toBeUndefined()
    // What was recorded anew after a removal is not among what was removed.
    await folder.removing(segmentPlace(BEGIN).day, BEGIN + 4000)
    await writeSegment(folder, 0.5)
    rmSync(folder.fileOf(BEGIN))
    expect(await check(folder.path, publicKey)).toBeUndefined()
    rmSync(folder.fileOf(BEGIN + 1000))
    expect(await check(folder.path, publicKey)).toMatchObject({ fault: 'missing', path: folder.fileOf(BEGIN + 1000) })
  })

  it('knows the segment that is being written', async () => {
    const { folder, publicKey } = await record(temporaryDataDir())
    const open = BEGIN + SEGMENTS * 2000
    await folder.opened({ started_at: open, span: BEGIN, run: 'run', format: '' })
    writeFileSync(folder.fileOf(open), 'unfinished')
    expect(await check(folder.path, publicKey)).toBeUndefined()
    writeFileSync(folder.fileOf(open + 1), 'another one')
    expect(await check(folder.path, publicKey)).toMatchObject({ fault: 'unknown', path: folder.fileOf(open + 1) })
  })

  it('holds at any moment while segments are written and removed', async () => {
    const { folder, publicKey } = await record(temporaryDataDir())
    const { day } = segmentPlace(BEGIN + SEGMENTS * 2000)
    let written = SEGMENTS
    let going = true
    const writing = (async () => {
      for (; going; written += 1) {
        await writeSegment(folder, written)
        const oldest = BEGIN + (written - SEGMENTS / 2) * 2000
        await folder.removing(day, oldest)
        rmSync(folder.fileOf(oldest), { force: true })
      }
    })()
    try {
      while (written < SEGMENTS * 10) expect(await check(join(folder.path, day), publicKey), `after ${written} segments`).toBeUndefined()
    } finally {
      going = false
      await writing
    }
  })

  it('goes on after a line of which a power failure left a part', async () => {
    const { folder, publicKey } = await record(temporaryDataDir())
    const day = segmentPlace(BEGIN).day
    appendFileSync(join(folder.path, `${day}.chain`), '{"pipeline_id":"gate","segm')
    await new PipelineFolder('gate', folder.path, await loadSigningKey(join(folder.path, '..', '..'))).removing(day, BEGIN - 1)
    expect(await check(folder.path, publicKey)).toBeUndefined()
  })

  it('names every random change of files and lines', { timeout: 120_000 }, async () => {
    const dataDir = temporaryDataDir()
    const { folder, publicKey } = await record(dataDir)
    const random = createRandom(SEED)
    const other = generateKeyPairSync('ed25519').privateKey
    const original = join(dataDir, 'original')
    cpSync(folder.path, original, { recursive: true })
    const pick = <T>(list: readonly T[]): T => list[random.integer(list.length)] as T
    const days = [...new Set(chainsAt(folder.path).map(({ day }) => day))]
    const files = days.flatMap((day) => readdirSync(join(folder.path, day)).map((name) => join(folder.path, day, name)))
    const changeLines = (change: (lines: string[]) => void): void => {
      const path = join(folder.path, `${pick(days)}.chain`)
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
      change(lines)
      writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
    }
    const CHANGES = {
      bit: () => {
        const path = pick(files)
        const bytes = readFileSync(path)
        const at = random.integer(bytes.length)
        bytes[at] = (bytes[at] ?? 0) ^ (1 << random.integer(8))
        writeFileSync(path, bytes)
      },
      cut: () => {
        const path = pick(files)
        writeFileSync(path, readFileSync(path).subarray(0, random.integer(900)))
      },
      removed: () => rmSync(pick(files)),
      swapped: () => {
        const one = random.integer(files.length)
        const [a = '', b = ''] = [files[one], files[(one + 1 + random.integer(files.length - 1)) % files.length]]
        renameSync(a, `${a}.x`)
        renameSync(b, a)
        renameSync(`${a}.x`, b)
      },
      added: () => {
        const [path, by] = [pick(files), 1 + random.integer(900)]
        const at = BEGIN + files.indexOf(path) * 2000 + by
        copyFileSync(path, join(folder.path, segmentPlace(at).day, segmentPlace(at).name))
      },
      'line gone': () => changeLines((lines) => lines.splice(random.integer(lines.length), 1)),
      'lines swapped': () =>
        changeLines((lines) => {
          const at = random.integer(lines.length - 1)
          lines.splice(at, 2, lines[at + 1] ?? '', lines[at] ?? '')
        }),
      'line again': () => changeLines((lines) => lines.push(pick(lines))),
      'line changed': () =>
        changeLines((lines) => {
          const at = random.integer(lines.length)
          const line = Buffer.from(lines[at] ?? '')
          const place = random.integer(line.length)
          line[place] = (line[place] ?? 0) ^ (1 << random.integer(7))
          lines[at] = line.toString('latin1')
        }),
      'signed by another key': () =>
        changeLines((lines) => {
          const at = random.integer(lines.length)
          const { signed = '' } = readLine(lines[at] ?? '') ?? {}
          lines[at] = `${signed.slice(0, -1)},"signature":"${sign(null, Buffer.from(signed), other).toString('base64')}"}`
        }),
      'chain gone': () => rmSync(join(folder.path, `${pick(days)}.chain`)),
    } as const
    for (let round = 0; round < rounds(110); round += 1) {
      const change = Object.keys(CHANGES)[round % Object.keys(CHANGES).length] as keyof typeof CHANGES
      CHANGES[change]()
      expect(await check(folder.path, publicKey), `${change} in round ${round}`).toBeDefined()
      rmSync(folder.path, { recursive: true })
      cpSync(original, folder.path, { recursive: true })
    }
    expect(await check(folder.path, publicKey)).toBeUndefined()
  })
})
