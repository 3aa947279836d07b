import { type Browser, chromium } from 'playwright-core'

/** Chromium without the parts of a window, which cost a third of its CPU time and which nobody sees here. */
const PROGRAM = '/usr/bin/chromium-headless-shell'
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-sync']
/**
 * What playwright-core switches off in a Chromium that it controls. Of several such flags the last counts, so ours has to name them
 * too; without them, pages now and then did not come.
 */
const UNDER_CONTROL = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
]

/** `without`: features of Chromium that are off. */
export const launchChromium = (flags: readonly string[] = [], without: readonly string[] = []): Promise<Browser> => {
  const features = without.length === 0 ? [] : [`--disable-features=${[...UNDER_CONTROL, ...without].join()}`]
  return chromium.launch({ executablePath: PROGRAM, args: [...FLAGS, ...features, ...flags] })
}
