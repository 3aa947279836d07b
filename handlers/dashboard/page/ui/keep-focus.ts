const AROUND = 'section, form, main'

const partsAround = (element: Element): readonly HTMLElement[] => {
  const place = element.parentElement?.closest<HTMLElement>(AROUND)
  return place === null || place === undefined ? [] : [place, ...partsAround(place)]
}

/** A button may remove itself, as one that deletes does: keyboards and screen readers then go on beside it, not at the top of the page. */
export const keepFocus = (page: Element): void => {
  let last: Element | undefined
  let around: readonly HTMLElement[] = []
  page.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof Element)) return
    last = target
    around = partsAround(target)
  })
  const goOn = (): void => {
    if (document.activeElement !== document.body || last === undefined || last.isConnected) return
    last = undefined
    const place = around.find(({ isConnected }) => isConnected)
    place?.setAttribute('tabindex', '-1')
    place?.focus({ preventScroll: true })
  }
  new MutationObserver(goOn).observe(page, { childList: true, subtree: true })
}
