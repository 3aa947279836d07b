/** Time for drawing in one turn of the display, milliseconds: the page stays responsive with many pictures. */
const BUDGET_MS = 7

type Draw = () => Promise<void>

const waiting = new Set<Draw>()
let turn = 0

const run = async (): Promise<void> => {
  const begun = performance.now()
  try {
    for (const draw of waiting) {
      waiting.delete(draw)
      await draw()
      if (performance.now() - begun > BUDGET_MS) break
    }
  } finally {
    turn = waiting.size > 0 ? requestAnimationFrame(run) : 0
  }
}

/** Draws in the next turn of the display that has time, those that wait longest first. */
export const drawInTurn = (draw: Draw): void => {
  waiting.add(draw)
  if (turn === 0) turn = requestAnimationFrame(run)
}

export const cancelDraw = (draw: Draw): void => {
  waiting.delete(draw)
}
