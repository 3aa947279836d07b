const AROUND = 'section, form, main'

const partsAround = (element: Element): readonly HTMLElement[] => {
  const place = element.parentElement?.closest<HTMLElement>(AROUND)
  return place === null || place === undefined ? [] : [place, ...partsAround(place)]
}

/** Moves the focus to the surrounding section when the focused element is removed, as a delete button may be; a browser would move it to the top. */
export const keepFocus = (page: Element): void => {
  let last: Element | undefined
  let around: readonly HTMLElement[] = []
  page.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof Element)) return
    last = target
    around = partsAround(target)
  })
  const restore = (): void => {
    if (document.activeElement !== document.body || last === undefined || last.isConnected) return
    last = undefined
    const place = around.find(({ isConnected }) => isConnected)
    place?.setAttribute('tabindex', '-1')
    place?.focus({ preventScroll: true })
  }
  new MutationObserver(restore).observe(page, { childList: true, subtree: true })
}
