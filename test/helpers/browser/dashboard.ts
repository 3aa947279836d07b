import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import type { Service } from '../process/service.ts'
import { type ChromiumOptions, launchChromium } from './chromium.ts'

/** Chromium for the tests of a file. Call it at the top of the file or of a describe. */
export const useChromium = (options: ChromiumOptions = {}): { readonly open: (options?: OpenOptions) => Promise<DashboardPage> } => {
  let browser: Browser | undefined
  beforeAll(async () => {
    browser = await launchChromium(options)
  })
  afterAll(async () => {
    await browser?.close()
  })
  return {
    open: async (options = {}) => {
      if (browser === undefined) throw new Error('The browser has not been started')
      return openPage(browser, options)
    },
  }
}

/** The address of a page of the dashboard. */
export const dashboardOf = ({ url }: Pick<Service, 'url'>, hash = ''): string => `${url}/svc/dashboard/${hash}`

interface OpenOptions {
  /** The address to begin with. */
  readonly at?: string
  readonly width?: number
  readonly height?: number
  readonly dark?: boolean
  /** Runs in the page before its own scripts. */
  readonly before?: () => void
}

export interface DashboardPage {
  readonly page: Page
  readonly context: BrowserContext
  readonly button: (name: string | RegExp) => Locator
  readonly link: (name: string) => Locator
  readonly heading: (name: string) => Locator
  /** A field for text. */
  readonly field: (name: string) => Locator
  /** Waits until this text is shown. */
  readonly shows: (text: string | RegExp) => Promise<void>
  /** Fails for an error of the console, a refused resource, or a request to another host. */
  readonly expectQuiet: () => void
  /** Fails for a serious or critical violation of WCAG 2.2 AA that axe finds. */
  readonly expectAccessible: () => Promise<void>
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Below the time that a test has; a page took more than the default of 30 s on a host where five files and others ran at once. */
const PATIENCE_MS = 50_000

/** Chromium logs every answer from 400 on as an error; those are part of how the page works. */
const ANSWER = /^Failed to load resource: the server responded with a status of (400|406|409|503|504)/

const openPage = async (
  browser: Browser,
  { at, width = 1280, height = 900, dark = false, before }: OpenOptions,
): Promise<DashboardPage> => {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' })
  context.setDefaultTimeout(PATIENCE_MS)
  const page = await context.newPage()
  onTestFinished(() => context.close())
  if (before !== undefined) await page.addInitScript(before)
  const errors: string[] = []
  const hosts = new Set<string>()
  page.on('console', (message) => {
    if (message.type() === 'error' && !ANSWER.test(message.text())) errors.push(message.text())
  })
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url())
    if (protocol.startsWith('http')) hosts.add(host)
  })
  if (at !== undefined) await page.goto(at)
  return {
    page,
    context,
    button: (name) => page.getByRole('button', { name }),
    link: (name) => page.getByRole('link', { name }),
    heading: (name) => page.getByRole('heading', { name, exact: true }),
    field: (name) => page.getByRole('textbox', { name, exact: true }),
    shows: (text) => page.getByText(text).first().waitFor(),
    expectQuiet: () => {
      expect(errors).toEqual([])
      expect([...hosts]).toEqual([new URL(page.url()).host])
    },
    expectAccessible: async () => {
      // The policy of the page allows no script but its own; the debugger may run one all the same.
      await page.evaluate(AXE)
      const violations = await page.evaluate(async () => {
        const { axe } = window as unknown as { axe: { run: (options: object) => Promise<{ violations: AxeViolation[] }> } }
        const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
        const found = await axe.run({ runOnly: tags })
        return found.violations
          .filter(({ impact }) => impact === 'serious' || impact === 'critical')
          .map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map(({ html }) => html.slice(0, 160)) }))
      })
      expect(violations).toEqual([])
    },
  }
}

interface AxeViolation {
  readonly id: string
  readonly impact: string | null
  readonly help: string
  readonly nodes: readonly { readonly html: string }[]
}
