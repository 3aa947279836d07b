/**
 * Tries every attack of test/helpers/attacks in four places, through the API and past its checks, and prints what came of it.
 * Needs root, to become other users. Fails when an attack succeeded or could not be tried. attacks [PLACE …]
 */
import { spawn } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { CANARY } from '../helpers/attacks/targets.ts'

/** Not in any password file, and in no group. */
const USER = 12_345
const AS_USER = ['setpriv', '--reuid', String(USER), '--regid', String(USER), '--clear-groups']

/** What the unit of the engine has and unshare(1) can do: a read-only system, a /tmp of its own, no new privileges, no capability. */
const AS_UNIT = [
  ...['unshare', '--mount', 'bash', '-ec'],
  'mount -o remount,bind,ro /; mount -t tmpfs -o mode=1777,noexec tmpfs /tmp; mount --bind "$0" "$0"; mount -o remount,bind,rw,noexec "$0"; exec "$@"',
]

interface Place {
  readonly name: string
  readonly prefix: (folder: string) => readonly string[]
  readonly user: number
  readonly bubblewrap: boolean
}

const PLACES: readonly Place[] = [
  { name: 'root', prefix: () => [], user: 0, bubblewrap: true },
  { name: 'ordinary user', prefix: () => AS_USER, user: USER, bubblewrap: true },
  {
    name: 'as the unit',
    prefix: (folder) => [...AS_UNIT, folder, ...AS_USER, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--'],
    user: USER,
    bubblewrap: true,
  },
  { name: 'no bubblewrap', prefix: () => AS_USER, user: USER, bubblewrap: false },
]

/** A folder with all programs of this host but bwrap. */
const pathWithout = (folder: string): string => {
  const programs = join(folder, 'bin')
  mkdirSync(programs)
  for (const name of readdirSync('/usr/bin')) if (name !== 'bwrap') symlinkSync(join('/usr/bin', name), join(programs, name))
  return programs
}

interface Row {
  readonly attack: string
  readonly api: string
  readonly direct: string
  readonly control: string
}

/** Tries all attacks in one place; `fd 77` stands for what a service inherits by accident. */
const tryPlace = async (place: Place): Promise<readonly Row[]> => {
  const folder = mkdtempSync('/var/tmp/attacks-')
  const inside = join(folder, 'service')
  mkdirSync(inside)
  for (const path of [folder, inside]) chownSync(path, place.user, place.user)
  const worker = resolve(import.meta.dirname, '../helpers/attacks/try-all.ts')
  const [program = '', ...args] = [
    ...place.prefix(inside),
    'bash',
    '-ec',
    'printf "C4N4RY\\n%.0s" {1..99} > "$0/inherited"; exec 77<>"$0/inherited"; exec "$@"',
    inside,
    process.execPath,
    worker,
    inside,
  ]
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      CANARY,
      HOME: inside,
      TMPDIR: inside,
      XDG_CACHE_HOME: inside,
      ...(!place.bubblewrap && { PATH: pathWithout(folder) }),
    },
  })
  const rows: Row[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    const row = JSON.parse(line) as Row
    rows.push(row)
    process.stderr.write(`${place.name}: ${row.attack}: ${row.api} / ${row.direct} / ${row.control}\n`)
  }
  rmSync(folder, { recursive: true, force: true })
  return rows
}

const main = async (): Promise<void> => {
  const chosen = PLACES.filter(({ name }) => process.argv.length < 3 || process.argv.includes(name))
  const tables: (readonly Row[])[] = []
  for (const place of chosen) tables.push(await tryPlace(place))
  const [first = []] = tables
  process.stdout.write('Each cell: through the API / past its checks. Control: the same without a sandbox.\n\n')
  process.stdout.write(
    `| Attack | Control | ${chosen.map(({ name }) => name).join(' | ')} |\n|---|---|${chosen.map(() => '---|').join('')}\n`,
  )
  for (const { attack, control } of first) {
    const cells = tables.map((rows) => rows.find((row) => row.attack === attack)).map((row) => `${row?.api ?? '–'} / ${row?.direct ?? '–'}`)
    process.stdout.write(`| ${attack} | ${control} | ${cells.join(' | ')} |\n`)
  }
  const all = tables.flat()
  const open = all.filter(({ api, direct }) => [api, direct].some((outcome) => /^(?:open|not tried)/.test(outcome)))
  const working = first.filter(({ control }) => control.startsWith('open')).length
  process.stdout.write(
    `\n${first.length} attacks, ${working} of which work without a sandbox; ${open.length} of ${all.length} rows open or not tried\n`,
  )
  process.exitCode = open.length > 0 || tables.some((rows) => rows.length === 0) ? 1 : 0
}

await main()
