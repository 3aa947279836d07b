import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** As the engine names it in its data directory. */
const NAME = 'gstreamer-registry.bin'

/** Lists the plugins of GStreamer once for all services of a run. */
export const listPlugins = (): void => {
  const list = join(tmpdir(), NAME)
  execFileSync('gst-inspect-1.0', ['coreelements'], { stdio: 'ignore', env: { ...process.env, GST_REGISTRY: list } })
  process.env.TEST_PLUGIN_LIST = list
}

/** Gives a data directory the list as from an earlier start: a service only checks it then, which takes a tenth of the CPU time. */
export const givePluginList = (dataDir: string): void => {
  const { TEST_PLUGIN_LIST: list } = process.env
  if (list !== undefined && !existsSync(join(dataDir, NAME))) copyFileSync(list, join(dataDir, NAME))
}
