import { afterEach, expect, it, vi } from 'vitest'

afterEach(() => void vi.unstubAllGlobals())

/** Pixels of two colors in turn, as RGBX. */
const pixels = (count: number): Uint8Array => Uint8Array.from({ length: 4 * count }, (_, at) => (at % 8 < 4 ? 10 : 20))

/** A page whose browser takes a while for each drawing; `copyTo`: what a frame does when its pixels are asked for. */
const openPage = async ({ drawMs, copyTo }: { readonly drawMs: number; readonly copyTo: (target: Uint8Array) => Promise<void> }) => {
  vi.resetModules()
  let now = 0
  vi.stubGlobal('performance', { now: () => now })
  vi.stubGlobal(
    'ImageData',
    class {
      readonly data: Uint8ClampedArray
      constructor(width: number, height: number) {
        this.data = new Uint8ClampedArray(4 * width * height)
      }
    },
  )
  vi.stubGlobal(
    'VideoFrame',
    Object.assign(function VideoFrame() {}, { prototype: { copyTo } }),
  )
  const { drawSmaller } = await import('../../../../../../handlers/dashboard/page/screens/shrink.ts')
  const drawn: ('by the browser' | number[])[] = []
  const context = {
    drawImage: () => {
      now += drawMs
      drawn.push('by the browser')
    },
    putImageData: ({ data }: ImageData) => drawn.push([...data]),
  } as unknown as CanvasRenderingContext2D
  const frame = { visibleRect: { width: 4, height: 4 }, copyTo } as unknown as VideoFrame
  const draw = () => drawSmaller(context, frame, 2, 2)
  return { drawn, draw }
}

const copy = async (target: Uint8Array): Promise<void> => target.set(pixels(16))

it('is left to a browser that is quick', async () => {
  const { drawn, draw } = await openPage({ drawMs: 1, copyTo: copy })
  for (let at = 0; at < 20; at += 1) await draw()
  expect(new Set(drawn)).toEqual(new Set(['by the browser']))
})

it('averages four pixels for one, opaque, where the browser is slow', async () => {
  const { drawn, draw } = await openPage({ drawMs: 20, copyTo: copy })
  await draw()
  await draw()
  expect(drawn).toEqual(['by the browser', [15, 15, 15, 255, 15, 15, 15, 255, 15, 15, 15, 255, 15, 15, 15, 255]])
})

it('is left to a browser that gives no pixels, and to one that is asked for others', async () => {
  const refused = await openPage({ drawMs: 20, copyTo: () => Promise.reject(new TypeError('no such format')) })
  for (let at = 0; at < 3; at += 1) await refused.draw()
  expect(refused.drawn).toEqual(['by the browser', 'by the browser', 'by the browser'])
  const { drawn, draw } = await openPage({ drawMs: 20, copyTo: copy })
  await draw()
  await Promise.all([draw(), draw()])
  expect(drawn.filter((what) => what === 'by the browser')).toHaveLength(2)
})
