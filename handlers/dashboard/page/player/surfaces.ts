/** One element for each way to show a picture; the one in use is visible. */
export const createSurfaces = (id: string) => {
  const name = `Live picture of ${id}`
  const element = document.createElement('div')
  const canvas = document.createElement('canvas')
  const video = Object.assign(document.createElement('video'), { muted: true, playsInline: true })
  const image = Object.assign(new Image(), { alt: `Latest view of ${id}` })
  canvas.setAttribute('role', 'img')
  for (const surface of [canvas, video]) surface.setAttribute('aria-label', name)
  const ways = { decoder: canvas, webrtc: video, 'media-source': video, pictures: image }
  const show = (way: keyof typeof ways | undefined): void => {
    for (const surface of [canvas, video, image]) surface.hidden = way === undefined || surface !== ways[way]
  }
  show(undefined)
  element.className = 'live-surfaces'
  element.append(canvas, video, image)
  return { element, surfaces: { canvas, video, image }, show }
}
