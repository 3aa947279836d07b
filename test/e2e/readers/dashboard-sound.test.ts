import { expect, it } from 'vitest'
import { useChromium } from '../../helpers/browser/dashboard.ts'
import { createPipeline } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

// A name of another host: browsers give pages of plain http no WebCodecs there.
const chromium = useChromium({ flags: ['--host-resolver-rules=MAP cam.test 127.0.0.1'], whole: true })
const service = shareService({ SVC_ALLOWED_HOSTS: 'cam.test' })

it.each([
  ['decoded by WebCodecs', { host: '127.0.0.1', audio: 'aac', before: () => {} }],
  ['played by WebRTC over plain http', { host: 'cam.test', audio: 'opus', before: () => {} }],
  [
    'played by Media Source where there is neither',
    { host: 'cam.test', audio: 'aac', before: () => Reflect.deleteProperty(window, 'RTCPeerConnection') },
  ],
])(
  'the sound of a live picture is muted at first, has a level and a volume that is kept: %s',
  async (_, { host, audio, before }) => {
    await createPipeline(service, 'beep', { source: { uri: 'test://ball?width=320&height=180&fps=15&audio=1' }, audio })
    const { page, expectQuiet } = await chromium.open({ before })
    await page.goto(`${service.url.replace('127.0.0.1', host)}/svc/dashboard/#/pipeline/beep`)
    const turnOn = () => page.getByRole('button', { name: 'Turn sound on' }).click()
    await turnOn()
    const level = () => page.getByRole('meter', { name: 'Level of the sound' }).evaluate((meter: HTMLMeterElement) => meter.value)
    // A beep each second.
    await expect.poll(level, { interval: 40, timeout: 15_000 }).toBeGreaterThan(0.02)
    const volume = page.getByRole('slider', { name: 'Volume' })
    await volume.fill('0.3')
    await page.reload()
    await turnOn()
    await expect.poll(() => volume.inputValue()).toBe('0.3')
    expectQuiet()
  },
  60_000,
)
