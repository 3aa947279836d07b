/** Time for drawing in one turn of the display, milliseconds: the page stays responsive with many pictures. */
const BUDGET_MS = 7

const waiting = new Set<() => void>()
let turn = 0

const run = (): void => {
  turn = 0
  const begun = performance.now()
  for (const draw of waiting) {
    waiting.delete(draw)
    draw()
    if (performance.now() - begun > BUDGET_MS) break
  }
  if (waiting.size > 0) turn = requestAnimationFrame(run)
}

/** Draws in the next turn of the display that has time, those that wait longest first. */
export const drawInTurn = (draw: () => void): void => {
  waiting.add(draw)
  if (turn === 0) turn = requestAnimationFrame(run)
}

export const cancelDraw = (draw: () => void): void => {
  waiting.delete(draw)
}
