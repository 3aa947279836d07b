import { type Browser, chromium } from 'playwright-core'

/** Chromium without the parts of a window, which nobody sees here: pages cost a third less CPU time. */
const SHELL = '/usr/bin/chromium-headless-shell'
const WHOLE = '/usr/bin/chromium'
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-sync',
  // Sound is played to nobody: the search for a sound server would leave a folder of PulseAudio.
  '--disable-audio-output',
]
/** Pages of the window around a page, which nobody sees: they cost half a second of CPU time for each page that a test opens. */
const WINDOW = ['InitialWebUI', 'PreloadTopChromeWebUI', 'WebUIToolbar', 'WebUIReloadButton', 'WebUIOmniboxPopup', 'WebUITabStrip']
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

export interface ChromiumOptions {
  readonly flags?: readonly string[]
  /** Features that are off. */
  readonly without?: readonly string[]
  /** The whole browser: without its window it shows one of six pictures that come by WebRTC. */
  readonly whole?: boolean
}

export const launchChromium = ({ flags = [], without = [], whole = false }: ChromiumOptions = {}): Promise<Browser> => {
  const features = `--disable-features=${[...UNDER_CONTROL, ...WINDOW, 'TabstripComboButton', ...without].join()}`
  return chromium.launch({ executablePath: whole ? WHOLE : SHELL, args: [...FLAGS, features, ...flags] })
}
