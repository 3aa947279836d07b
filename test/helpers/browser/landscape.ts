export interface View {
  /** The middle of what is seen, 0 to 1 of the landscape. */
  readonly at: readonly [x: number, y: number]
  /** How much of its width is seen, 0 to 1. */
  readonly span: number
  /** Clockwise, degrees. */
  readonly turn: number
  /** Of the picture, pixels. */
  readonly size: readonly [width: number, height: number]
}

/**
 * A landscape from above, always the same one, as a PNG (data URL): for the pictures of the documents, in place of real cameras and of
 * a map. It is evaluated in the browser, so it uses nothing else of this file.
 */
export const drawLandscape = ({ at, span, turn, size }: View): string => {
  const [width, height] = [2560, 1792]
  const canvas = Object.assign(document.createElement('canvas'), { width: size[0], height: size[1] })
  const draw = canvas.getContext('2d') as CanvasRenderingContext2D
  draw.translate(size[0] / 2, size[1] / 2)
  draw.rotate((turn * Math.PI) / 180)
  draw.scale(size[0] / (span * width), size[0] / (span * width))
  draw.translate(-at[0] * width, -at[1] * height)
  let state = 7
  const random = (least: number, most: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return least + (most - least) * (state / 2_147_483_647)
  }
  const curve = (points: readonly (readonly [number, number])[], color: string, thickness: number, dash: readonly number[] = []): void => {
    Object.assign(draw, { strokeStyle: color, lineWidth: thickness, lineCap: 'round', lineJoin: 'round' })
    draw.setLineDash([...dash])
    draw.beginPath()
    for (const [x, y] of points) draw.lineTo(x * width, y * height)
    draw.stroke()
  }
  const blob = (x: number, y: number, radius: number, color: string): void => {
    draw.fillStyle = color
    draw.beginPath()
    draw.arc(x, y, radius, 0, 2 * Math.PI)
    draw.fill()
  }
  const tree = (x: number, y: number, radius: number): void => {
    blob(x + radius * 0.4, y + radius * 0.4, radius, '#26361f70')
    blob(x, y, radius, `hsl(${random(95, 125)} ${random(24, 36)}% ${random(24, 33)}%)`)
    blob(x - radius * 0.25, y - radius * 0.25, radius * 0.5, '#ffffff14')
  }
  const field = (x: number, y: number, w: number, h: number): void => {
    const [hue, light] = random(0, 1) < 0.3 ? [random(42, 50), random(58, 68)] : [random(68, 105), random(42, 58)]
    draw.fillStyle = `hsl(${hue} 30% ${light}%)`
    draw.fillRect(x, y, w, h)
    draw.save()
    draw.beginPath()
    draw.rect(x, y, w, h)
    draw.clip()
    draw.translate(x, y)
    draw.rotate(random(0, 1) < 0.5 ? 0.06 : Math.PI / 2 + 0.06)
    draw.fillStyle = `hsl(${hue} 34% ${light - 6}% / 0.5)`
    for (let at = -2000; at < 2000; at += 9) draw.fillRect(-2000, at, 4000, 4)
    draw.restore()
  }
  const split = (x: number, y: number, w: number, h: number): void => {
    const part = random(0.38, 0.62)
    if (Math.max(w, h) < 190 || (Math.max(w, h) < 330 && random(0, 1) < 0.4)) field(x + 2, y + 2, w - 4, h - 4)
    else if (w > h) {
      split(x, y, w * part, h)
      split(x + w * part, y, w * (1 - part), h)
    } else {
      split(x, y, w, h * part)
      split(x, y + h * part, w, h * (1 - part))
    }
  }
  const house = (x: number, y: number): void => {
    const [w, h] = [random(20, 34), random(14, 22)]
    draw.save()
    draw.translate(x, y)
    draw.rotate(random(-0.25, 0.25))
    draw.fillStyle = '#2a2d2066'
    draw.fillRect(5, 6, w, h)
    const roof = random(0, 1) < 0.6 ? [12, 42, 47] : [215, 10, 56]
    for (const [half, shade] of [0, -9].entries()) {
      draw.fillStyle = `hsl(${roof[0]} ${roof[1]}% ${(roof[2] ?? 50) + shade}%)`
      draw.fillRect(0, (half * h) / 2, w, h / 2)
    }
    draw.restore()
  }

  draw.fillStyle = '#66793f'
  draw.fillRect(0, 0, width, height)
  split(0, 0, width, height)
  const river = Array.from({ length: 60 }, (_, at) => {
    const x = at / 59
    return [x, 0.74 - 0.28 * x + 0.07 * Math.sin(x * 7) + 0.02 * Math.sin(x * 19)] as const
  })
  curve(river, '#5b6b3c', 92)
  curve(river, '#4a7f95', 72)
  curve(river, '#5d93a8', 46)
  const villages = [
    [0.29, 0.3],
    [0.47, 0.46],
    [0.62, 0.33],
    [0.85, 0.6],
    [0.12, 0.6],
  ] as const
  for (const [x, y] of villages)
    for (let houses = 0; houses < 12; houses += 1) house(x * width + random(-120, 120), y * height + random(-90, 90))
  const main = [
    [-0.02, 0.2],
    [0.3, 0.27],
    [0.5, 0.5],
    [0.68, 0.62],
    [1.02, 0.66],
  ] as const
  const side = [
    [0.44, -0.02],
    [0.4, 0.2],
    [0.3, 0.27],
  ] as const
  const track = [
    [0.5, 0.5],
    [0.6, 0.3],
    [0.62, -0.02],
  ] as const
  for (const [road, thickness] of [
    [main, 20],
    [side, 14],
    [track, 12],
  ] as const) {
    curve(road, '#8d8a80', thickness + 6)
    curve(road, '#5f6266', thickness)
    if (thickness > 12) curve(road, '#e8e6dc', 1.6, [14, 16])
  }
  for (const [x, y] of villages)
    for (let trees = 0; trees < 26; trees += 1) tree(x * width + random(-150, 150), y * height + random(-120, 120), random(6, 11))
  for (const [x, y] of [
    [0.75, 0.2],
    [0.2, 0.9],
    [0.55, 0.82],
    [0.05, 0.4],
    [0.92, 0.88],
  ] as const)
    for (let trees = 0; trees < 900; trees += 1) {
      const [angle, distance] = [random(0, 2 * Math.PI), Math.sqrt(random(0, 1)) * 170]
      tree(x * width + Math.cos(angle) * distance * 1.4, y * height + Math.sin(angle) * distance, random(7, 13))
    }
  return canvas.toDataURL('image/png')
}
