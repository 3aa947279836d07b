import { spawn } from 'node:child_process'
import { resolve } from 'node:path'

const COMMAND = resolve(import.meta.dirname, '../../../dist/cli.js')

export interface CommandResult {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  readonly cwd?: string
  /** In a terminal: each is typed when the program asks, with `: `. */
  readonly typed?: readonly string[]
  /** Called with all of standard output so far; true ends the command with SIGINT. */
  readonly until?: (stdout: string) => boolean
}

/** Runs the command `video-pipeline-service` to its end. */
export const runCommand = (args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> =>
  runProgram(process.execPath, [COMMAND, ...args], options)

/** The same in a terminal of so many columns: `script` of util-linux gives it one. */
export const runInTerminal = (args: readonly string[], columns: number, options: CommandOptions = {}): Promise<CommandResult> => {
  const words = [process.execPath, COMMAND, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`)
  return runProgram('script', ['-qfec', `stty cols ${columns} rows 30; exec ${words.join(' ')}`, '/dev/null'], options)
}

export const runProgram = (
  program: string,
  args: readonly string[],
  { env, input, cwd, until, typed = [] }: CommandOptions,
): Promise<CommandResult> =>
  new Promise((settle, reject) => {
    const child = spawn(program, args, {
      env: { ...process.env, NO_COLOR: '', TERM: 'xterm-256color', ...env },
      ...(cwd !== undefined && { cwd }),
    })
    let stdout = ''
    let stderr = ''
    let ended = false
    const answers = [...typed]
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      if (stdout.endsWith(': ') && answers.length > 0) child.stdin.write(answers.shift())
      if (ended || until?.(stdout) !== true) return
      ended = true
      // A terminal sends it to what runs in it.
      if (program === 'script') child.stdin.write('\u0003')
      else child.kill('SIGINT')
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.once('error', reject)
    child.once('close', (status) => settle({ status, stdout, stderr }))
    // A program may end without reading it.
    child.stdin.on('error', () => {})
    if (program !== 'script') child.stdin.end(input ?? '')
  })
