/** Whether this browser can show a picture in a window of its own, above all others. */
export const canFloat = (): boolean => document.pictureInPictureEnabled === true && 'captureStream' in HTMLCanvasElement.prototype

/** Shows the live picture of an element in a window of its own, or brings it back. */
export const floatPicture = async (element: Element): Promise<void> => {
  if (document.pictureInPictureElement !== null) return document.exitPictureInPicture()
  const shown = element.querySelector<HTMLCanvasElement | HTMLVideoElement>('.live-surfaces > :is(canvas, video):not([hidden])')
  if (shown === null) throw new Error('There is no live picture to show yet.')
  if (shown instanceof HTMLVideoElement) {
    await shown.requestPictureInPicture()
    return
  }
  const stream = shown.captureStream()
  const video = Object.assign(document.createElement('video'), { muted: true, playsInline: true })
  video.srcObject = stream
  video.addEventListener('leavepictureinpicture', () => {
    for (const track of stream.getTracks()) track.stop()
    video.srcObject = null
  })
  await video.play()
  await video.requestPictureInPicture()
}
