import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Where a sandboxed child finds the list of plugins. */
const INSIDE = '/run/gstreamer-registry.bin'
const SCAN_MS = 30_000

type Run = (
  file: string,
  args: readonly string[],
  options: { readonly timeoutMs: number; readonly environment: Readonly<Record<string, string>> },
) => Promise<{ readonly exitCode: number | null; readonly stdout: string }>

/** GStreamer's list of plugins, kept in a file: without it each start of a child scans them all, which takes most of a second. */
export interface PluginRegistry {
  /** Lists the plugins anew where they have changed. Never rejects: without a list children start more slowly. */
  refresh(): Promise<void>
  /** Options of bwrap(1) that give a child the list, read-only. */
  options(): readonly string[]
}

export const createPluginRegistry = (file: string, run: Run): PluginRegistry => {
  let folder: string | undefined
  let listed: number | undefined
  let running: Promise<void> | undefined

  const changedAt = (): number | undefined => (folder === undefined ? undefined : statSync(folder, { throwIfNoEntry: false })?.mtimeMs)

  const scan = async (): Promise<void> => {
    const environment = { GST_REGISTRY: file }
    const { exitCode, stdout } = await run('gst-inspect-1.0', ['coreelements'], { timeoutMs: SCAN_MS, environment })
    removeUnfinished(file)
    const core = /^[ \t]*Filename[ \t]+(\/\S+)/m.exec(stdout)?.[1]
    if (exitCode !== 0 || core === undefined) return
    folder = dirname(core)
    listed = changedAt()
  }

  const refresh = (): Promise<void> => {
    running ??= scan().finally(() => {
      running = undefined
    })
    return running
  }

  return {
    refresh,
    options() {
      if (!existsSync(file)) return []
      const current = listed !== undefined && listed === changedAt()
      if (!current) void refresh()
      // A plugin that came since the list was made is found by the child itself, which then starts more slowly.
      return ['--ro-bind', file, INSIDE, '--setenv', 'GST_REGISTRY', INSIDE, '--setenv', 'GST_REGISTRY_UPDATE', current ? 'no' : 'yes']
    },
  }
}

/** GStreamer writes the list to a file beside it (`.tmp` and six characters), which stays when the program is killed. */
const removeUnfinished = (file: string): void => {
  const folder = dirname(file)
  try {
    for (const name of readdirSync(folder)) if (name.startsWith(`${basename(file)}.tmp`)) rmSync(join(folder, name), { force: true })
  } catch {
    // As without the folder, or on a read-only disk: the next list removes it.
  }
}
